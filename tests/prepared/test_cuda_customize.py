"""Customization on the emulated device: the CPU's numbers, and later downloads."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import GraphError, NegativeCycleError, OutOfMemoryError
from nearfar.generators import generate
from nearfar.prepared.cuda.metric import arcs as device_arcs
from nearfar.prepared.cuda.metric import customize as device_customize
from nearfar.prepared.cuda.metric.metric import DeviceMetric
from nearfar.prepared.prepared import Prepared
from nearfar.solve.many import distances
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph, rows_of
from tests.covering import pairwise

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def there(array: np.ndarray) -> Any:
    """Return the array on the device."""
    return runtime.cupy().asarray(array)


def same_metric(found: Prepared, wanted: Prepared) -> None:
    """Check that weights of arcs are equal, and that the same arcs are kept for queries."""
    assert isinstance(found.metric, DeviceMetric)
    assert found.metric.sides == wanted.metric.sides
    np.testing.assert_array_equal(found.metric.weights, wanted.metric.weights)
    for mine, its in ((found.metric.up, wanted.metric.up), (found.metric.down, wanted.metric.down)):
        np.testing.assert_array_equal(mine.first, its.first)
        np.testing.assert_array_equal(mine.head_depth, its.head_depth)
        np.testing.assert_array_equal(mine.weight, its.weight)


@pytest.mark.parametrize(
    ("dtype", "kind", "perfect"),
    pairwise(DTYPES, ["directed", "symmetric", "zeros"], [True, False]),
)
def test_the_weights_of_the_cpu(dtype, kind, perfect):
    graph = generate("grid", rows=11, columns=13)
    rng = np.random.default_rng(3)
    weights = rng.integers(0 if kind == "zeros" else 1, 9, graph.n_edges)
    if kind == "symmetric":
        pair = np.sort(np.stack([graph.tails(), graph.indices]), axis=0)
        weights = 1 + (pair[0] * 7 + pair[1] * 3) % 11
    prepared = nearfar.prepare(graph, force=True, perfect=perfect)
    weights = weights.astype(dtype)
    wanted = prepared.reweight(weights)
    found = prepared.reweight(there(weights))
    same_metric(found, wanted)
    assert found.metric.sides == 1 + (kind != "symmetric")
    sources = rng.integers(0, graph.n_vertices, 40)
    rows = distances(found, sources, method="elimination_tree_rows@cuda")
    truth = distances(wanted, sources, device="cpu")
    np.testing.assert_array_equal(rows.get(), truth)


@pytest.mark.parametrize("crowded", [0, 3, 10**9])
@pytest.mark.parametrize("rest", [0, 2, 5, 10**9])
def test_without_memory_for_third_sides(crowded, rest, monkeypatch):
    """Third sides are searched each time; lanes per arc and blocks per level vary."""
    monkeypatch.setattr(device_arcs, "_ROOM", 2**40)

    def cuts(sizes, metrics):
        assert metrics == 1
        return min(crowded, len(sizes)), min(rest, len(sizes))

    monkeypatch.setattr(device_customize, "_cuts", cuts)
    prepared = grid()
    weights = np.random.default_rng(6).integers(1, 9, prepared.n_edges).astype(np.int32)
    found = prepared.reweight(there(weights))
    assert found.metric.structure.levels["third"] is None
    same_metric(found, prepared.reweight(weights))


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_graphs_and_negative_integers(dtype):
    rng = np.random.default_rng(4)
    for n, m in [(1, 0), (9, 0), (9, 30), (70, 120)]:
        negative = np.dtype(dtype).kind == "i" and n > 9
        graph = random_graph(rng, n, m, dtype, negative=negative)
        prepared = nearfar.prepare(graph, force=True)
        found = prepared.reweight(there(graph.effective_weights))
        same_metric(found, prepared)
        given = {"method": "elimination_tree_rows@cuda"}
        if prepared.fixed is not None:
            assert found.fixed is not None
            assert found.describe_preparation()["step"] == prepared.fixed.step
            rows = distances(found, range(n), **given)
            host = distances(prepared, range(n), method="elimination_tree_rows@cpu")
            np.testing.assert_array_equal(rows.get(), host)
            given["sums"] = "search"
        rows = distances(found, range(n), **given)
        np.testing.assert_array_equal(rows.get(), rows_of(graph))


def grid() -> Prepared:
    """Return a prepared grid."""
    return nearfar.prepare(generate("grid", rows=9, columns=9), force=True)


def test_several_metrics_at_once():
    prepared = grid()
    weights = np.random.default_rng(1).integers(1, 50, (5, prepared.n_edges)).astype(np.int32)
    for found, one in zip(prepared.reweight_each(there(weights)), weights, strict=True):
        same_metric(found, prepared.reweight(one))
    for found, one in zip(prepared.reweight_each(weights), weights, strict=True):
        np.testing.assert_array_equal(found.metric.weights, prepared.reweight(one).metric.weights)
    with pytest.raises(GraphError, match="one row per metric"):
        prepared.reweight_each(weights[0])
    assert prepared.reweight_each(there(weights[:0])) == []


def test_later_weights_share_the_cells():
    prepared = grid()
    rng = np.random.default_rng(2)
    found = prepared
    for _ in range(3):
        weights = rng.integers(1, 50, prepared.n_edges).astype(np.int32)
        found = found.reweight(there(weights))
        rows = distances(found, range(40), method="elimination_tree_rows@cuda")
        truth = distances(prepared.reweight(weights), range(40), device="cpu")
        np.testing.assert_array_equal(rows.get(), truth)
        pairs = rng.integers(0, 81, (50, 2))
        pairs[:, 0] %= 40
        wanted = truth[pairs[:, 0], pairs[:, 1]]
        np.testing.assert_array_equal(found.distances_of_pairs(pairs, device="cuda"), wanted)
        labels = found.label(device="cuda")
        np.testing.assert_array_equal(labels.distances_of_pairs(pairs), wanted)
    assert len(found.metric.structure.layouts) == 2  # tiles, and the labels above the cells


def test_what_the_host_does_with_it(tmp_path):
    prepared = grid()
    weights = np.random.default_rng(2).integers(1, 50, prepared.n_edges).astype(np.int32)
    found, wanted = prepared.reweight(there(weights)), prepared.reweight(weights)
    assert found.on_device
    assert found.distance(0, 80) == wanted.distance(0, 80)
    changed = found.update([3], [1])
    assert changed.distance(0, 80) == wanted.update([3], [1]).distance(0, 80)
    again = pickle.loads(pickle.dumps(found))
    assert again.distance(0, 80) == wanted.distance(0, 80)
    found.save(tmp_path / "a.nfp")
    assert nearfar.load(tmp_path / "a.nfp").distance(0, 80) == wanted.distance(0, 80)
    narrow = found.astype(np.int64)
    assert narrow.distance(0, 80) == wanted.distance(0, 80)


def test_weights_that_are_refused(monkeypatch):
    prepared = grid()
    weights = np.ones(prepared.n_edges)
    weights[5] = -1
    with pytest.raises(GraphError, match="edge 5 has a negative float weight"):
        prepared.reweight(there(weights))
    with pytest.raises(NegativeCycleError):
        prepared.reweight(there(np.where(weights < 0, -9, 1).astype(np.int32)))
    weights[5] = np.nan
    with pytest.raises(GraphError, match="5"):
        prepared.reweight(there(weights))
    with pytest.raises(GraphError):
        prepared.reweight(there(weights[:-1]))
    monkeypatch.setattr(runtime, "memory", lambda: (100, 100))
    with pytest.raises(OutOfMemoryError, match="host"):
        grid().reweight(there(np.ones(prepared.n_edges, dtype=np.int32)))
