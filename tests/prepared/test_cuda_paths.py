"""Paths of many pairs: the same edges on the emulated device as on the CPU."""

from __future__ import annotations

from typing import Any

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
from nearfar.graph.graph import Graph
from nearfar.prepared.cpu.pairs import PairPaths
from nearfar.prepared.cuda.pairs import paths as module
from nearfar.prepared.prepared import Prepared
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph
from tests.prepared.test_cuda_emulated import grid

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def same(found: PairPaths, wanted: PairPaths) -> None:
    """Check that pairs have the same edges."""
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def check(prepared: Prepared, pairs: Any) -> PairPaths:
    """Compare paths found on the device with single paths and their lengths."""
    found = prepared.paths_of_pairs(pairs, device="cuda")
    same(found, prepared.paths_of_pairs(pairs, device="cpu"))
    lengths = prepared.distances_of_pairs(pairs, device="cpu")
    for i, (source, target) in enumerate(np.asarray(pairs).tolist()):
        edges = found.edges[found.offsets[i] : found.offsets[i + 1]]
        if not found.reached[i]:
            assert len(edges) == 0
            continue
        np.testing.assert_array_equal(edges, prepared.path_edges(source, target))
        assert prepared.lengths(edges)[-1] == lengths[i]
    return found


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_graphs(dtype: Any, negative: bool) -> None:
    """Directed, disconnected, with loops and parallel edges; pairs of one vertex."""
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (9, 0), (70, 120), (60, 200)]:
        graph = random_graph(rng, n, m, dtype, negative=negative and n > 9)
        check(nearfar.prepare(graph, force=True), rng.integers(0, n, (77, 2)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("symmetric", [True, False])
def test_meshes_and_batches(dtype: Any, symmetric: bool) -> None:
    graph = grid(dtype, 20, 20)
    if symmetric:
        ends = np.sort(np.stack([graph.tails(), graph.indices]), axis=0)
        graph = Graph(graph.indptr, graph.indices, (1 + ends.sum(axis=0) % 7).astype(dtype))
    prepared = nearfar.prepare(graph, force=True)
    assert prepared.metric.sides == (1 if symmetric else 2)
    for count in (0, 1, 31, 32, 33, 1000):
        pairs = np.random.default_rng(count).integers(0, 400, (count, 2))
        found = prepared.paths_of_pairs(pairs, device="cuda")
        same(found, prepared.paths_of_pairs(pairs, device="cpu"))
        assert found.edges.dtype == np.int32
    check(prepared, np.random.default_rng(7).integers(0, 400, (60, 2)))


def test_many_equal_paths() -> None:
    """Weights of 0 and 1: the chosen shortest path does not depend on the device."""
    graph = grid(np.int32, 13, 14)
    weights = np.random.default_rng(5).integers(0, 2, graph.n_edges).astype(np.int32)
    prepared = nearfar.prepare(Graph(graph.indptr, graph.indices, weights), force=True)
    check(prepared, np.random.default_rng(1).integers(0, 182, (150, 2)))


def test_metrics_that_lie_on_the_device() -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    weights = np.random.default_rng(2).integers(1, 9, prepared.n_edges).astype(np.int32)
    there = prepared.reweight(runtime.cupy().asarray(weights))
    pairs = np.random.default_rng(1).integers(0, 180, (100, 2))
    same(
        there.paths_of_pairs(pairs, device="cuda"),
        prepared.reweight(weights).paths_of_pairs(pairs, device="cpu"),
    )


def test_arrays_stay_where_they_are() -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    pairs = np.array([[3, 170], [9, 9]])
    found = prepared.paths_of_pairs(runtime.cupy().asarray(pairs))
    assert all(runtime.is_device_array(part) for part in found)
    same(PairPaths(*map(runtime.download, found)), prepared.paths_of_pairs(pairs))
    floats = nearfar.prepare(grid(np.float64), force=True)
    found = floats.paths_of_pairs(runtime.cupy().asarray(pairs))
    assert all(runtime.is_device_array(part) for part in found)
    same(PairPaths(*map(runtime.download, found)), floats.paths_of_pairs(pairs))


def test_cycles_of_weight_0_are_left_out() -> None:
    rng = np.random.default_rng(5)
    for dtype in (np.int32, np.float64):
        for _ in range(6):
            weights = (rng.integers(0, 2, 60) * rng.integers(1, 4, 60)).astype(dtype)
            prepared = nearfar.prepare(
                Graph.from_edges(*rng.integers(0, 16, (2, 60)), weights, n_vertices=16), force=True
            )
            pairs = np.argwhere(np.ones((16, 16)))
            wanted = prepared.paths_of_pairs(pairs, device="cpu")
            same(prepared.paths_of_pairs(pairs, device="cuda"), wanted)
            found = prepared.paths_of_pairs(runtime.cupy().asarray(pairs))
            same(PairPaths(*map(runtime.download, found)), wanted)


def test_sums_that_need_64_bits_or_more() -> None:
    ends = range(39), range(1, 40)
    for weight, dtype in ((2**28, np.int32), (2**61, np.int64)):
        prepared = nearfar.prepare(Graph.from_edges(*ends, np.full(39, weight, dtype)), force=True)
        pairs = [(0, 39), (39, 0), (5, 7)]
        if dtype == np.int64:
            for device in ("cuda", "cpu"):
                with pytest.raises(DistanceOverflowError):
                    prepared.paths_of_pairs(pairs, device=device)
            pairs = pairs[1:]
        found = prepared.paths_of_pairs(pairs, device="cuda")
        same(found, prepared.paths_of_pairs(pairs, device="cpu"))
        assert np.diff(found.offsets).tolist() == [39, 0, 2] if weight == 2**28 else True


def test_parts_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    pairs = np.random.default_rng(1).integers(0, 180, (100, 2))
    wanted = prepared.paths_of_pairs(pairs, device="cuda")
    height = prepared.preparation.figures.height
    monkeypatch.setattr(runtime, "memory", lambda: (64 * 7 * height, 1 << 30))
    same(prepared.paths_of_pairs(pairs, device="cuda"), wanted)
    monkeypatch.setattr(runtime, "memory", lambda: (10, 10))
    with pytest.raises(OutOfMemoryError, match="fewer pairs"):
        prepared.paths_of_pairs(pairs, device="cuda")


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    for device in ("cpu", "cuda"):
        with pytest.raises(VertexError):
            prepared.paths_of_pairs([(0, 180)], device=device)  # type: ignore[arg-type]
        with pytest.raises(OptionError):
            prepared.paths_of_pairs(np.zeros((2, 3), np.int64), device=device)  # type: ignore[arg-type]
    small = runtime.device()._replace(shared_per_block=1030)
    monkeypatch.setattr(module.runtime, "device", lambda: small)
    with pytest.raises(VariantUnavailable, match="device='cpu'"):
        prepared.paths_of_pairs([(0, 1)], device="cuda")
