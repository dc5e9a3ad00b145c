"""Batch and Bellman-Ford kernels on the emulated device: logic, not speed or order."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.algorithms.batched import cuda, dead_ends
from nearfar.algorithms.bellman_ford import cuda as queue_cuda
from nearfar.cuda import device_rows
from nearfar.cuda.device_graph import device_graph
from nearfar.errors import NegativeCycleError, OptionError, SolverError, VertexError
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.solve import arrays
from nearfar.solve.many import all_pairs, distances
from nearfar.solve.negative_cycles import find_negative_cycle
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import to_host
from tests.algorithms.test_exact_cycles import level_graph
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph, rows_of, zeros_and_parallels
from tests.covering import each_value, pairwise

pytestmark = pytest.mark.usefixtures("emulated_gpu")
IN_BLOCKS = ["block_per_source", "block_per_source_global"]


@pytest.mark.parametrize("method", ["block_per_source", "block_per_source_global", "lanes"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batch(method, dtype):
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (9, 30), (100, 350)]:
        graph = random_graph(rng, n, m, dtype)
        truth = rows_of(graph)
        np.testing.assert_array_equal(all_pairs(graph, method=f"{method}@cuda"), truth)
    columns, sources = rng.integers(0, 100, 7), rng.integers(0, 100, 9)
    some = distances(graph, sources, targets=columns, method=f"{method}@cuda")
    np.testing.assert_array_equal(some, truth[np.ix_(sources, columns)])
    limit = 40 if np.dtype(dtype).kind == "i" else 0.5
    near = distances(graph, sources, targets=None, limit=limit, method=f"{method}@cuda")
    none = unreached_value(truth.dtype)
    np.testing.assert_array_equal(near, np.where(truth > limit, none, truth)[sources])


@pytest.mark.parametrize("bits", [16, 32])
@pytest.mark.parametrize("width", [1, 40])
def test_lists_give_the_same_rows(bits, width, monkeypatch):
    """Vertices are listed before they are relaxed: sparse rows, and full words."""
    rng = np.random.default_rng(5)
    n = 700
    tails = np.concatenate([np.zeros(600, int), rng.integers(0, n, width * 50)])
    heads = np.concatenate([np.arange(50, 650), rng.integers(0, n, width * 50)])
    weights = rng.integers(1, 9, len(tails)).astype(np.int32)
    graph = Graph.from_edges(tails, heads, weights, n_vertices=n)
    sources = [0, 5, 77, 0, 699]
    truth = distances(graph, sources, method="worker_per_source@cpu")
    made = []
    program = runtime.program
    monkeypatch.setattr(runtime, "program", lambda f, m: made.append(m) or program(f, m))
    for delta in (1, 100):
        found = distances(
            graph,
            sources,
            method="block_per_source@cuda",
            lists=True,
            slot_bits=bits,
            block_threads=128,
            delta=delta,
        )
        np.testing.assert_array_equal(found, truth)
    assert any(macros.get("LISTS") == 1 for macros in made)


def test_sixteen_bits_are_repeated_in_thirty_two():
    n = 90
    weights = np.full(n - 1, 1000, dtype=np.int32)
    path = Graph.from_edges(range(n - 1), range(1, n), weights)
    stats = {}
    found = all_pairs(path, method="block_per_source@cuda", slot_bits=16, stats=stats)
    assert stats["slot_bits"] == 16
    assert stats["repeated_rows"] > 0
    np.testing.assert_array_equal(found[0], 1000 * np.arange(n))


def test_a_queue_that_overflows_loses_nothing(monkeypatch):
    """A star's leaves do not fit the queue of 16; the overflow is recovered."""
    monkeypatch.setattr(cuda, "MOST_ENTRIES", 16)
    rng = np.random.default_rng(2)
    n = 300
    heads = np.arange(1, n)
    graph = Graph.from_edges(
        np.concatenate([np.zeros(n - 1, int), heads]),
        np.concatenate([heads, rng.permutation(heads)]),
        rng.integers(1, 50, 2 * n - 2).astype(np.int32),
    )
    found = distances(graph, [0], method="block_per_source_global@cuda", delta=60)
    np.testing.assert_array_equal(found[0], nearfar.sssp(graph, 0, device="cpu").distances)


FORMS = ("persistent", "queue", "edge_classes", "warps")


# The GPU suite has each form with each dtype.
@pytest.mark.parametrize(
    ("form", "dtype"), each_value(FORMS, DTYPES) + each_value(FORMS, [*DTYPES[2:], *DTYPES[:2]])
)
def test_bellman_ford(form, dtype):
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (60, 200)]:
        graph = random_graph(rng, n, m, dtype, negative=True)
        truth = rows_of(graph)
        for source in (0, n - 1):
            found = nearfar.sssp(graph, source, method=f"bellman_ford_{form}@cuda")
            np.testing.assert_array_equal(found.distances, truth[source])


