"""Peers: equal distances from every library, and programs with their command lines."""

from __future__ import annotations

import stat
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.gpu_peers import cugraph
from benchmarks.gpu_peers.adds import Adds
from benchmarks.gpu_peers.cugraph import CuGraph
from benchmarks.gpu_peers.doublegraph import DoubleGraph
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import nearfar
from nearfar.lab.bench.measure import measure
from nearfar.lab.bench.peers import PEERS, Nearfar, contenders
from nearfar.lab.bench.peers.gap import Gap, Wasp, write_wsg
from nearfar.lab.bench.peers.pasgal import Pasgal, write_adj


@pytest.fixture
def graph() -> nearfar.Graph:
    return nearfar.generate("grid", rows=20, columns=30, missing=0.1, seed=3)


ODD = [
    # parallel edges (heavier last), a self-loop, weight 0, an unreached vertex, a bare vertex
    nearfar.Graph.from_edges(
        [0, 0, 1, 1, 2, 3], [1, 1, 1, 2, 0, 2], [2, 9, 4, 0, 1, 1], n_vertices=5
    ),
    nearfar.Graph.from_edges([0, 0, 1, 3], [1, 1, 2, 2], [0.5, 2.0, 0.25, 1.0], n_vertices=5),
]


@pytest.mark.parametrize("name", ["scipy", "networkit", "rustworkx", "igraph", "networkx"])
@pytest.mark.parametrize("graph", ODD, ids=["int64", "float64"])
def test_every_python_peer_gives_the_same_distances(name: str, graph: nearfar.Graph) -> None:
    (peer,) = contenders([name], [1, 2])
    here = peer.available()
    if here is not True:
        assert "nearfar[peers]" in str(here)
        pytest.skip(str(here))
    peer.prepare(graph)
    expected = Nearfar(1)
    expected.prepare(graph)
    found = peer.distances(peer.solve(0))
    peer.close()
    assert found is not None
    np.testing.assert_array_equal(found, expected.distances(expected.solve(0)))
    assert peer.version()[0].isdigit()


def program(path: Path, text: str) -> str:
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


# Started dozens of times, so they do without NumPy and SciPy, which take longest to import.
GAP = """
import struct, sys
args = sys.argv[1:]
assert all(args.count(flag) == 1 for flag in ("-f", "-r", "-d", "-n")), args
raw = open(args[args.index("-f") + 1], "rb").read()
m, n = struct.unpack_from("=2q", raw, 1)
starts = struct.unpack_from(f"={n + 1}q", raw, 17)
pairs = struct.unpack_from("=" + m * "ii", raw, 17 + 8 * (n + 1))
assert raw[0] == 0 and starts[-1] == m and max(pairs[::2]) < n
delta = int(args[args.index("-d") + 1])
for trial in range(int(args[args.index("-n") + 1])):
    print(f"Trial Time:          {0.001 * abs(delta - 16) + 0.002:.5f}")
    if "-v" in args:
        print("Verification:           VERDICT")
"""


