"""Reductions without stored rows on the emulated device: the bits of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import OutOfMemoryError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.prepared import variants_cuda as prepared_cuda
from nearfar.prepared.cuda.bottoms import leaves as device_tiles
from nearfar.prepared.cuda.bottoms.cells import Sweep
from nearfar.prepared.cuda.cut.cells import PassShape
from nearfar.prepared.cuda.sinks import reduction as device_reduction
from nearfar.prepared.cuda.sinks.reduction import DeviceReduction
from nearfar.prepared.prepared import Prepared
from nearfar.solve import Reduction
from nearfar.solve.many import all_pairs, distances
from nearfar.solve.rows.reductions import ReducingSink
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import random_graph
from tests.covering import each_value
from tests.prepared.test_cuda_emulated import grid

pytestmark = pytest.mark.usefixtures("emulated_gpu")

METHOD = "elimination_tree_rows@cuda"
KINDS = (
    *("count", "sum", "mean", "max", "summary", "harmonic", "nearest:3"),
    ("histogram", (0, 20, 55.5, 200)),
)


def same(found: Any, wanted: Any) -> None:
    """Check that bits are equal, in one array or several."""
    if isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
        return
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def compare(prepared: Prepared, sources: Any, kind: Any, fused: bool = True, **given: Any) -> None:
    """Compare a reduction on the device, without rows, with the CPU's from rows."""
    stats: dict[str, Any] = {}
    found = distances(prepared, sources, reduce=kind, method=METHOD, stats=stats, **given)
    given.pop("sweep", None)
    wanted = distances(prepared, sources, reduce=kind, method="elimination_tree_rows@cpu", **given)
    same(found, wanted)
    count = prepared.n_vertices if sources is None else len(np.unique(sources))
    # Different sums in fixed point may round to equal floats, whose ties are broken by vertex.
    fused &= prepared.fixed is None or not str(kind).startswith("nearest")
    assert stats.get("rows_never_made", 0) == (count if fused else 0)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_every_kind(dtype: Any, kind: Any) -> None:
    prepared = nearfar.prepare(grid(dtype), force=True)
    rng = np.random.default_rng(3)
    sources = rng.integers(0, prepared.n_vertices, 33)
    targets = rng.integers(0, prepared.n_vertices, 7)  # some of them twice
    compare(prepared, None, kind)
    compare(prepared, sources, kind, limit=60)
    compare(prepared, sources, kind, targets=targets)
    compare(prepared, sources, kind, targets=targets, limit=90.5)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_targets_too_many_for_a_product(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_cuda, "table_pays", lambda *_: False)
    prepared = nearfar.prepare(grid(np.int32), force=True)
    compare(prepared, [4, 170, 4], kind, targets=[5, 90, 5], limit=100)
    compare(prepared, [4, 170, 4], kind, targets=range(180))


@pytest.mark.parametrize("count", [1, 31, 32, 33, 1000])
@pytest.mark.parametrize("kind", ["summary", "nearest:2", ("histogram", (0, 30, 90))], ids=str)
def test_batches_of_sources_that_repeat(count: int, kind: Any) -> None:
    prepared = nearfar.prepare(grid(np.int32, 6, 7), force=True)
    sources = np.random.default_rng(count).integers(0, prepared.n_vertices, count)
    compare(prepared, sources, kind, sweep=128)


