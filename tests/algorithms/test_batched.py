"""Many sources: every batch method against single searches, bit for bit, for any batch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nearfar
from nearfar import _cpu
from nearfar.algorithms.batched.cpu import LaneOptions, WorkerOptions
from nearfar.errors import DistanceOverflowError, OptionError, OutOfMemoryError, VertexError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs, distances
from tests.datafiles import data_path
from tests.program import run_python

METHODS = ["lanes", "worker_per_source", "dijkstra_dary_heap", "auto"]
DTYPES = [np.int32, np.int64, np.float32, np.float64]


def random_graph(rng, n, m, dtype, high=60):
    weights = rng.integers(0, high, m)
    weights = weights.astype(dtype) if np.dtype(dtype).kind == "i" else rng.random(m).astype(dtype)
    return Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), weights, n_vertices=n)


def singles(graph, sources):
    rows = [
        nearfar.sssp(graph, int(s), method="dijkstra_binary_heap@cpu").distances for s in sources
    ]
    return np.array(rows).reshape(len(rows), graph.n_vertices)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 3])
def test_all_pairs_is_single_searches(method, dtype, threads):
    rng = np.random.default_rng(5)
    for n, m in [(1, 0), (2, 1), (9, 30), (130, 500), (200, 90)]:
        graph = random_graph(rng, n, m, dtype)
        found = all_pairs(graph, method=method, device="cpu", threads=threads)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, singles(graph, range(n)))


def test_1000_random_batches_do_not_touch_each_other():
    """State that leaks from one batch or lane into the next gives wrong rows."""
    rng = np.random.default_rng(8)
    graph = random_graph(rng, 150, 600, np.int32)
    floats = random_graph(rng, 150, 600, np.float64)
    truth = {id(g): singles(g, range(150)) for g in (graph, floats)}
    for trial in range(1000):
        g = floats if trial % 3 == 0 else graph
        k = int(rng.integers(1, 100))
        sources = rng.integers(0, 150, k)
        method = ("lanes", "worker_per_source")[trial % 2]
        options = {"width": int(rng.choice([8, 16, 32, 64]))} if method == "lanes" else {}
        columns = rng.integers(0, 150, int(rng.integers(1, 20))) if trial % 5 == 0 else None
        limit = (
            float(rng.integers(1, 150)) / (100 if g is floats else 1) if trial % 7 == 0 else None
        )
        found = distances(
            g,
            sources,
            targets=columns,
            limit=limit,
            method=method,
            device="cpu",
            threads=1 + trial % 2,
            **options,
        )
        wanted = truth[id(g)][sources]
        if limit is not None:
            wanted = np.where(wanted > limit, unreached_value(wanted.dtype), wanted)
        if columns is not None:
            wanted = wanted[:, columns]
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_heap_and_buckets_find_the_same_bits(dtype, index):
    """Whole rows, and searches that end at targets or a limit, reuse memory in alternation."""
    rng = np.random.default_rng(12)
    for n, m in [(3, 2), (300, 900), (700, 2000), (900, 40_000)]:
        plain = random_graph(rng, n, m, dtype, high=10_000)
        arrays = plain.indptr.astype(index), plain.indices.astype(index), plain.weights
        graph = Graph(*arrays, directed=True)
        sources = rng.integers(0, n, 40)
        whole = singles(plain, sources)
        some = whole[whole < unreached_value(whole.dtype)]
        limit = float(np.quantile(some, 0.3))
        columns = rng.integers(0, n, 3)
        for queue in ("heap", "buckets"):
            for threads in (1, 2):
                for ends in (None, limit):
                    for picked in (None, columns):
                        stats = {}
                        found = distances(
                            graph,
                            sources,
                            targets=picked,
                            limit=ends,
                            method="worker_per_source@cpu",
                            threads=threads,
                            queue=queue,
                            stats=stats,
                        )
                        wanted = (
                            whole
                            if ends is None
                            else np.where(whole > ends, unreached_value(whole.dtype), whole)
                        )
                        assert stats["queue"] == queue
                        assert np.array_equal(
                            found, wanted if picked is None else wanted[:, picked]
                        )


def test_small_graphs_take_the_heap_others_buckets():
    rng = np.random.default_rng(13)
    line = Graph.from_edges(range(1999), range(1, 2000), rng.integers(1, 9, 1999))
    cases = (random_graph(rng, 511, 2000, np.int32), "heap"), (line, "buckets")
    for graph, queue in (*cases, (random_graph(rng, 512, 2000, np.int32), "buckets")):
        stats = {}
        found = distances(graph, range(9), method="worker_per_source@cpu", stats=stats)
        assert stats["queue"] == queue
        np.testing.assert_array_equal(found, singles(graph, range(9)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("n", "columns", "queue"), [(1200, 2, "heap"), (400, 20, "buckets")])
def test_many_sources_take_the_queue_that_is_faster(n, columns, queue, threads):
    """A heap where few vertices wait, and buckets for many: both 1.5 times as fast and more."""
    places = np.arange(n).reshape(-1, columns)
    ends = [(places[:, 1:], places[:, :-1])]
    ends += [(places[step:], places[:-step]) for step in ((1,) if columns == 2 else (1, 2, 3))]
    ends = [np.concatenate([pair[side].ravel() for pair in ends]) for side in (0, 1)]
    weights = np.random.default_rng(7).random(len(ends[0]))
    graph = Graph.from_edges(*ends, weights, directed=False)
    chosen = []
    for _ in range(5):  # a trial may be interrupted
        stats = {}
        sources = np.arange(300)
        found = distances(
            graph, sources, method="worker_per_source@cpu", threads=threads, stats=stats
        )
        assert np.array_equal(found, singles(graph, sources))
        chosen.append(stats["queue"])
    assert chosen.count(queue) >= 3


@pytest.mark.parametrize("queue", ["heap", "buckets"])
def test_many_small_searches_reset_only_what_they_touched(queue):
    """Distances are reset between searches, also those beyond the limit and those of hubs."""
    rng = np.random.default_rng(14)
    graph = random_graph(rng, 2000, 80_000, np.int32, high=1000)
    sources, columns = rng.integers(0, 2000, 300), np.arange(2000)
    limits = rng.integers(0, 60, 6).tolist()
    whole = singles(graph, sources)
    for limit in limits:
        found = np.empty((300, 2000), dtype=np.int32)
        _cpu.per_source(graph.view, sources, found, columns, limit, 2, queue == "buckets")
        np.testing.assert_array_equal(found, np.where(whole > limit, 2**31 - 1, whole))


@pytest.mark.parametrize("level", _cpu.isa_levels())
def test_instruction_sets_agree(level):
    code = (
        "import numpy as np, nearfar\n"
        "from nearfar.solve.many import all_pairs\n"
        "rng = np.random.default_rng(1)\n"
        "g = nearfar.Graph.from_edges(rng.integers(0,300,2000), rng.integers(0,300,2000), "
        "rng.integers(1,99,2000).astype(np.int32))\n"
        "a = all_pairs(g, method='lanes')\n"
        "f = all_pairs(g, method='floyd_warshall')\n"
        "assert (a == f).all()\n"
        "x = all_pairs(g.astype(np.float64), method='lanes')\n"
        "assert ((x == a) | (a == 2**31 - 1)).all()\n"
    )
    run_python(code, NEARFAR_CPU_LEVEL=level)


def test_sixteen_bit_lanes_are_repeated_wider_when_they_do_not_fit():
    n = 400
    path = Graph.from_edges(range(n - 1), range(1, n), np.full(n - 1, 1000, dtype=np.int32))
    stats = {}
    found = all_pairs(path, method="lanes@cpu", stats=stats)
    assert stats["repeated_rows"] > 0
    np.testing.assert_array_equal(found[0], 1000 * np.arange(n))
    small = Graph.from_edges(range(9), range(1, 10), np.full(9, 1000, dtype=np.int32))
    all_pairs(small, method="lanes@cpu", stats=stats)
    assert stats["lane_bits"] == 16


@pytest.mark.parametrize("method", ["lanes", "worker_per_source", "delta_stepping"])
def test_sums_beyond_32_bits_come_back_in_64(method):
    heavy = np.array([2**31 - 2, 2**31 - 2, 1], dtype=np.int32)
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], heavy)
    found = all_pairs(graph, method=method, device="cpu")
    assert found.dtype == np.int64
    assert found[0].tolist() == [0, 2**31 - 2, 2**32 - 4, 2**32 - 3]
    assert found[3, 0] == np.iinfo(np.int64).max
    some = distances(graph, [0], targets=[2], method=method, device="cpu")
    assert some.tolist() == [[2**32 - 4]]
    out = np.empty((4, 4), dtype=np.int32)
    with pytest.raises(DistanceOverflowError):
        all_pairs(graph, method=method, device="cpu", out=out)
    too_far = Graph.from_edges([0, 1], [1, 2], np.array([2**62, 2**62], dtype=np.int64) + 2**61)
    with pytest.raises(DistanceOverflowError):
        all_pairs(too_far, method=method, device="cpu")


@pytest.mark.parametrize("method", METHODS)
def test_targets_limit_and_pairs(method):
    rng = np.random.default_rng(4)
    graph = random_graph(rng, 120, 500, np.int32)
    truth = singles(graph, range(120))
    sources, targets = rng.integers(0, 120, 70), rng.integers(0, 120, 9)
    kwargs = {"method": method, "device": "cpu", "threads": 2}
    np.testing.assert_array_equal(
        distances(graph, sources, targets=targets, **kwargs), truth[np.ix_(sources, targets)]
    )
    limited = distances(graph, sources, limit=70, **kwargs)
    none = np.iinfo(np.int32).max
    np.testing.assert_array_equal(limited, np.where(truth[sources] > 70, none, truth[sources]))
    pairs = rng.integers(0, 120, (600, 2))
    found = distances(graph, pairs=[tuple(p) for p in pairs.tolist()], **kwargs)
    np.testing.assert_array_equal(found, truth[pairs[:, 0], pairs[:, 1]])


def test_early_stop_does_less_work():
    side = 120
    v = np.arange(side * side).reshape(side, side)
    a = np.concatenate([v[:, :-1].ravel(), v[:-1].ravel()])
    b = np.concatenate([v[:, 1:].ravel(), v[1:].ravel()])
    graph = Graph.from_edges(a, b, np.full(len(a), 7, dtype=np.int32), directed=False)
    for method in ("lanes", "worker_per_source"):
        near, far = {}, {}
        distances(graph, [0, 1, side], targets=[2, 3], method=method, device="cpu", stats=near)
        distances(graph, [0, 1, side], method=method, device="cpu", stats=far)
        assert near["edges_relaxed"] * 10 < far["edges_relaxed"]


def test_out_array_in_place_and_its_checks(tmp_path):
    rng = np.random.default_rng(3)
    graph = random_graph(rng, 60, 200, np.int32)
    truth = singles(graph, range(60))
    out = np.zeros((60, 60), dtype=np.int32)
    assert all_pairs(graph, out=out, block=7) is out
    np.testing.assert_array_equal(out, truth)
    wide = np.zeros((60, 60), dtype=np.int64)
    all_pairs(graph, out=wide)
    assert wide.max() == np.iinfo(np.int64).max
    strided = np.zeros((60, 120), dtype=np.int32)[:, ::2]
    all_pairs(graph, out=strided)
    np.testing.assert_array_equal(strided, truth)
    mapped = np.lib.format.open_memmap(tmp_path / "m.npy", "w+", np.int32, (60, 60))
    all_pairs(graph, out=mapped)
    np.testing.assert_array_equal(mapped, truth)
    for wrong in (np.zeros((60, 59), np.int32), np.zeros((60, 60), np.float32), [[0]], "x.csv"):
        with pytest.raises(OptionError):
            all_pairs(graph, out=wrong)
    out.flags.writeable = False
    with pytest.raises(OptionError, match="read-only"):
        all_pairs(graph, out=out)
    for given in (wide, np.zeros((60, 60), np.int32), "csr", tmp_path / "r.npy"):
        # Regression: `out` in the weights' dtype received rows, and reduce was ignored.
        with pytest.raises(OptionError, match="reduce cannot be combined with out"):
            all_pairs(graph, reduce="sum", out=given)


def test_csr_holds_the_pairs_within_the_limit():
    rng = np.random.default_rng(3)
    graph = random_graph(rng, 80, 300, np.int32)
    truth = singles(graph, range(80))
    sparse = all_pairs(graph, limit=40, out="csr", block=9)
    rows, columns = np.nonzero(truth <= 40)
    assert sparse.nnz == len(rows)
    np.testing.assert_array_equal(sparse.indices, columns)
    np.testing.assert_array_equal(sparse.data, truth[rows, columns])


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("targets", [None, [5, 3, 3, 40]])
def test_reductions(dtype, targets):
    rng = np.random.default_rng(6)
    graph = random_graph(rng, 70, 160, dtype)
    rows = singles(graph, range(70)).astype(np.float64)
    rows[rows >= np.iinfo(np.int32).max] = np.inf
    columns = np.arange(70) if targets is None else np.array(targets)
    if targets is None:
        np.fill_diagonal(rows, np.inf)
    rows = rows[:, columns]
    reached = np.isfinite(rows)

    def get(what):
        return all_pairs(graph, targets=targets, reduce=what, block=16)

    np.testing.assert_array_equal(get("count"), reached.sum(axis=1))
    sums = np.where(reached, rows, 0).sum(axis=1)
    np.testing.assert_allclose(get("sum"), sums)
    mean = get("mean")
    assert np.isnan(mean[~reached.any(axis=1)]).all()
    some = reached.any(axis=1)
    np.testing.assert_allclose(mean[some], sums[some] / reached[some].sum(axis=1))
    greatest = np.where(reached, rows, -1).max(axis=1)
    none = unreached_value(get("max").dtype)
    np.testing.assert_array_equal(get("max"), np.where(some, greatest, none))
    edges = [0, 0.5, 1, 20, 60]
    wanted = [np.histogram(r[np.isfinite(r) & (r < 60)], edges)[0] for r in rows]
    np.testing.assert_array_equal(get(("histogram", edges)), wanted)
    vertices, values = get("nearest:3")
    for i, row in enumerate(rows):
        order = np.argsort(row, kind="stable")[:3]
        kept = [int(columns[j]) if np.isfinite(row[j]) else -1 for j in order]
        assert vertices[i].tolist() == kept
        assert [x for x in values[i] if x < 2**31 - 1] == row[order][
            np.isfinite(row[order])
        ].tolist()


def test_wrong_requests_are_refused_in_words():
    graph = Graph.from_edges([0, 1], [1, 2], [1, 2])
    for reduce in ("median", "nearest", "nearest:0", ("histogram", [3, 1]), 5):
        with pytest.raises(OptionError):
            distances(graph, [0], reduce=reduce)
    with pytest.raises(VertexError):
        distances(graph, [0, 3])
    with pytest.raises(VertexError):
        distances(graph, [0], targets=[-1])
    with pytest.raises(VertexError):
        distances(graph, [0.5])
    with pytest.raises(OptionError):
        distances(graph, [0], pairs=[(0, 1)])
    with pytest.raises(OptionError):
        distances(graph, pairs=[(0, 1, 2)])
    with pytest.raises(OptionError):
        distances(graph, [0], targets=[1], predecessors=True)
    with pytest.raises(OptionError):
        all_pairs(graph, sources=[0])
    with pytest.raises(OptionError):
        distances(graph, [0], block=0)
    with pytest.raises(OptionError):
        LaneOptions(width=7)
    with pytest.raises(OptionError):
        WorkerOptions(queue="stack")


def test_memory_is_refused_before_it_is_taken():
    graph = Graph.from_edges([0], [1], [1], n_vertices=200_000)
    with pytest.raises(OutOfMemoryError) as caught:
        all_pairs(graph, memory=2**30)
    assert caught.value.needed > 4 * 200_000**2
    assert "reduce" in str(caught.value)
    counts = distances(graph, [0, 1], reduce="count", memory=2**30)
    assert counts.tolist() == [1, 0]


def test_predecessors_and_empty_requests():
    rng = np.random.default_rng(9)
    graph = random_graph(rng, 40, 160, np.int32)
    found, before = distances(graph, [3, 17], predecessors=True)
    for row, source in enumerate([3, 17]):
        single = nearfar.sssp(graph, source, predecessors=True)
        np.testing.assert_array_equal(before[row], single.predecessors)
        np.testing.assert_array_equal(found[row], single.distances)
    assert distances(graph, []).shape == (0, 40)
    assert all_pairs(Graph.from_edges([], [], n_vertices=0)).shape == (0, 0)
    assert distances(graph, pairs=[]).shape == (0,)


def test_vertex_names():
    graph = Graph.from_csr([0, 1, 2, 2], [1, 2], [4, 5], vertex_names=np.array(["a", "b", "c"]))
    assert distances(graph, ["a"], targets=["c", "b"]).tolist() == [[9, 4]]
    assert distances(graph, pairs=[("a", "c"), ("b", "c")]).tolist() == [9, 5]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_lanes_are_as_wide_as_the_heaviest_weight_needs(dtype):
    """Also if the caller's bound is wrong: rows that do not fit are repeated."""
    far = 2**28
    graph = Graph.from_csr([0, 1, 2, 2], [1, 2], np.array([7, far], dtype))
    sources = np.array([0, 1, 2], dtype=np.int32)
    want = singles(graph, sources)
    for heaviest, repeated in ((far, 0), (7, 2)):  # the source without edges needs no lane
        out = np.empty((3, 3), dtype)
        stats = _cpu.lanes(graph.view, sources, out, heaviest)
        assert stats["repeated_rows"] == repeated
        np.testing.assert_array_equal(out, want)