def test_rounding_around_a_cycle_of_weight_zero_is_decided_on_the_cpu():
    """Later searches from a proven part of the graph notice sums that are those of no path."""
    rng, decided = np.random.default_rng(7), 0
    for _ in range(60):
        graph = level_graph(rng, np.float32)
        if graph.n_vertices > 12 or find_negative_cycle(graph) is not None:
            continue
        truth = nearfar.sssp(graph, 0, method="tarjan_subtree@cpu").distances
        for _ in range(2):
            found = nearfar.sssp(graph, 0, method="bellman_ford_persistent@cuda")
            np.testing.assert_array_equal(found.distances, truth)
        decided += found.stats.get("decided_by") is not None
    assert decided


@pytest.mark.parametrize("form", ["persistent", "edge_classes"])
def test_negative_cycle(form, monkeypatch):
    monkeypatch.setattr(queue_cuda, "_PATIENCE", 64)
    graph = Graph.from_edges([0, 1, 2, 2], [1, 2, 1, 3], np.array([1, -3, 2, 1], dtype=np.int32))
    with pytest.raises(NegativeCycleError) as caught:
        nearfar.sssp(graph, 0, method=f"bellman_ford_{form}@cuda")
    assert sorted(caught.value.cycle) == [1, 2]
    loop = Graph.from_edges([0, 1, 1], [1, 1, 2], [1, -1, 1])
    with pytest.raises(NegativeCycleError):
        nearfar.sssp(loop, 0, method=f"bellman_ford_{form}@cuda")


@pytest.mark.parametrize(
    "method", ["johnson", "johnson_flag", "johnson_queue", "johnson_prefix", "floyd_warshall"]
)
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_all_pairs_with_negative_weights(method, dtype):
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (9, 30), (33, 120)]:
        graph = random_graph(rng, n, m, dtype, negative=n > 9)
        truth = rows_of(graph)
        # The paper's forms launch repeatedly for each source, so there are few sources.
        whole = method in ("johnson", "floyd_warshall")
        sources = np.arange(n) if whole else rng.integers(0, n, min(n, 6))
        found = distances(graph, sources, method=f"{method}@cuda")
        np.testing.assert_array_equal(found, truth[sources])
    columns = rng.integers(0, n, 3)
    some = distances(graph, sources, targets=columns, method=f"{method}@cuda")
    np.testing.assert_array_equal(some, truth[np.ix_(sources, columns)])


def on_the_device(graph):
    """Return the same graph built from device arrays."""
    cp = runtime.cupy()
    weights = None if graph.weights is None else cp.asarray(graph.weights)
    return Graph.from_csr(cp.asarray(graph.indptr), cp.asarray(graph.indices), weights)


@pytest.mark.parametrize("place", [lambda graph: graph, on_the_device])
@pytest.mark.parametrize("weighted", [True, False])
def test_edges_to_dead_ends_are_marked(place, weighted):
    """Edges to vertices without out-edges except to the edge's start, and without self-loops."""
    tails = [0, 1, 1, 2, 3, 3, 4, 5, 1, 7, 7, 7, 3]
    heads = [1, 0, 2, 2, 1, 4, 3, 3, 7, 1, 7, 1, 7]
    weights = np.ones(len(tails), dtype=np.int32) if weighted else None
    graph = place(Graph.from_edges(tails, heads, weights, n_vertices=8))
    found = dead_ends.marked_edges(graph, device_graph(graph))
    targets = found.get().view(np.int32)[:: 2 if weighted else 1]
    np.testing.assert_array_equal(targets & 0x7FFFFFFF, graph.indices)
    ends = zip(graph.tails(np.int64).tolist(), graph.indices.tolist(), strict=True)
    marked = {pair for pair, target in zip(ends, targets, strict=True) if target < 0}
    assert marked == {(1, 0), (1, 2), (2, 2), (3, 4), (1, 7)}


def test_dead_ends_are_not_marked_where_there_is_no_room_for_a_copy(monkeypatch):
    graph = random_graph(np.random.default_rng(5), 40, 90, np.int32)
    device = device_graph(graph)
    with monkeypatch.context() as full:
        full.setattr(runtime, "memory", lambda: (device.edges.nbytes, 2**30))
        assert dead_ends.marked_edges(graph, device) is device.edges
    found = all_pairs(graph, method="block_per_source_global@cuda")
    np.testing.assert_array_equal(found, rows_of(graph))