# Two dtypes for each kind: the tests above and below have each kind with each dtype.
@pytest.mark.parametrize(
    ("kind", "dtype"),
    each_value(KINDS, [np.int32, np.int64, np.float32, np.float64])
    + each_value(KINDS, [np.float32, np.float64, np.int32, np.int64]),
    ids=str,
)
def test_graphs_in_pieces(dtype: Any, kind: Any) -> None:
    """Directed, disconnected, with loops and parallel edges."""
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (9, 0), (70, 120)]:
        prepared = nearfar.prepare(random_graph(rng, n, m, dtype), force=True)
        compare(prepared, None, kind)
        compare(prepared, [0, n // 2, 0], kind, targets=[n - 1, 0, n // 3], limit=100)


@pytest.mark.parametrize("kind", [*KINDS[:6], ("histogram", (0.1, 0.5, 1.5))], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_as_the_sweep_adds_them(
    dtype: Any, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The distances of a sweep give the same bits as rows of them."""
    # rows from cells, since tiles add in another order
    monkeypatch.setattr(device_tiles, "_PAYS", -1)
    rng = np.random.default_rng(2)
    prepared = nearfar.prepare(random_graph(rng, 80, 260, dtype), force=True)
    stats: dict[str, Any] = {}
    given = {"reduce": kind, "method": METHOD, "limit": 2.25}
    found = distances(prepared, range(40), stats=stats, **given)
    assert stats["rows_never_made"] == 40
    sources, label = np.arange(40), prepared.preparation.tree.label
    made = DeviceReduction(prepared, Reduction.parse(kind), None, 2.25, 40)
    made(sources)
    values = made.query.values
    if len(values) < 80:
        rows = distances(prepared, sources, method=METHOD, limit=2.25)
    else:
        place = np.argsort(np.argsort(label[sources]))
        steps = values.get()[label[None, :], place[:, None]].astype(np.int64)
        assert prepared.fixed is not None
        rows = prepared.fixed.floats(steps, np.dtype(dtype))
        rows[rows > dtype(2.25)] = np.inf
    sink = ReducingSink(Reduction.parse(kind), sources, None, prepared)
    sink.start(rows.shape, rows.dtype)
    sink.put(0, 0, rows.copy())
    same(found, sink.finish())


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 129, 4097])
def test_halves_of_every_width(count: int) -> None:
    """Sums in the order of a row, with targets in any order."""
    prepared = nearfar.prepare(grid(np.int32, 6, 7), force=True)
    targets = np.random.default_rng(count).integers(0, 42, count)
    compare(prepared, [3, 41], "harmonic", targets=targets)
    path = nearfar.prepare(Graph.from_edges(range(count), range(1, count + 1)), force=True)
    compare(path, [0, count // 2], "harmonic")


@pytest.mark.parametrize("negative", [True, False])
def test_what_needs_rows(negative: bool) -> None:
    """Negative weights; more nearest or bins than fit."""
    rng = np.random.default_rng(5)
    prepared = nearfar.prepare(random_graph(rng, 60, 150, np.int32, negative), force=True)
    compare(prepared, range(20), "summary", not negative)
    compare(prepared, range(20), "nearest:32", not negative)
    compare(prepared, range(20), "nearest:33", False)
    compare(prepared, range(20), ("histogram", tuple(range(1000))), False)


def test_sums_that_do_not_fit_are_found_from_rows() -> None:
    n = 40
    weights = np.full(n - 1, 2**28, dtype=np.int32)
    prepared = nearfar.prepare(Graph.from_edges(range(n - 1), range(1, n), weights), force=True)
    for kind in KINDS[:-1]:
        compare(prepared, None, kind, False)
        compare(prepared, None, kind, limit=2**30)
        compare(prepared, [0, 3], kind, False, targets=[5, 39])
        compare(prepared, [30, 3], kind, targets=[35, 7][:1], limit=2**30)
    far = nearfar.prepare(Graph.from_edges([0, 1], [1, 2], [2**61, 2**61]), force=True)
    compare(far, None, "sum", False)


def test_edges_of_bins_beyond_what_a_distance_can_be() -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    edges = (-5.5, -1.0, 0.0, 0.25, 0.75, 3.0, 2.0**31, 1e30, np.inf)
    compare(prepared, range(9), ("histogram", edges))
    compare(prepared, range(9), ("histogram", (1.0, 9.0)), limit=0)


@pytest.mark.parametrize("shape", [(4, 6, 32, 1), (8, 12, 64, 2), (1, 1, 32, 1)], ids=str)
@pytest.mark.parametrize("top", [0, 64, 180])
def test_cells_of_every_size(top: int, shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of cells, a top that is the whole tree, no cells at all."""
    prepared = nearfar.prepare(grid(np.int32), force=True)
    made = PassShape(*shape)

    def sweep(prepared: Prepared, _: None, each: int) -> Sweep:
        return Sweep(prepared, made, each, top=top)

    monkeypatch.setattr(device_reduction, "Sweep", sweep)
    compare(prepared, range(50), "summary")


def test_many_slices_of_few_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices divide the vertices if few sources leave the device idle."""
    monkeypatch.setattr(device_reduction, "_LEAST_SLICE", 16)
    prepared = nearfar.prepare(grid(np.int32), force=True)
    for kind in KINDS:
        compare(prepared, [4, 9, 4], kind)
        compare(prepared, [4, 9], kind, targets=range(0, 180, 2))


@pytest.mark.parametrize("rows", [60, pytest.param(200, marks=pytest.mark.slow)])
def test_many_cells(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand cells, and more than ten thousand."""
    graph = generate("grid", rows=rows, columns=rows)
    weights = np.random.default_rng(1).integers(1, 90, graph.n_edges).astype(np.int32)
    prepared = nearfar.prepare(Graph(graph.indptr, graph.indices, weights))
    made = Sweep(prepared, PassShape(1, 60, 32, 1), 3, top=64)
    assert len(made.cells.host.cells) >= rows * rows // 4
    monkeypatch.setattr(device_reduction, "Sweep", lambda *_: made)
    sources = np.array([7, rows * rows - 1000, 7])
    query = made.columns(3, by_vertex=True)
    query(sources)
    truth = distances(prepared, sources, device="cpu")
    np.testing.assert_array_equal(query.values.get()[:, :3].T, truth)
    compare(prepared, sources, "summary")


def test_repeats_are_bit_equal() -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    first = all_pairs(prepared, method=METHOD, reduce="mean")
    for _ in range(5):
        same(all_pairs(prepared, method=METHOD, reduce="mean"), first)


def test_a_plan_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Successive calls of one form with other sources reuse it; its distances are released."""
    made: list[DeviceReduction] = []
    begin = DeviceReduction.__init__

    def noted(self: DeviceReduction, *given: Any) -> None:
        made.append(self)
        begin(self, *given)

    monkeypatch.setattr(DeviceReduction, "__init__", noted)
    prepared = nearfar.prepare(grid(np.int32), force=True)
    for sources in (range(40), [9, 4, 9], range(100, 140)):
        compare(prepared, sources, "summary")
        assert made[-1].query.values is None
    assert len(made) == 1
    compare(prepared, range(40), "summary", limit=60)
    compare(prepared, range(40), "max", limit=60)
    assert len(made) == 3
    compare(prepared, range(40), "nearest:2")  # a plan with much memory
    assert made[-1].query.values is not None
    compare(prepared, range(40), "nearest:2")
    assert len(made) == 5
    compare(prepared, range(40), "max")
    need = runtime.require_memory

    def scarce(needed: int, advice: str = "") -> None:
        if len(made) == 6 and needed == values:
            raise OutOfMemoryError(needed, needed - 1, advice)
        need(needed, advice)

    values = made[-1].query.n_rows * made[-1].pitch * 4
    monkeypatch.setattr(runtime, "require_memory", scarce)
    compare(prepared, range(40), "max")  # a smaller plan may fit
    assert len(made) == 7


def test_progress_and_blocks() -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    seen: list[tuple[float, float]] = []
    found = all_pairs(
        prepared, method=METHOD, reduce="mean", block=70, progress=lambda *now: seen.append(now)
    )
    assert seen[-3:] == [(70, 180), (140, 180), (180, 180)]
    same(found, all_pairs(prepared, reduce="mean", device="cpu"))


def test_results_stay_on_the_device() -> None:
    host = grid(np.int32)
    cp = runtime.cupy()
    there = [cp.asarray(array) for array in (host.indptr, host.indices, host.weights)]
    prepared = nearfar.prepare(host, force=True).reweight(there[2])
    assert prepared.on_device
    for kind in KINDS:
        found = distances(prepared, [5, 9], reduce=kind, method=METHOD)
        wanted = distances(host, [5, 9], reduce=kind, device="cpu")
        for one, other in zip(
            found if isinstance(found, tuple) else (found,),
            wanted if isinstance(wanted, tuple) else (wanted,),
            strict=True,
        ):
            assert runtime.is_device_array(one)
            same(runtime.download(one), other)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_several_devices_share_the_rows(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: 3)
    prepared = nearfar.prepare(grid(np.int32), force=True)
    stats: dict[str, Any] = {}
    given: dict[str, Any] = {"reduce": kind, "targets": [5, 90, 5]}
    found = distances(prepared, range(100), method=METHOD, devices="all", stats=stats, **given)
    same(found, distances(prepared, range(100), device="cpu", **given))
    assert stats["devices"] == [0, 1, 2]
    assert stats["rows_never_made"] == 100
    table = distances(prepared, range(100), method=METHOD, devices="all", targets=[5, 90, 5])
    np.testing.assert_array_equal(
        table, distances(prepared, range(100), device="cpu", targets=[5, 90, 5])
    )


def test_memory_is_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = nearfar.prepare(grid(np.int32), force=True)
    Sweep(prepared, None, 2)  # uploads the tree
    monkeypatch.setattr(runtime, "memory", lambda: (1000, 1000))
    with pytest.raises(OutOfMemoryError, match="fewer sources per block"):
        DeviceReduction(prepared, Reduction.parse("mean"), None, None, 2)