def test_wrong_arrays_are_refused_by_the_module():
    graph = Graph.from_edges([0, 1], [1, 2], [1, 2])
    out = np.empty((1, 3), dtype=np.int64)
    with pytest.raises(IndexError):
        _cpu.per_source(graph.view, np.array([3]), out, None, None, 1)
    with pytest.raises(IndexError):
        _cpu.lanes(graph.view, np.array([-1], dtype=np.int32), out, 2, None, None, 1.0, 0, 1)
    with pytest.raises(TypeError):
        _cpu.per_source(graph.view, np.array([0]), np.empty((1, 2), np.int64), None, None, 1)


@pytest.mark.data
def test_gnutella_rows():
    graph = nearfar.read(data_path("snap-johnson/p2p-Gnutella08.txt.xz"))
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 101, graph.n_edges).astype(np.int32)
    graph = Graph.from_csr(graph.indptr, graph.indices, weights)
    found = all_pairs(graph, method="lanes@cpu", threads=2)
    sample = rng.choice(graph.n_vertices, 40, replace=False)
    np.testing.assert_array_equal(found[sample], singles(graph, sample))


def test_auto_takes_lanes_for_small_worlds_and_single_searches_for_roads():
    rng = np.random.default_rng(1)
    social = Graph.from_edges(
        rng.integers(0, 5000, 40_000), rng.integers(0, 5000, 40_000), rng.integers(1, 9, 40_000)
    )
    stats = {}
    distances(social, range(200), device="cpu", threads=1, stats=stats)
    assert stats["engine"] == "lanes@cpu"
    side = 160
    v = np.arange(side * side).reshape(side, side)
    a = np.concatenate([v[:, :-1].ravel(), v[:-1].ravel()])
    b = np.concatenate([v[:, 1:].ravel(), v[1:].ravel()])
    grid = Graph.from_edges(a, b, rng.integers(1, 99, len(a)), directed=False)
    found = distances(grid, [0, 77] * 8, device="cpu", threads=1, stats=stats)
    assert stats["engine"] == "worker_per_source@cpu"
    np.testing.assert_array_equal(found[:2], singles(grid, [0, 77]))
    hops = grid.without_weights()
    found = distances(hops, [0, 77] * 8, device="cpu", threads=2, stats=stats)
    assert stats["engine"] == "breadth_first@cpu"
    assert stats["reason"].startswith("source by source: ")
    np.testing.assert_array_equal(found[:2], singles(hops, [0, 77]))


