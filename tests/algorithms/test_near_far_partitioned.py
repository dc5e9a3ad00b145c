"""near_far_partitioned@cuda on an emulated device: parts, dtypes, difficult shapes, proofs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.algorithms.near_far import partitioned
from nearfar.algorithms.near_far.partitioned import Partitioned, bounds
from nearfar.cli.console import Exit
from nearfar.cuda.graph.kronecker_rows import kronecker_rows
from nearfar.errors import OptionError, OutOfMemoryError, VariantUnavailable
from nearfar.graph.graph import Graph
from nearfar.system.devices import runtime, several
from tests.covering import each_value
from tests.program import fail, succeed

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def star(n: int = 700) -> Graph:
    """Return a hub with more edges than a piece holds, in both directions."""
    leaves = np.arange(1, n)
    return Graph.from_edges(np.zeros(n - 1, int), leaves, 1 + leaves % 7, directed=False)


def path(n: int = 70) -> Graph:
    return Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, 3), n_vertices=n)


def circle_of_zeros(n: int = 70) -> Graph:
    at = np.arange(n)
    return Graph.from_edges([*at, 5], [*(at + 1) % n, n], [*np.zeros(n, int), 4], n_vertices=n + 40)


GRAPHS = {
    "kronecker": lambda: nearfar.generate("kronecker", scale=8),
    "directed": lambda: nearfar.generate("uniform_random", vertices=150, degree=4),
    "grid": lambda: nearfar.generate("grid", rows=9, columns=14, missing=0.2),
    "star": star,
    "path": path,
    "circle of zeros": circle_of_zeros,
}


@pytest.mark.parametrize(
    ("name", "parts"),
    [*each_value(list(GRAPHS), [5, 2]), ("kronecker", 1), ("grid", 1), ("star", 5), ("path", 2)],
)
def test_distances_are_those_of_the_cpu(name: str, parts: int) -> None:
    graph = GRAPHS[name]()
    for source, share in ((0, 0), (graph.n_vertices - 1, 2)):
        want = nearfar.sssp(graph, source, device="cpu")
        found = nearfar.sssp(
            graph,
            source,
            method="near_far_partitioned",
            device="cuda",
            parts=parts,
            pull_share=share,
        )
        nearfar.verify(graph, found)
        np.testing.assert_array_equal(runtime.download(found.distances), want.distances)
        assert found.stats["parts"] == parts
        if graph.directed or not share:
            assert found.stats["pulls"] == 0


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", None])
def test_every_type_of_weight(dtype: str | None) -> None:
    graph = nearfar.generate("kronecker", scale=7, weight_dtype=dtype)
    want = nearfar.sssp(graph, 3, device="cpu")
    found = nearfar.sssp(graph, 3, method="near_far_partitioned", device="cuda", parts=3)
    np.testing.assert_array_equal(runtime.download(found.distances), want.distances)
    nearfar.verify(graph, found)


def test_an_edge_is_relaxed_about_once() -> None:
    graph = nearfar.generate("kronecker", scale=9)
    asked: dict[str, Any] = {"method": "near_far_partitioned", "device": "cuda", "parts": 2}
    found = nearfar.sssp(graph, 1, delta=8.0, **asked)
    assert found.stats["edges_relaxed"] < 1.2 * graph.n_edges
    assert found.stats["lines_fetched"] > 0
    whole = nearfar.sssp(graph, 1, delta=8.0, pull_share=0, **asked)
    less = nearfar.sssp(graph, 1, delta=8.0, pull_share=2, **asked)
    assert whole.stats["pulls"] == 0
    assert less.stats["pulls"] == 1
    assert less.stats["edges_relaxed"] < whole.stats["edges_relaxed"]


def test_steps_are_named_and_timed() -> None:
    graph = nearfar.generate("kronecker", scale=8)
    asked: dict[str, Any] = {"method": "near_far_partitioned", "device": "cuda", "parts": 2}
    found = nearfar.sssp(graph, 1, trace=True, pull_share=2, **asked)
    kinds = found.stats["kind"]
    assert len(kinds) == len(found.stats["seconds_per_step"]) == found.stats["iterations"]
    assert kinds[0] == "take"
    assert kinds.index("pull_open") == kinds.index("learn") + 1
    plain = nearfar.sssp(graph, 1, pull_share=2, **asked)
    assert plain.stats["iterations"] == len(kinds)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_queue_that_overflows(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every middle vertex lowers every last one again within one step."""
    monkeypatch.setattr(partitioned, "_ROOM", 1.0)
    middle, last = np.arange(1, 33), np.arange(33, 65)
    tails, heads = np.repeat(middle, 32), np.tile(last, 32)
    graph = Graph.from_edges(
        [*np.zeros(32, int), *tails], [*middle, *heads], [*middle, *(1000 - 10 * tails)]
    )
    asked: dict[str, Any] = {"method": "near_far_partitioned", "device": "cuda", "parts": parts}
    found = nearfar.sssp(graph, 0, delta=1e4, **asked)
    want = nearfar.sssp(graph, 0, device="cpu")
    np.testing.assert_array_equal(runtime.download(found.distances), want.distances)
    assert found.stats["rescans"] > 0