@pytest.mark.parametrize("kind", [Gap, Wasp])
def test_gap_is_driven_as_its_command_line_wants(
    kind: type[Gap], graph: nearfar.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        f"NEARFAR_{kind.name.upper()}_SSSP",
        program(tmp_path / "peer", GAP.replace("VERDICT", "PASS")),
    )
    peer = kind(2)
    run = measure(graph, [peer], [0], rounds=2)
    (result,) = run.results
    assert result.contender == f"{kind.name} (2 thr)"
    widths = [max(1, int(graph.max_weight) * 4**i // 256) for i in range(6)]
    assert peer.delta == min(widths, key=lambda width: abs(width - 16))  # the fastest of the six
    taken = round(0.001 * abs(peer.delta - 16) + 0.002, 5)
    assert result.seconds == [taken, taken]  # the program's own clock
    assert result.answer == "not shown"
    real = nearfar.generate("grid", rows=3, columns=3, weight_dtype="float64", seed=1)
    assert ("32 bits" if kind is Wasp else "integers") in str(peer.takes(real))


def test_floats_go_to_the_program_that_was_built_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = nearfar.generate("grid", rows=9, columns=9, seed=3).astype(np.float32)
    graph = nearfar.Graph(graph.indptr, graph.indices, graph.weights / np.float32(3))
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("NEARFAR_WASP_SSSP", "NEARFAR_WASP_SSSP_FLOAT"):
        monkeypatch.delenv(name, raising=False)
    program(tmp_path / "wasp-sssp", "raise SystemExit('for integers')")
    assert "NEARFAR_WASP_SSSP_FLOAT" in str(Wasp(1).takes(graph))
    text = GAP.replace("VERDICT", "PASS").replace(
        'int(args[args.index("-d")', 'float(args[args.index("-d")'
    )
    text = text.replace('"ii"', '"if"')
    text = text.replace("for trial", f"assert max(pairs[1::2]) == {graph.max_weight}\nfor trial")
    program(tmp_path / "wasp-sssp-float", text.replace("raw[0] == 0 and ", ""))
    assert Wasp(1).takes(nearfar.generate("grid", rows=3, columns=3)) is True
    peer = Wasp(1)
    run = measure(graph, [peer], [0], rounds=1)
    assert run.results[0].skipped == ""
    assert peer.delta in [float(graph.max_weight) * 4**i / 256 for i in range(6)]
    # PASGAL's writes six digits.
    monkeypatch.setenv("NEARFAR_PASGAL_SSSP_FLOAT", program(tmp_path / "pasgal", PASGAL_FLOAT))
    monkeypatch.delenv("NEARFAR_PASGAL_SSSP", raising=False)
    (result,) = measure(graph, [Pasgal(1)], [0], rounds=1).results
    assert (result.skipped, result.answer) == ("", "close")


def test_a_delta_with_a_wrong_answer_is_not_taken(
    graph: nearfar.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = GAP.replace("VERDICT", '" + ("FAIL" if delta in FAILS else "PASS") + "')
    widths = [max(1, int(graph.max_weight) * 4**i // 256) for i in range(6)]
    by_time = sorted(set(widths), key=lambda width: abs(width - 16))
    monkeypatch.setenv(
        "NEARFAR_GAP_SSSP", program(tmp_path / "gap", f"FAILS = {by_time[:2]}\n{text}")
    )
    peer = Gap(4)
    peer.prepare(graph)
    try:
        peer.solve(0)
        assert (peer.delta, peer.failed) == (by_time[2], by_time[:2])
        # Fewer threads: the three deltas around it; wrong ones are checked again.
        tried: list[int] = []
        run = Gap._run

        def watched(self: Gap, source: int, delta: int, *more: Any) -> tuple[list[float], str]:
            tried.append(delta)
            return run(self, source, delta, *more)

        monkeypatch.setattr(Gap, "_run", watched)
        peer.fewer_threads(2, 3)
        peer.solve(0)
        assert peer.threads == 2
        assert peer.delta == by_time[2]
        assert len(set(tried)) == 3
    finally:
        peer.close()


@pytest.mark.parametrize(("heads", "flag"), [([1, 2, 0, 1], 0), ([1, 2, 0, 0], 1)])
def test_wasp_is_told_whether_edges_lead_both_ways(
    heads: list[int], flag: int, tmp_path: Path
) -> None:
    made = nearfar.Graph.from_edges([0, 1, 1, 2], heads, [5, 7, 5, 7], directed=True)
    Wasp(1).write(made, tmp_path)
    raw = (tmp_path / "graph.wsg").read_bytes()
    assert raw[0] == flag
    part = 8 * (3 + 1) + 8 * 4  # offsets and pairs
    assert len(raw) == 17 + part * (1 + flag)
    if flag:
        assert np.frombuffer(raw, np.int64, 4, 17 + part).tolist() == [0, 2, 3, 4]
        pairs = np.frombuffer(raw, np.int32, 8, 17 + part + 32).reshape(4, 2)
        assert sorted(pairs[:2].tolist()) == [[1, 5], [2, 7]]
        assert pairs[2:].tolist() == [[0, 5], [1, 7]]


def test_gap_that_fails_its_verification_is_left_out(
    graph: nearfar.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "NEARFAR_GAP_SSSP", program(tmp_path / "gap", GAP.replace("VERDICT", "FAIL"))
    )
    (result,) = measure(graph, [Gap(1)], [0], rounds=1).results
    assert "verification" in result.skipped


# Unreached vertices are at the distance `far`.
DIJKSTRA = """
import array, heapq, os, struct, sys

def dijkstra(starts, targets, weights, source, far):
    found, heap = {}, [(0.0, source)]
    while heap:
        d, v = heapq.heappop(heap)
        if v not in found:
            found[v] = d
            for e in range(starts[v], starts[v + 1]):
                heapq.heappush(heap, (d + weights[e], targets[e]))
    return [found.get(v, far) for v in range(len(starts) - 1)]
"""

PASGAL = f"""{DIJKSTRA}
args = sys.argv[1:]
words = open(args[args.index("-i") + 1]).read().split()
assert words[0] == "WeightedAdjacencyGraph" and "-s" in args
n, m = int(words[1]), int(words[2])
numbers = [int(word) for word in words[3:]]
assert len(numbers) == n + 2 * m
starts = [*map(int, numbers[:n]), m]
targets = [*map(int, numbers[n : n + m])]
source = int(args[args.index("-r") + 1])
found = dijkstra(starts, targets, numbers[n + m :], source, 2**32 - 1)
open("sssp.out", "w").write("".join(f"{{int(d)}}\\n" for d in found))
print("Warmup Round: 0.9")
for i in range(5):
    print(f"Round {{i + 1}}: 0.00{{i + 1}}")
"""


PASGAL_FLOAT = (
    PASGAL.replace("int(word)", "float(word)")
    .replace("2**32 - 1", "3.40282e+38")
    .replace("{int(d)}", "{d:.6g}")
    .replace(' and "-s" in args', "")
)


def test_pasgal_is_driven_and_its_distances_are_checked(
    graph: nearfar.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFAR_PASGAL_SSSP", program(tmp_path / "pasgal", PASGAL))
    (result,) = measure(graph, [Pasgal(1)], [0], rounds=1).results
    assert result.skipped == ""
    assert result.answer == "equal"
    assert result.median == 0.003


ADDS = f"""{DIJKSTRA}
args = sys.argv[1:]
raw = open(args[-1], "rb").read()
version, width, n, m = struct.unpack_from("=4Q", raw)
assert (version, width) == (1, 4)
starts = [0, *struct.unpack_from(f"={{n}}Q", raw, 32)]
targets = struct.unpack_from(f"={{m}}I", raw, 32 + 8 * n)
weights = struct.unpack_from(f"={{m}}I", raw, 32 + 8 * n + 4 * (m + m % 2))
found = dijkstra(starts, targets, weights, int(args[args.index("-s") + 1]), None)
with open(args[args.index("-o") + 1], "w") as out:
    for v, d in enumerate(found):
        print(v, "INF" if d is None else int(d), file=out)
for i in range(3):
    print(f"graph.gr Measured time for sample = 0.00{{i + 1}}000s")
os.write(3, b"graph.gr 2.000 1")
"""


@pytest.mark.parametrize("missing", [0.1, 0.9], ids=["most reached", "few reached"])
def test_adds_is_driven_and_its_distances_are_checked(
    missing: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = nearfar.generate("grid", rows=20, columns=30, missing=missing, seed=3)
    monkeypatch.setenv("NEARFAR_ADDS_SSSP", program(tmp_path / "adds", ADDS))
    (result,) = measure(graph, [Adds()], [0], rounds=1).results
    assert result.skipped == ""
    assert result.answer == "equal"
    assert result.median == 0.002


DOUBLEGRAPH = f"""{DIJKSTRA}
path, source, rounds, out = sys.argv[1:]
raw = open(path, "rb").read()
n, m = struct.unpack_from("=2q", raw)
starts = struct.unpack_from(f"={{n + 1}}i", raw, 16)
targets = struct.unpack_from(f"={{m}}i", raw, 16 + 4 * (n + 1))
weights = struct.unpack_from(f"={{m}}f", raw, 16 + 4 * (n + 1 + m))
far = float.fromhex("0x1.fffffep+127")  # the largest of 32 bits
open(out, "wb").write(array.array("f", dijkstra(starts, targets, weights, int(source), far)))
print("Warm-up: 9.0 ms")
for i in range(int(rounds)):
    print("Round: TOOK ms")
"""


def test_the_fastest_form_of_doublegraph_counts(
    graph: nearfar.Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFAR_DOUBLEGRAPH_SSSP", str(tmp_path))
    assert "NEARFAR_DOUBLEGRAPH_SSSP" in str(DoubleGraph().available())
    for form, took in (("a100-f32", "4.0"), ("l4-f32_seg", "3.0")):
        text = DOUBLEGRAPH.replace("TOOK", took)
        program(tmp_path / f"doublegraph-sssp-{form}", text)
    program(tmp_path / "doublegraph-sssp-l4-f32", "raise SystemExit('a kernel failed')")
    peer = DoubleGraph()
    (result,) = measure(graph, [peer], [0], rounds=1).results
    assert result.skipped == ""
    assert result.answer == "equal"
    assert result.median == 0.003
    assert peer.forms == {"a100-f32": 4.0, "l4-f32_seg": 3.0}
    assert "a kernel failed" in peer.failed["l4-f32"]
    heavy = nearfar.Graph.from_edges([0], [1], [2**25])
    assert "float32" in str(peer.takes(heavy))


class Pylibcugraph(ModuleType):
    """Calls of ``pylibcugraph`` that the adapter makes, answered by SciPy."""

    def __init__(self, refuse: bool | None = None) -> None:
        super().__init__("pylibcugraph")
        self.refuse = refuse
        self.made: list[bool] = []

    ResourceHandle = object
    GraphProperties = SimpleNamespace

    def SGGraph(
        self,
        handle: object,
        kind: SimpleNamespace,
        offsets: Any,
        targets: Any,
        *,
        weight_array: Any,
        renumber: bool,
        input_array_format: str,
    ) -> SimpleNamespace:
        assert (input_array_format, kind.is_multigraph) == ("CSR", True)
        assert offsets.dtype == targets.dtype == np.int32
        if self.refuse is renumber and not self.made:
            raise MemoryError("std::bad_alloc")
        self.made.append(renumber)
        weights = weight_array if weight_array is not None else np.ones(len(targets), np.float32)
        shape = (len(offsets) - 1,) * 2
        best = csr_array((weights, targets, offsets), shape=shape)
        return SimpleNamespace(matrix=best, renumber=renumber, symmetric=kind.is_symmetric)

    def _solve(self, graph: SimpleNamespace, source: int) -> Any:
        found = dijkstra(graph.matrix, indices=source)
        order = np.arange(len(found), dtype=np.int32)
        return found, order[::-1] if graph.renumber else order

    def sssp(self, _: object, graph: Any, source: int, cutoff: float, *flags: bool) -> Any:
        assert (cutoff, flags) == (np.inf, (True, False))
        time.sleep(0.0 if graph.renumber else 0.002)
        found, order = self._solve(graph, source)
        distances = np.where(np.isinf(found), np.finfo(np.float32).max, found)[order]
        return order, distances.astype(np.float32), -order

    def bfs(self, _: object, graph: Any, sources: Any, both: bool, limit: int, *flags: bool) -> Any:
        assert (limit, flags) == (-1, (True, False))
        if both and graph.renumber:
            raise RuntimeError("a kernel failed")
        found, order = self._solve(graph, int(sources[0]))
        levels = np.where(np.isinf(found), np.iinfo(np.int32).max, found)[order]
        return levels.astype(np.int32), -order, order


def install_cugraph(monkeypatch: pytest.MonkeyPatch, fake: Pylibcugraph) -> list[Any]:
    """Replace cuGraph by the fake; return the memory resources that become current."""
    current: list[Any] = []
    rmm = ModuleType("rmm")
    rmm.mr = SimpleNamespace(  # type: ignore[attr-defined]
        CudaMemoryResource=lambda: "plain",
        PoolMemoryResource=lambda of, initial_pool_size: f"pool of {of}",
        set_current_device_resource=current.append,
    )
    monkeypatch.setitem(sys.modules, "rmm", rmm)
    monkeypatch.setitem(sys.modules, "pylibcugraph", fake)
    return current


@pytest.mark.usefixtures("emulated_gpu")
def test_the_fastest_form_of_cugraph_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = nearfar.generate("grid", rows=20, columns=30, missing=0.5, seed=3)
    assert "pylibcugraph-cu13 is not installed" in str(CuGraph().available())
    current = install_cugraph(monkeypatch, Pylibcugraph())
    peer = CuGraph()
    peer.prepare(graph)
    found = peer.distances(peer.solve(3))
    peer.close()
    want = nearfar.sssp(graph, 3, device="cpu")
    np.testing.assert_array_equal(found, np.where(want.reachable, want.distances, np.inf))
    assert not want.reachable.all()
    assert set(peer.forms) == {"as numbered", "by degree"}
    assert peer.reported_seconds == peer.forms["by degree"] / 1e3
    assert current == ["pool of plain", "plain"]
    heavy = nearfar.Graph.from_edges([0], [1], [2**25])
    assert "float32" in str(peer.takes(heavy))


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("directed", [False, True])
def test_cugraph_searches_graphs_without_weights_by_levels(
    directed: bool, graph: nearfar.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_cugraph(monkeypatch, Pylibcugraph())
    graph = nearfar.Graph.from_csr(graph.indptr, graph.indices, directed=directed)
    peer = CuGraph()
    peer.prepare(graph)
    found = peer.distances(peer.solve(3))
    want = nearfar.sssp(graph, 3, device="cpu")
    np.testing.assert_array_equal(found, np.where(want.reachable, want.distances, np.inf))
    plain = {"as numbered", "by degree"}
    assert set(peer.forms) == (plain if directed else plain | {"as numbered, pulling"})
    assert peer.failed == ({} if directed else {"by degree, pulling": "a kernel failed"})


@pytest.mark.usefixtures("emulated_gpu")
def test_a_slow_search_of_cugraph_is_the_only_one(
    graph: nearfar.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_cugraph(monkeypatch, Pylibcugraph())
    monkeypatch.setattr(cugraph, "_LIMIT", 0.001)
    peer = CuGraph()
    peer.prepare(graph)
    answer = peer.solve(3)
    assert list(peer.forms) == ["as numbered"]
    assert list(peer.failed) == ["by degree"]
    assert peer.distances(answer)[3] == 0


@pytest.mark.usefixtures("emulated_gpu")
def test_a_graph_too_large_for_cugraph_is_said(
    graph: nearfar.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_cugraph(monkeypatch, Pylibcugraph(refuse=False))
    with pytest.raises(RuntimeError, match="does not fit the GPU's memory"):
        CuGraph().prepare(graph)


def test_programs_that_are_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NEARFAR_GAP_SSSP", raising=False)
    monkeypatch.delenv("NEARFAR_PASGAL_SSSP", raising=False)
    assert "NEARFAR_GAP_SSSP" in str(Gap(1).available())
    assert "NEARFAR_PASGAL_SSSP" in str(Pasgal(1).available())
    program(tmp_path / "sssp", "print('something else')")
    assert Gap(1).available() is not True
    program(tmp_path / "sssp", "print('single-source shortest-path')")
    assert Gap(1).available() is True


def test_files_for_programs(tmp_path: Path) -> None:
    graph = nearfar.Graph.from_edges([0, 0, 2], [1, 2, 1], [7, 8, 9])
    write_wsg(graph, tmp_path / "g.wsg")
    assert (tmp_path / "g.wsg").stat().st_size == 1 + 16 + 4 * 8 + 3 * 8
    write_adj(graph, tmp_path / "g.adj")
    text = (tmp_path / "g.adj").read_text().split()
    assert text == ["WeightedAdjacencyGraph", "3", "3", *"022", *"121", *"789"]


def test_threads_multiply_only_parallel_peers() -> None:
    made = contenders(PEERS, [1, 2, 2])
    assert [p.threads for p in made if p.name == "gap"] == [1, 2]
    assert [p.threads for p in made if p.name == "scipy"] == [1]