@pytest.mark.parametrize("method", IN_BLOCKS)
def test_a_vertex_that_leads_back_to_one_of_two_is_a_way_from_the_other(method):
    """Vertex 2 leads only back to 1: a dead end from 1, but a way from 0."""
    graph = Graph.from_edges([0, 1, 2, 0], [2, 2, 1, 1], np.array([1, 1, 1, 9], dtype=np.int32))
    truth = all_pairs(graph, method="worker_per_source@cpu")
    np.testing.assert_array_equal(truth[0], [0, 2, 1])
    for delta in (1, 100):
        found = all_pairs(graph, method=f"{method}@cuda", delta=delta)
        np.testing.assert_array_equal(found, truth)


@pytest.mark.parametrize(
    ("method", "limit", "place"),
    pairwise(IN_BLOCKS, [None, 25], [lambda graph: graph, on_the_device]),
)
def test_sources_in_any_order_and_given_twice(limit, place, method):
    rng = np.random.default_rng(12)
    for n, m, high in [(40, 400, 100), (60, 700, 3), (30, 200, 40_000)]:
        graph = random_graph(rng, n, m, np.int32)
        weights = rng.integers(0, high, graph.n_edges).astype(np.int32)
        graph = Graph.from_csr(graph.indptr, graph.indices, weights)
        truth = rows_of(graph)
        if limit is not None:
            truth = np.where(truth > limit, unreached_value(truth.dtype), truth)
        order = rng.permutation(n)
        given = place(graph)
        call = {"targets": None, "limit": limit, "method": f"{method}@cuda"}
        found = distances(given, order, slot_bits=16, **call)
        assert runtime.is_device_array(found) == given.on_device
        np.testing.assert_array_equal(to_host(found), truth[order])
        twice = np.concatenate([order, order[:9]])
        np.testing.assert_array_equal(to_host(distances(given, twice, **call)), truth[twice])


REDUCTIONS = [
    "count",
    "sum",
    "mean",
    "max",
    "summary",
    "harmonic",
    "nearest:4",
    "nearest:200",
    ("histogram", [0, 9.5, 40]),
]


@pytest.mark.parametrize(
    ("method", "dtype", "targets"),
    pairwise(["block_per_source", "lanes"], DTYPES, [None, [5, 3, 3, 40]]),
)
def test_reductions_on_the_device_have_the_bits_of_the_host(method, dtype, targets, monkeypatch):
    rng = np.random.default_rng(6)
    graph = random_graph(rng, 70, 260, dtype)
    wanted = [distances(graph, targets=targets, reduce=r, device="cpu") for r in REDUCTIONS]
    fetched = set()
    download = runtime.download
    monkeypatch.setattr(
        runtime, "download", lambda a, *to: fetched.add(a.shape) or download(a, *to)
    )
    for reduce, truth in zip(REDUCTIONS, wanted, strict=True):
        found = distances(graph, targets=targets, reduce=reduce, method=f"{method}@cuda", block=32)
        np.testing.assert_array_equal(found, truth)
        assert not runtime.is_device_array(found)
    width = 70 if targets is None else len(targets)
    assert fetched, "figures of each row"
    assert not fetched & {(32, width), (6, width)}, "no rows"


@pytest.mark.parametrize("method", ["block_per_source", "block_per_source_global", "lanes"])
def test_device_arrays_in_and_out(method, monkeypatch):
    """With device graphs or outputs, rows stay on the device and are never copied."""
    rng = np.random.default_rng(3)
    graph = random_graph(rng, 60, 200, np.int32)
    truth = rows_of(graph)
    cp, download = runtime.cupy(), runtime.download
    monkeypatch.setattr(runtime, "download", lambda _: pytest.fail("copied to the host"))
    call = {"method": f"{method}@cuda"}
    out = cp.empty((60, 60), dtype=np.int32)
    assert all_pairs(graph, out=out, **call) is out
    np.testing.assert_array_equal(np.asarray(out), truth)
    out = cp.empty((60, 60), dtype=np.int64)
    all_pairs(graph, out=out, block=7, **call)
    none = unreached_value(truth.dtype)
    np.testing.assert_array_equal(
        np.asarray(out), np.where(truth == none, 2**63 - 1, truth.astype(np.int64))
    )
    graph.on_device = True
    found = distances(graph, [3, 9, 3], limit=50, **call)
    assert runtime.is_device_array(found)
    limited = np.where(truth > 50, none, truth)
    np.testing.assert_array_equal(np.asarray(found), limited[[3, 9, 3]])
    fetched = []
    monkeypatch.setattr(runtime, "download", lambda a: fetched.append(a.nbytes) or download(a))
    assert runtime.is_device_array(distances(graph, reduce="count", **call))
    assert max(fetched, default=0) <= 60 * 24, "four numbers per row"


