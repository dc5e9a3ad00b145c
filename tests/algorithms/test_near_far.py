"""The near-far family: sequential forms counted by hand, CUDA forms on the emulated device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.near_far.one_launch import driver, ranges
from nearfar.algorithms.near_far.one_launch.forms import Form
from nearfar.cuda.device_graph import DEVICE_GRAPH, DeviceGraph
from nearfar.cuda.graph.row_heads import RowHeads
from nearfar.errors import OptionError
from nearfar.graph.build import HostArrays
from nearfar.graph.delta import paper_delta
from nearfar.papers.davidson_2014.near_far.options import TRAVERSALS
from nearfar.registry import Request, registered
from tests import oracle
from tests.covering import each_value
from tests.zoo import ZOO, as_dtype

CUDA = ("workfront_sweep", "near_far_host_loop", "hybrid_sweep", "bucketing")
CPU = ("workfront_sweep", "near_far", "bucketing")


def random_graph(n: int, m: int, dtype: str, heaviest: int = 99, seed: int = 3) -> Graph:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, heaviest + 1, m)
    return Graph.from_edges(
        rng.integers(0, n, m),
        rng.integers(0, n, m),
        None if dtype == "unweighted" else weights.astype(dtype),
        n_vertices=n,
    )


def test_sweep_counts_a_path() -> None:
    """On a path every iteration has one vertex and one edge; the last vertex has no edge."""
    graph = ZOO["path"]()
    stats = nearfar.sssp(graph, 0, method="workfront_sweep@cpu", trace=True).stats
    assert stats["iterations"] == graph.n_vertices
    assert stats["edges_relaxed"] == graph.n_vertices - 1
    assert (stats["frontier"] == 1).all()
    assert stats["labelled"].tolist() == [1] * (graph.n_vertices - 1) + [0]
    assert stats["final"].sum() == graph.n_vertices
    assert stats["average_parallelism"] == 1.0


def test_near_far_saves_the_work_that_the_sweep_wastes() -> None:
    """A heavy shortcut first gives a long tail wrong distances, so the sweep walks it twice."""
    tail = [(v, v + 1, 1) for v in range(10, 60)]
    graph = Graph.from_edges(
        *zip(*[(v, v + 1, 1) for v in range(10)], (0, 10, 50), *tail, strict=True),
        n_vertices=61,
    )
    sweep = nearfar.sssp(graph, 0, method="workfront_sweep@cpu").stats
    near_far = nearfar.sssp(graph, 0, method="near_far@cpu", delta=20).stats
    assert sweep["edges_relaxed"] > 1.6 * near_far["edges_relaxed"]
    assert near_far["edges_relaxed"] == graph.n_edges
    assert near_far["splits"] >= 2


@pytest.mark.parametrize("method", CPU)
def test_records_add_up(method: str) -> None:
    graph = random_graph(500, 4000, "int32")
    paths = nearfar.sssp(graph, 0, method=f"{method}@cpu", trace=True)
    stats = paths.stats
    assert len(stats["frontier"]) == stats["iterations"]
    assert stats["frontier"].sum() == stats["vertices_processed"]
    assert stats["edges"].sum() == stats["edges_relaxed"]
    assert stats["labelled"].sum() == paths.n_reached - 1
    assert stats["final"].sum() == paths.n_reached
    assert len(stats["seconds"]) == stats["iterations"]


def test_wider_buckets_are_more_work_and_fewer_iterations() -> None:
    graph = random_graph(3000, 30000, "int32")
    small, large = (
        nearfar.sssp(graph, 0, method="near_far@cpu", delta=delta).stats for delta in (2, 200)
    )
    assert small["edges_relaxed"] < large["edges_relaxed"]
    assert small["iterations"] > large["iterations"]


def test_paper_delta() -> None:
    graph = random_graph(100, 800, "float64")
    assert paper_delta(graph) == pytest.approx(32 * graph.mean_weight / 8)
    assert paper_delta(graph.astype("float32"), 0.25) == 0.25
    assert paper_delta(graph.astype("int32"), 0.25) == 1
    assert paper_delta(Graph.from_edges([], [], n_vertices=3)) == 1


@pytest.mark.parametrize(
    "options", [{"traversal": "diagonal"}, {"duplicates": "keep"}, {"delta": 0}]
)
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    from nearfar.papers.davidson_2014.near_far.options import NearFarOptions

    with pytest.raises(OptionError, match=next(iter(options))):
        NearFarOptions(**options)


def test_launch_shapes_leave_registers_for_wide_values() -> None:
    """Blocks per multiprocessor times threads; emulated blocks are smaller."""

    def ranges_shape(vertex: str, weight: str, sort: bool) -> tuple[int, int]:
        kinds = {"vertex_dtype": np.dtype(vertex), "weight_dtype": np.dtype(weight)}
        graph = cast(DeviceGraph, SimpleNamespace(**kinds))
        return tuple(ranges._launch_shape(graph, sort=sort).values())

    assert ranges_shape("int32", "int32", True) == (448, 2)
    assert ranges_shape("int32", "float32", False) == (384, 2)
    assert ranges_shape("int32", "int64", True) == (384, 2)
    assert ranges_shape("int32", "float64", False) == (512, 1)
    assert ranges_shape("int64", "int32", True) == (512, 1)
    rows, chains = (RowHeads(None, 8, 96, chains, 0.0) for chains in (False, True))
    shapes = {
        (Form("plain"), 8, None): (512, 1),
        (Form("plain"), 16, None): (512, 1),
        (Form("plain"), 8, rows): (512, 1),
        (Form("plain"), 8, chains): (384, 1),
        (Form("plain"), 16, rows): (256, 1),
        (Form("packed", bits=8), 8, None): (384, 2),
    }
    for given, shape in shapes.items():
        assert tuple(driver._launch_shape(*given).values()) == shape


# Every traversal by one method, and every method with two; the GPU suite has the full product.
WAYS = [("near_far_host_loop", traversal, "claim") for traversal in TRAVERSALS]
WAYS += [(method, "load_balanced", "owners") for method in CUDA]
WAYS += [
    ("workfront_sweep", "thread", "claim"),
    ("hybrid_sweep", "cta_warp_scan", "claim"),
    ("bucketing", "cooperative_blocks", "claim"),
]


@pytest.mark.parametrize(("method", "traversal", "duplicates"), WAYS)
def test_every_traversal(emulated_gpu: None, method: str, traversal: str, duplicates: str) -> None:
    """Zero weights, many splits, lists of every length class, and the switches of the hybrid."""
    graph = skewed(2500)
    options: dict[str, object] = {"traversal": traversal, "duplicates": duplicates}
    if method != "workfront_sweep":
        options["delta"] = 9
    paths = nearfar.sssp(graph, 0, method=f"{method}@cuda", **options)
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
    if method != "workfront_sweep":
        assert paths.stats["splits"] > 0


def skewed(n: int) -> Graph:
    """Return lists shorter than a warp, between a warp and a block, and longer than a block."""
    rng = np.random.default_rng(11)
    light = rng.integers(0, n, (2, 4 * n))
    hubs = [
        np.stack([np.full(d, v), rng.integers(0, n, d)]) for v, d in ((0, 1500), (7, 300), (9, 70))
    ]
    edges = np.concatenate([light, *hubs], axis=1)
    return Graph.from_edges(
        edges[0], edges[1], rng.integers(0, 60, edges.shape[1]).astype(np.int32), n_vertices=n
    )


# Each method with two dtypes, each dtype by two methods or three; the other tests have int32.
DTYPES = ("int64", "float32", "float64", "unweighted")
TYPED = each_value([*CUDA, "bellman_ford"], DTYPES)
TYPED += each_value([*CUDA, "bellman_ford"], [*DTYPES[2:], *DTYPES[:2]])


@pytest.mark.parametrize(("method", "dtype"), TYPED)
def test_every_dtype(emulated_gpu: None, method: str, dtype: str) -> None:
    graph = random_graph(400, 2400, dtype)
    paths = nearfar.sssp(graph, 0, method=f"{method}@cuda")
    want = oracle.dijkstra(graph, 0)
    assert paths.distances.dtype == want.dtype
    np.testing.assert_array_equal(paths.distances, want)


@pytest.mark.parametrize("method", [*CUDA, "bellman_ford"])
def test_zoo_on_the_emulated_device(emulated_gpu: None, method: str) -> None:
    for build in ZOO.values():
        graph = as_dtype(build(), "int32")
        if graph.n_edges > 6000:
            continue
        paths = nearfar.sssp(graph, 0, method=f"{method}@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))


@pytest.mark.parametrize("method", ["hybrid_sweep", "bucketing"])  # they run all kernels
def test_cuda_records_add_up(emulated_gpu: None, method: str) -> None:
    graph = random_graph(500, 4000, "int32")
    paths = nearfar.sssp(graph, 0, method=f"{method}@cuda", trace=True)
    stats = paths.stats
    assert len(stats["frontier"]) == stats["iterations"]
    assert stats["frontier"].sum() == stats["vertices_processed"]
    assert stats["edges"].sum() == stats["edges_relaxed"]
    assert stats["labelled"].sum() == paths.n_reached - 1
    assert stats["final"].sum() == paths.n_reached


@pytest.mark.parametrize("method", [*CUDA, "bellman_ford"])
def test_limit_on_the_emulated_device(emulated_gpu: None, method: str) -> None:
    graph = random_graph(400, 2400, "int32")
    want = oracle.dijkstra(graph, 0)
    limit = int(np.median(want[want < np.iinfo(np.int32).max]))
    paths = nearfar.sssp(graph, 0, method=f"{method}@cuda", limit=limit)
    np.testing.assert_array_equal(
        paths.distances, np.where(want <= limit, want, np.iinfo(np.int32).max)
    )


def test_wide_kernels_on_the_emulated_device(
    emulated_gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nearfar.cuda.device_graph import device_graph
    from nearfar.papers.davidson_2014.near_far import driver

    monkeypatch.setattr(driver, "device_graph", lambda graph: device_graph(graph, wide=True))
    graph = skewed(600)
    for method in ("hybrid_sweep", "bucketing"):  # they run all kernels
        paths = nearfar.sssp(graph, 0, method=f"{method}@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        assert DEVICE_GRAPH.get(graph, (0, True)).vertex_dtype == np.int64


@pytest.mark.parametrize(
    "method", ["workfront_sweep", "near_far_host_loop", "hybrid_sweep", "bucketing"]
)
def test_counts_beyond_their_bits_are_refused_in_words(method: str) -> None:
    """Only shapes are read, so views of one number replace large arrays."""
    variant = registered(f"{method}@cuda")
    assert variant is not None

    def shape(n: int, m: int, dtype: type) -> Graph:
        indptr = np.broadcast_to(np.zeros(1, dtype), n + 1)
        indices = np.broadcast_to(np.zeros(1, dtype), m)
        weights = np.broadcast_to(np.ones(1, np.int32), m)
        one = Graph.from_edges([0], [1], np.array([1], dtype=np.int32))
        return Graph.from_checked(HostArrays(indptr, indices, weights, one._scan))

    fits = [variant.fits(shape(n, 2**31, np.int64), Request()) for n in (2**28 - 1, 2**28)]
    assert fits[0] is True
    assert isinstance(fits[1], str)
    assert "2^28" in fits[1]
    assert "near_far@cuda" in fits[1]
    assert variant.fits(shape(2**28, 10, np.int32), Request()) is True
    assert "2^36" in str(variant.fits(shape(9, 2**36, np.int64), Request()))
