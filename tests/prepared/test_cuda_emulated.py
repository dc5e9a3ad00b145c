"""Sweeps over cells on the emulated device: their logic, not speed or order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import OptionError, OutOfMemoryError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.prepared.cells import PassShape, cut
from nearfar.prepared.cuda import DeviceTreeOptions
from nearfar.prepared.device_sweep import Sweep, padded
from nearfar.prepared.prepared import Prepared
from nearfar.solve.many import all_pairs, distances
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph, rows_of

METHOD = "elimination_tree_rows@cuda"

# One cell; one cell below a top; tops that fit no shared memory; wide and narrow threads.
SHAPES = {
    "one cell": ((500, 200, 32, 1),),
    "two passes": ((8, 12, 32, 1), (1000, 100, 64, 2)),
    "global top": ((8, 12, 32, 1),),
    "small cells": ((4, 6, 32, 1), (8, 10, 64, 2)),
    "several warps": ((16, 20, 64, 1), (1000, 200, 128, 2)),
}


def grid(dtype: Any, rows: int = 12, columns: int = 15) -> Graph:
    """A grid with other weights in each direction."""
    graph = generate("grid", rows=rows, columns=columns)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 50, graph.n_edges).astype(dtype)
    if np.dtype(dtype).kind == "f":
        weights = weights + rng.random(graph.n_edges).astype(dtype)
    return Graph(graph.indptr, graph.indices, weights)


def ready(dtype: Any) -> Prepared:
    """A prepared grid of 180 vertices."""
    return nearfar.prepare(grid(dtype), force=True)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_layout_of_every_shape(name, dtype):
    prepared = ready(dtype)
    n, count = prepared.n_vertices, 33
    sources = np.random.default_rng(2).integers(0, n, count)
    truth = distances(prepared, sources, method="elimination_tree_rows@cpu", exact=False)
    sweep = Sweep(prepared, tuple(PassShape(*shape) for shape in SHAPES[name]), count)
    host = sweep.cells.host
    assert host.n_global == (name in ("global top", "small cells"))
    cp = runtime.cupy()
    values = cp.empty((n, padded(count)), sweep.dtype)
    rows = cp.empty((count, n), prepared.weight_dtype)
    sweep.transposed(values, sweep.tree.label, rows)(sources)
    close(rows.get(), truth)
    sweep.columns(values, True)(sources)
    close(values.get()[:, :count].T.astype(dtype), truth)
    rows = cp.empty((count, n), prepared.weight_dtype)
    sweep.gathered(rows)(cp.asarray(sources))
    close(rows.get(), truth)


def close(found: Any, truth: Any) -> None:
    """The same integers; floats that were added in the same order, or nearly."""
    if truth.dtype.kind == "i":
        np.testing.assert_array_equal(found, truth)
    else:
        np.testing.assert_allclose(found, truth, rtol=1e-5 if truth.itemsize == 4 else 1e-13)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("count", [1, 31, 32, 33, 1000])
def test_batches(count):
    prepared = ready(np.int32)
    sources = np.random.default_rng(3).integers(0, prepared.n_vertices, count)
    truth = distances(prepared, sources, device="cpu")
    found = distances(prepared, sources, method=METHOD)
    np.testing.assert_array_equal(found, truth)
    parts = {}
    found = distances(prepared, sources, method=METHOD, sweep=128, stats=parts)
    np.testing.assert_array_equal(found, truth)
    assert parts["sweeps"] == -(-count // 128)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_graphs(dtype, negative):
    """Directed, disconnected, with loops and parallel edges; tables; the same bits as a search."""
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (9, 0), (9, 30), (70, 120)]:
        graph = random_graph(rng, n, m, dtype, negative=negative and n > 9)
        prepared = nearfar.prepare(graph, force=True)
        truth = rows_of(graph)
        np.testing.assert_array_equal(all_pairs(prepared, method=METHOD), truth)
        sources, columns = rng.integers(0, n, 7), rng.integers(0, n, 5)
        found = distances(prepared, sources, targets=columns, method=METHOD)
        np.testing.assert_array_equal(found, truth[np.ix_(sources, columns)])


@pytest.mark.usefixtures("emulated_gpu")
def test_sums_that_do_not_fit_are_repeated_in_64_bits():
    n = 40
    weights = np.full(n - 1, 2**28, dtype=np.int32)
    path = nearfar.prepare(Graph.from_edges(range(n - 1), range(1, n), weights), force=True)
    stats = {}
    found = all_pairs(path, method=METHOD, stats=stats)
    assert stats["repeated_in_64_bits"]
    np.testing.assert_array_equal(found[0], 2**28 * np.arange(n, dtype=np.int64))


@pytest.mark.usefixtures("emulated_gpu")
def test_answers_stay_on_the_device():
    prepared = ready(np.int32)
    out = runtime.cupy().empty((3, prepared.n_vertices), np.int32)
    found = distances(prepared, [5, 5, 0], method=METHOD, out=out)
    assert found is out
    np.testing.assert_array_equal(out.get(), distances(prepared, [5, 5, 0], device="cpu"))


@pytest.mark.usefixtures("emulated_gpu")
def test_memory_is_asked_for_first(monkeypatch):
    prepared = ready(np.int32)
    monkeypatch.setattr(runtime, "memory", lambda: (1000, 1000))
    with pytest.raises(OutOfMemoryError, match="device='cpu'"):
        distances(prepared, [0], method=METHOD)


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_cells_cover_the_tree_once(shapes, dtype):
    """Each arc has one place in the streams, each vertex is written once, and slots suffice."""
    prepared = ready(dtype)
    down, n = prepared.metric.down, prepared.n_vertices
    limits = tuple(PassShape(*shape) for shape in shapes)
    cells = cut(prepared.preparation.view, down, limits)
    places = np.concatenate([cells.weight_at, cells.far_at])
    assert len(np.unique(places)) == len(places)
    assert places.min() > 0
    assert cells.cells[:, 6].sum() == n
    sizes = zip(limits + limits[-1:] * cells.n_passes, range(cells.n_passes), strict=False)
    for limit, number in sizes:
        if number < cells.n_passes - cells.n_global:
            mine = cells.cells[cells.pass_first[number] : cells.pass_first[number + 1]]
            assert mine[:, 6].max() <= limit.members
            assert mine[:, 7].max() <= limit.slots
    vertex = prepared.preparation.tree.vertex
    written = np.concatenate([cells.ordered[1::2], vertex[cells.loose]])
    np.testing.assert_array_equal(np.sort(written), np.arange(n))
    bottom = n - len(cells.upper)
    assert bottom == cells.cells[: cells.pass_first[1], 6].sum()


def test_a_part_of_a_tree():
    prepared = ready(np.int32)
    tree, down = prepared.preparation.tree, prepared.metric.down
    active = np.zeros(prepared.n_vertices, dtype=np.uint8)
    for label in (3, 90):
        while label >= 0:
            active[label] = 1
            label = tree.parent[label]
    cells = cut(prepared.preparation.view, down, (PassShape(8, 12, 32, 1),), active)
    assert cells.cells[:, 6].sum() == active.sum()
    labels = np.repeat(np.arange(prepared.n_vertices), np.diff(down.first))
    np.testing.assert_array_equal(cells.weight_at >= 0, active[labels] == 1)


@pytest.mark.parametrize("wrong", [(0, 1, 32, 1), (8, 8, 48, 1), (8, 2**15, 32, 1)])
def test_shapes_that_cannot_be(wrong):
    with pytest.raises(OptionError):
        PassShape(*wrong)


def test_options_have_defaults():
    assert DeviceTreeOptions() == DeviceTreeOptions(exact=True, sweep=0)