@pytest.mark.parametrize("heavy", [False, True])
def test_pairs_on_the_device(heavy, monkeypatch):
    """The vector is gathered on the device of the rows; pairs may be a device array."""
    rng = np.random.default_rng(3)
    graph = random_graph(rng, 60, 200, np.int32)
    if heavy:  # sums that need 64 bits
        graph = Graph.from_csr(graph.indptr, graph.indices, graph.weights * np.int32(2**25))
    pairs = rng.integers(0, 60, (30, 2))
    call = {"method": "block_per_source@cuda"}
    truth = distances(graph, pairs=pairs.tolist(), method="dijkstra_binary_heap@cpu")
    assert truth.dtype == (np.int64 if heavy else np.int32)
    cp = runtime.cupy()
    there = cp.asarray(pairs)
    np.testing.assert_array_equal(distances(graph, pairs=there, **call), truth)
    rows = distances(graph, there[:, 0], targets=there[:4, 1], **call)
    np.testing.assert_array_equal(
        rows, distances(graph, pairs[:, 0], targets=pairs[:4, 1], device="cpu")
    )
    graph.on_device = True
    if not heavy:
        monkeypatch.setattr(runtime, "download", lambda _: pytest.fail("copied to the host"))
    found = distances(graph, pairs=pairs, **call)
    assert runtime.is_device_array(found)
    np.testing.assert_array_equal(np.asarray(found), truth)


def test_pairs_that_are_none_are_refused():
    graph = random_graph(np.random.default_rng(3), 9, 20, np.int32)
    graph.on_device = True
    cp = runtime.cupy()
    for wrong, message in (
        (cp.asarray([1, 2]), "shape"),
        (cp.asarray([[1, 2, 3]]), "shape"),
        (7, "give a list"),
    ):
        with pytest.raises(OptionError, match=message):
            distances(graph, pairs=wrong, device="cuda")
    with pytest.raises(OptionError, match="pairs cannot be combined"):
        distances(graph, pairs=[(0, 1)], out=cp.empty(1, dtype=np.int32))
    with pytest.raises(VertexError):
        distances(graph, pairs=cp.asarray([[0, 9]]), device="cuda")


def test_out_on_the_device_is_refused_by_methods_of_the_host():
    graph = Graph.from_edges([0, 1], [1, 2], [1, 2])
    out = runtime.cupy().empty((3, 3), dtype=np.int32)
    with pytest.raises(OptionError, match="on a device"):
        all_pairs(graph, out=out, device="cpu")
    with pytest.raises(OptionError, match="shape"):
        all_pairs(graph, out=out[:2], device="cuda")


@pytest.mark.parametrize("method", ["block_per_source", "block_per_source_global", "lanes"])
def test_a_stuck_row_is_an_error(method, monkeypatch):
    """Too small a bound on steps ends the kernel with an error, not with a wrong answer."""
    n = 60
    path = Graph.from_edges(range(n - 1), range(1, n), np.ones(n - 1, dtype=np.int32))
    monkeypatch.setattr(device_rows, "steps_allowed", lambda n: 3)
    with pytest.raises(SolverError, match="more than 3 steps"):
        distances(path, [0, 5], method=f"{method}@cuda")


def single_trees(graph):
    """Return distances and predecessors of a search per source on the host."""
    method = "bellman_ford_queue@cpu"
    found = [nearfar.sssp(graph, s, method=method) for s in range(graph.n_vertices)]
    return np.array([p.distances for p in found]), np.array([p.predecessors for p in found])


PREDECESSORS = [
    ("floyd_warshall", "plain"),
    ("floyd_warshall", "zeros"),
    ("floyd_warshall", "negative"),
    ("block_per_source", "zeros"),
    ("johnson", "negative"),
]


