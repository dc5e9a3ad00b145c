"""Point queries on the emulated device: walks and tree labels, with device arrays."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.errors import (
    DistanceOverflowError,
    OptionError,
    OutOfMemoryError,
    VariantUnavailable,
    VertexError,
)
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.prepared.cuda.pairs import pairs as device_pairs
from nearfar.prepared.prepared import Prepared
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph, rows_of

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def same(found: object, truth: np.ndarray) -> None:
    """Check that integers are equal, or floats up to the order of additions."""
    given = runtime.download(found)
    assert given.dtype == truth.dtype
    if truth.dtype.kind == "f":
        np.testing.assert_allclose(given, truth, rtol=1e-5 if truth.itemsize == 4 else 1e-13)
    else:
        np.testing.assert_array_equal(given, truth)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_walks_and_labels(dtype, negative):
    """Directed, disconnected, symmetric weights, pairs of one vertex."""
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (9, 0), (70, 120), (60, 200)]:
        graph = random_graph(rng, n, m, dtype, negative=negative and n > 9)
        prepared = nearfar.prepare(graph, force=True)
        truth = rows_of(graph)
        pairs = rng.integers(0, n, (77, 2))
        wanted = truth[pairs[:, 0], pairs[:, 1]]
        there = runtime.cupy().asarray(pairs)
        on_host = prepared.distances_of_pairs(pairs, device="cpu")
        for asked in (prepared, prepared.label(device="cuda")):
            found = asked.distances_of_pairs(there).get()
            assert found.dtype == on_host.dtype == wanted.dtype
            np.testing.assert_array_equal(found, on_host)
            found = asked.distances_of_pairs(there, sums="search").get()
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 1000])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_symmetric_weights_and_batches(dtype, count):
    graph = generate("grid", rows=20, columns=21)
    graph = Graph(graph.indptr, graph.indices, np.ones(graph.n_edges, dtype=dtype))
    prepared = nearfar.prepare(graph, force=True)
    assert prepared.metric.sides == 1
    pairs = np.random.default_rng(count).integers(0, graph.n_vertices, (count, 2))
    wanted = prepared.distances_of_pairs(pairs, device="cpu")
    found = prepared.distances_of_pairs(pairs, device="cuda")
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, wanted)
    labels = prepared.label(device="cuda")
    assert labels.nbytes == prepared.label_bytes
    np.testing.assert_array_equal(labels.distances_of_pairs(pairs), wanted)
    narrow = runtime.cupy().asarray(pairs.astype(np.int32))
    np.testing.assert_array_equal(labels.distances_of_pairs(narrow).get(), wanted)
    again = prepared.distances_of_pairs(narrow, device="cpu")
    np.testing.assert_array_equal(again, wanted)


def path(weight: int, dtype: type, n: int = 40) -> Prepared:
    """Return a path of equal weights."""
    weights = np.full(n - 1, weight, dtype=dtype)
    return nearfar.prepare(Graph.from_edges(range(n - 1), range(1, n), weights), force=True)


def test_sums_that_do_not_fit_are_repeated_in_64_bits():
    prepared = path(2**28, np.int32)
    pairs = runtime.cupy().asarray(np.array([[0, 2], [0, 39], [39, 0]]))
    wanted = np.array([2**29, 39 * 2**28, np.iinfo(np.int64).max])
    for asked in (prepared, prepared.label(device="cuda")):
        same(asked.distances_of_pairs(pairs), wanted)
    narrow = prepared.distances_of_pairs(pairs[:1])
    assert narrow.dtype == np.int32
    with pytest.raises(DistanceOverflowError):
        path(2**62, np.int64).distances_of_pairs(pairs)


def test_names_and_what_is_not_a_vertex():
    graph = Graph.from_edges([0, 1], [1, 2], [4, 5], vertex_names=["a", "b", "c"], names=False)
    prepared = nearfar.prepare(graph, force=True)
    assert prepared.distances_of_pairs([("a", "c"), ("c", "a")], device="cuda")[0] == 9
    with pytest.raises(VertexError):
        prepared.distances_of_pairs([("a", "d")], device="cuda")
    numbered = path(3, np.int32)
    cp = runtime.cupy()
    with pytest.raises(VertexError, match="target 40 of pair 1"):
        numbered.distances_of_pairs(cp.asarray(np.array([[0, 1], [2, 40]])))
    with pytest.raises(OptionError, match="per row"):
        numbered.distances_of_pairs(cp.asarray(np.array([0, 1])))
    with pytest.raises(OptionError, match="device is"):
        numbered.label(device="tpu")
    from_one = Graph.from_edges([0, 1], [1, 2], [4, 5], vertex_names=range(1, 4), names=False)
    there = cp.asarray(np.array([[1, 3]]))
    found = nearfar.prepare(from_one, force=True).distances_of_pairs(there)
    assert found.get().tolist() == [9]
    table = Graph.from_edges([0, 1], [1, 2], [4, 5], vertex_names=[70, 80, 90], names=False)
    there = cp.asarray(np.array([[70, 90]]))
    assert nearfar.prepare(table, force=True).distances_of_pairs(there).get().tolist() == [9]


def test_memory_is_asked_for_first(monkeypatch):
    prepared = path(3, np.int32)
    with pytest.raises(OutOfMemoryError, match="without labels"):
        prepared.label(10, device="cuda")
    monkeypatch.setattr(runtime, "memory", lambda: (100, 100))
    with pytest.raises(OutOfMemoryError, match="without labels"):
        prepared.label(device="cuda")
    with pytest.raises(OutOfMemoryError, match="device='cpu'"):
        prepared.distances_of_pairs([(0, 1)], device="cuda")


def test_a_tree_too_high_for_shared_memory(monkeypatch):
    prepared = path(3, np.int32)
    device = runtime.device()._replace(shared_per_block=1030)
    monkeypatch.setattr(runtime, "device", lambda: device)
    with pytest.raises(VariantUnavailable, match="device='cpu'"):
        prepared.distances_of_pairs([(0, 1)], device="cuda")


def test_the_door_for_pairs_of_any_graph():
    prepared = path(3, np.int32)
    pairs = np.array([[0, 5], [7, 39], [5, 0]])
    wanted = nearfar.distances(prepared, pairs=pairs, device="cpu")
    stats = {}
    found = nearfar.distances(prepared, pairs=pairs, device="cuda", stats=stats)
    np.testing.assert_array_equal(found, wanted)
    assert "walk" in stats["reason"]
    there = nearfar.distances(prepared, pairs=runtime.cupy().asarray(pairs))
    np.testing.assert_array_equal(there.get(), wanted)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_several_devices_share_the_pairs(dtype, monkeypatch):
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: 3)
    monkeypatch.setattr(device_pairs, "_LEAST_SHARE", 8)
    seen = set()
    walk = device_pairs._walk

    def see(prepared, starts, ends):
        seen.add((runtime.device().ordinal, len(starts)))
        return walk(prepared, starts, ends)

    monkeypatch.setattr(device_pairs, "_walk", see)
    graph = random_graph(np.random.default_rng(3), 60, 200, dtype)
    prepared = nearfar.prepare(graph, force=True)
    pairs = np.random.default_rng(1).integers(0, 60, (777, 2))
    wanted = prepared.distances_of_pairs(pairs, device="cpu")
    there = runtime.cupy().asarray(pairs)
    same(prepared.distances_of_pairs(there, devices="all"), wanted)
    assert {device for device, _ in seen} <= {0, 1, 2}
    assert max(count for _, count in seen) == 65
    same(nearfar.distances(prepared, pairs=pairs, device="cuda", devices=[0, 2]), wanted)
    with pytest.raises(OptionError, match="names 7"):
        prepared.distances_of_pairs(pairs, devices=[7])
    with pytest.raises(OptionError, match="device='cuda'"):
        prepared.distances_of_pairs(pairs, device="cpu", devices=[0])


def test_sums_that_do_not_fit_on_several_devices(monkeypatch):
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: 2)
    pairs = np.array([[0, 2], [0, 39], [39, 0]])
    wanted = np.array([2**29, 39 * 2**28, np.iinfo(np.int64).max])
    same(path(2**28, np.int32).distances_of_pairs(pairs, devices="all"), wanted)
