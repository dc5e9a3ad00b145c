"""Tables as a product over common ancestors, on the emulated device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import OutOfMemoryError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.prepared import variants_cuda as prepared_cuda
from nearfar.prepared.cuda.bottoms import table as device_table
from nearfar.prepared.cuda.bottoms.table import Table, table_pays
from nearfar.prepared.cuda.sinks import rows as device_rows
from nearfar.prepared.prepared import Prepared
from nearfar.solve.many import distances
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph
from tests.prepared.test_cuda_emulated import grid

pytestmark = pytest.mark.usefixtures("emulated_gpu")

METHOD = "elimination_tree_rows@cuda"


def table(prepared: Prepared, sources: Any, targets: Any, **given: Any) -> Any:
    """Return a table from the device; no sweep is built."""
    found = distances(prepared, sources, targets=targets, method=METHOD, **given)
    wanted = distances(prepared, sources, targets=targets, method="elimination_tree_rows@cpu")
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    return found


@pytest.fixture(autouse=True)
def no_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every table a product; rows of all vertices are an error."""

    def refuse(*_: Any) -> None:
        raise AssertionError("a sweep was made")

    monkeypatch.setattr(device_rows, "Sweep", refuse)
    monkeypatch.setattr(device_rows, "row_sweep", refuse)
    monkeypatch.setattr(prepared_cuda, "table_pays", lambda *_: True)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_graphs(dtype: Any, negative: bool) -> None:
    """Directed, disconnected, source and target equal, repeated vertices."""
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (9, 0), (9, 30), (70, 120), (60, 200)]:
        prepared = nearfar.prepare(
            random_graph(rng, n, m, dtype, negative=negative and n > 9), force=True
        )
        if prepared.adds_floats:  # negative, and not multiples of one step: whole rows
            continue
        table(prepared, rng.integers(0, n, 90), rng.integers(0, n, 70))
        table(prepared, range(n), range(n))


@pytest.mark.parametrize("count", [1, 31, 32, 33, 1000])
@pytest.mark.parametrize("width", [1, 63, 64, 65, 200])
def test_batches_of_sources_that_repeat(count: int, width: int) -> None:
    prepared = nearfar.prepare(grid(np.int32, 20, 30), force=True)
    rng = np.random.default_rng(count)
    sources, targets = rng.integers(0, 600, count), rng.integers(0, 600, width)
    stats: dict[str, Any] = {}
    table(prepared, sources, targets, sweep=128, stats=stats)
    assert stats["sweeps"] == -(-len(np.unique(sources)) // 128)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_tiles_that_overlap_and_tiles_that_do_not(dtype: Any) -> None:
    """Sources and targets from both ends of the order, and mixed."""
    graph = generate("grid", rows=30, columns=31)
    weights = np.random.default_rng(1).integers(0, 90, graph.n_edges).astype(dtype)
    prepared = nearfar.prepare(Graph(graph.indptr, graph.indices, weights), force=True)
    vertex = prepared.preparation.tree.vertex.astype(np.int64)
    low, high = vertex[:300], vertex[-300:]
    for sources, targets in ((low, high), (high, low), (vertex[::3], vertex[::2]), (low, low)):
        table(prepared, sources, targets)


def test_the_answer_goes_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: 3)
    prepared = nearfar.prepare(grid(np.int32), force=True)
    targets, sources = [170, 3, 3, 90], np.arange(0, 180, 2)
    wanted = distances(prepared, sources, targets=targets, method="elimination_tree_rows@cpu")
    out = runtime.cupy().empty((90, 4), np.int32)
    found = distances(prepared, sources, targets=targets, method=METHOD, out=out)
    assert found is out
    np.testing.assert_array_equal(out.get(), wanted)
    np.testing.assert_array_equal(table(prepared, sources, targets, devices="all"), wanted)
    first = table(prepared, sources, targets)
    for _ in range(5):
        np.testing.assert_array_equal(table(prepared, sources, targets), first)


def test_sums_that_do_not_fit_are_repeated_in_64_bits() -> None:
    n = 40
    weights = np.full(n - 1, 2**28, dtype=np.int32)
    prepared = nearfar.prepare(Graph.from_edges(range(n - 1), range(1, n), weights), force=True)
    found = table(prepared, [0, 30], [39, 3])
    assert found.tolist() == [[39 * 2**28, 3 * 2**28], [9 * 2**28, np.iinfo(np.int64).max]]


def test_when_a_product_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    assert table_pays(prepared, 10)
    assert not table_pays(prepared, 10**6)
    device = runtime.device()._replace(shared_per_block=1100)
    monkeypatch.setattr(device_table.runtime, "device", lambda: device)
    assert not table_pays(prepared, 10)


def test_memory_is_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    table(prepared, [1], [2])
    monkeypatch.setattr(runtime, "memory", lambda: (1000, 1000))
    with pytest.raises(OutOfMemoryError, match="fewer targets"):
        Table(prepared, np.arange(9), 100, "fewer targets")