# One kernel of each dtype finds them for all methods.
@pytest.mark.parametrize(
    ("method", "kind", "dtype"),
    [
        *((*way, dtype) for way, dtype in each_value(PREDECESSORS, DTYPES)),
        *((*way, dtype) for way, dtype in each_value(PREDECESSORS, DTYPES[::-1])),
    ],
)
def test_predecessors_of_many_rows(method, kind, dtype):
    """Host and device graphs, whole and with a limit: the trees of single searches."""
    rng = np.random.default_rng(7)
    graph = random_graph(rng, 40, 200, dtype, negative=kind == "negative")
    if kind == "zeros":
        graph = zeros_and_parallels(rng, 40, 160, dtype)
    truth, trees = single_trees(graph)
    call = {"predecessors": True, "method": f"{method}@cuda"}
    stats = {}
    found, before = all_pairs(graph, stats=stats, **call)
    assert before.dtype == graph.indptr.dtype
    assert stats["predecessor_device_seconds"] >= 0
    np.testing.assert_array_equal(found, truth)
    np.testing.assert_array_equal(before, trees)
    if kind == "zeros":
        limit = np.median(truth).item()
        found, before = all_pairs(graph, limit=limit, **call)
        np.testing.assert_array_equal(before, np.where(truth > limit, -1, trees))
    graph.on_device = True
    found, before = all_pairs(graph, **call)
    assert runtime.is_device_array(before)
    np.testing.assert_array_equal(np.asarray(found), truth)
    np.testing.assert_array_equal(np.asarray(before), trees)


@pytest.mark.parametrize("method", ["block_per_source", "lanes", "floyd_warshall"])
def test_predecessors_never_pass_through_the_host(method, monkeypatch):
    graph = zeros_and_parallels(np.random.default_rng(8), 40, 100, np.int32)
    trees = single_trees(graph)[1]
    graph.on_device = True
    monkeypatch.setattr(runtime, "download", lambda _: pytest.fail("copied to the host"))
    _, before = all_pairs(graph, predecessors=True, method=f"{method}@cuda")
    np.testing.assert_array_equal(np.asarray(before), trees)


@pytest.mark.parametrize("method", ["block_per_source", "block_per_source_global"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_figures_of_rows_come_with_the_rows(method, dtype, monkeypatch):
    """Integers that fit 16 bits need no pass over the rows; others and floats do."""
    passes = []
    plain = arrays.device_row_figures
    monkeypatch.setattr(arrays, "device_row_figures", lambda rows: passes.append(1) or plain(rows))
    graph = generate("kronecker", scale=5)
    graph = Graph(graph.indptr, graph.indices, (graph.weights * 3).astype(dtype))
    kinds = ("count", "sum", "mean", "max", "summary")
    ways = ({}, {"limit": 100}, {"slot_bits": 16}, {"targets": [3, 9]})
    # Figures are counts, sums and maxima, from which each kind takes some: all of them the last.
    for kind, given in [*each_value(kinds, ways), *(("summary", way) for way in ways[1:])]:
        how = {"reduce": kind, **given}
        found = all_pairs(graph, method=f"{method}@cuda", **how)
        how.pop("slot_bits", None)
        truth = all_pairs(graph, device="cpu", **how)
        pairs = zip(found, truth, strict=True) if kind == "summary" else [(found, truth)]
        for one, other in pairs:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        assert bool(passes) == ("targets" in given or dtype == np.float32)
        passes.clear()


@pytest.mark.parametrize("method", ["block_per_source", "lanes"])
def test_sources_given_again_are_rows_of_the_device_too(method):
    graph = random_graph(np.random.default_rng(3), 50, 200, np.int32)
    given = [7, 3, 7, 7, 0, 3]
    truth = rows_of(graph)[given]
    stats = {}
    np.testing.assert_array_equal(
        distances(graph, given, method=f"{method}@cuda", stats=stats), truth
    )
    there = runtime.upload(np.empty_like(truth))
    assert distances(graph, given, method=f"{method}@cuda", out=there) is there
    np.testing.assert_array_equal(to_host(there), truth)
    found, before = distances(graph, given, method=f"{method}@cuda", predecessors=True)
    np.testing.assert_array_equal(found, truth)
    np.testing.assert_array_equal(before[0], before[3])
    counted = distances(graph, given, method=f"{method}@cuda", reduce="count")
    np.testing.assert_array_equal(counted, (truth != unreached_value(truth.dtype)).sum(axis=1) - 1)


@pytest.mark.parametrize("method", ["block_per_source", "block_per_source_global"])
def test_a_batch_copies_nothing_of_a_device_graph(method: str, monkeypatch) -> None:
    graph = random_graph(np.random.default_rng(6), 70, 300, np.int32)
    cp = runtime.cupy()
    there = Graph.from_csr(
        cp.asarray(graph.indptr), cp.asarray(graph.indices), cp.asarray(graph.weights)
    )
    download = runtime.download
    monkeypatch.setattr(runtime, "download", lambda _: pytest.fail("copied to the host"))
    rows, before = distances(there, method=f"{method}@cuda", predecessors=True)
    assert isinstance(before, cp.ndarray)
    np.testing.assert_array_equal(download(rows), rows_of(graph))