def test_a_worker_begins_every_search_with_the_first_width():
    """Regression: the buckets' width grew from one source to the next."""
    graph = nearfar.generate("grid", rows=200, columns=200, seed=1)
    counts = []
    for repeats in (1, 12):
        out = np.empty((repeats, graph.n_vertices), graph.weight_dtype)
        sources = np.zeros(repeats, np.int64)
        counts.append(_cpu.per_source(graph.view, sources, out, buckets=True)["vertices_processed"])
    assert counts[1] == 12 * counts[0]


@pytest.mark.parametrize("limit", [None, 500.0])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [5, 40])
def test_rows_are_the_same_whether_a_worker_searches_in_them_or_copies_them(count, threads, limit):
    """From four sources per worker on, a worker has its own distances."""
    graph = nearfar.generate("grid", rows=30, columns=30, seed=2)
    sources = np.arange(0, 900, 900 // count)[:count]
    found = distances(
        graph, sources, method="worker_per_source", queue="buckets", threads=threads, limit=limit
    )
    want = distances(graph, sources, method="dijkstra_binary_heap", limit=limit)
    np.testing.assert_array_equal(found, want)
    assert limit is None or (found == unreached_value(graph.weight_dtype)).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_calls_at_once_share_one_array_of_cleared_distances(dtype):
    """Distances that a call cleared serve the next one; calls at the same time have their own."""
    rng = np.random.default_rng(9)
    graph = random_graph(rng, 400, 2000, dtype)
    truth, none = singles(graph, range(400)), unreached_value(np.dtype(dtype))
    size = 400 * np.dtype(dtype).itemsize

    def calls(seed):
        rng = np.random.default_rng(seed)
        for trial in range(60):
            sources = rng.integers(0, 400, int(rng.integers(1, 9)))
            columns = rng.integers(0, 400, 3) if trial % 2 else None
            limit = truth[truth != none].max() * rng.random() if trial % 3 else None
            found = distances(
                graph, sources, targets=columns, limit=limit, threads=2, method="worker_per_source"
            )
            want = truth[sources] if columns is None else truth[sources][:, columns]
            if limit is not None:
                want = np.where(want > limit, none, want)
            np.testing.assert_array_equal(found, want)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(calls, range(8)))
    assert graph.view.cleared_bytes >= size
    before = graph.nbytes
    distances(graph, [1], targets=[2], method="worker_per_source")
    assert graph.nbytes == before