def test_it_ends_when_every_vertex_that_an_edge_enters_is_reached() -> None:
    graph = nearfar.generate("uniform_random", vertices=300, degree=40)
    asked: dict[str, Any] = {"method": "near_far_partitioned", "device": "cuda", "parts": 2}
    found = nearfar.sssp(graph, 0, **asked)
    nearfar.verify(graph, found)
    assert found.stats["edges_relaxed"] < 0.7 * graph.n_edges


def test_a_limit_ends_the_search() -> None:
    graph = path()
    found = nearfar.sssp(graph, 0, method="near_far_partitioned", device="cuda", limit=30, delta=3)
    assert found.n_reached == 11
    assert found.stats["iterations"] < 40


@pytest.mark.parametrize("parts", [1, 3])
def test_rows_made_on_the_device_are_those_of_the_generator(parts: int) -> None:
    host = nearfar.generate("kronecker", scale=7, seed=4)
    rows = kronecker_rows(7, [0] * parts, seed=4)
    assert sum(row.graph.m for row in rows) == host.n_edges
    for row in rows:
        edges = runtime.download(row.graph.edges).view(np.int32).reshape(-1, 2)
        offsets = runtime.download(row.graph.offsets)
        for v in range(row.first, row.last):
            mine = edges[offsets[v - row.first] : offsets[v - row.first + 1]].tolist()
            theirs = slice(*host.indptr[v : v + 2].tolist())
            want = zip(host.indices[theirs].tolist(), host.weights[theirs].tolist(), strict=True)
            assert sorted(map(tuple, mine)) == sorted(want)
    parted = Partitioned(rows, host.n_vertices, symmetric=True)
    parted.solve(5, 40.0)
    want = nearfar.sssp(host, 5, device="cpu")
    np.testing.assert_array_equal(runtime.download(parted.distances()), want.distances)
    assert parted.prove(5) == 0
    assert parted.prove(6) == 1  # 5 has no edge that gives its distance


def test_a_wrong_distance_is_no_proof() -> None:
    parted = Partitioned(kronecker_rows(6, [0, 0]), 64, symmetric=True)
    parted.solve(1, 100.0)
    far = int(np.argmax(runtime.download(parted.distances()) % (2**31 - 1)))
    for change in (-1, 1):
        owner = far // 32
        parted.known[owner][far] += change
        assert parted.prove(1) > 0
        parted.known[owner][far] -= change
    assert parted.prove(1) == 0


def test_bounds_share_edges_in_whole_lines() -> None:
    indptr = np.arange(0, 10_001, 10)
    assert bounds(indptr, 1) == [0, 1000]
    assert bounds(indptr, 3) == [0, 320, 640, 1000]
    heavy = np.append(np.zeros(100, int), np.full(30, 50))
    assert bounds(heavy, 4)[0] == 0
    assert bounds(heavy, 4)[-1] == 129
    assert all(cut % 32 == 0 for cut in bounds(heavy, 4)[:-1])


def test_options_that_cannot_be() -> None:
    graph = path()
    asked: dict[str, Any] = {"method": "near_far_partitioned", "device": "cuda"}
    for wrong, said in (
        ({"parts": 17}, "1 to 16"),
        ({"pull_share": -1}, "0 or more"),
        ({"eager_growth": 0.5}, "at least 1"),
        ({"devices": 3}, "3"),
    ):
        with pytest.raises(OptionError, match=said):
            nearfar.sssp(graph, 0, **asked, **wrong)
    with pytest.raises(OptionError, match="scale"):
        kronecker_rows(3, [0])
    with pytest.raises(OptionError, match="devices"):
        kronecker_rows(5, [0, 0])


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_a_device_without_memory(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before rows, marks, a part's buffers or the answer are allocated."""
    room = [1 << 30] * step + [10]
    monkeypatch.setattr(runtime, "memory", lambda: (room.pop(0) if len(room) > 1 else 10, 1 << 30))
    graph = nearfar.generate("kronecker", scale=6)
    with pytest.raises(OutOfMemoryError, match="needed"):
        nearfar.sssp(graph, 0, method="near_far_partitioned", device="cuda")
    monkeypatch.undo()


def test_devices_that_cannot_read_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(several, "open_way", lambda one, other: one == other)
    rows = kronecker_rows(7, [0, 1])
    with pytest.raises(VariantUnavailable, match="cannot read the memory of device 1"):
        Partitioned(rows, 128, symmetric=True)


def test_the_command_shares_a_graph_over_devices(tmp_path: Path) -> None:
    graph = nearfar.generate("grid", rows=9, columns=9, seed=1)
    nearfar.write(graph, tmp_path / "g.nfg")
    words = ("sssp", tmp_path / "g.nfg", "0", "-o", "-", "--quiet")
    shared = ("--method", "near_far_partitioned@cuda", "--devices", "0")
    assert succeed(*words, *shared) == succeed(*words, "--device", "cpu")
    assert "devices names 7" in fail(Exit.USAGE, *words, *shared[:-1], "7")
    path = ("path", tmp_path / "g.nfg", "0", "80", "--json")
    found = json.loads(succeed(*path, *shared[:2], "--option", "devices=0"))
    assert found["length"] == nearfar.sssp(graph, 0).distance_to(80)
