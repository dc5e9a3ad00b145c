"""Sweeps over cells on the emulated device: logic, not speed or order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.cuda.device_graph import far_value
from nearfar.errors import OptionError, OutOfMemoryError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.prepared.cuda import shapes as device_shapes
from nearfar.prepared.cuda.bottoms import leaves as device_tiles
from nearfar.prepared.cuda.bottoms.cells import Sweep
from nearfar.prepared.cuda.bottoms.leaves import TileSweep, row_sweep
from nearfar.prepared.cuda.cut.cells import PassShape, cut
from nearfar.prepared.cuda.cut.pieces import cut_pieces, ways_up
from nearfar.prepared.cuda.cut.tiles import LeafShape
from nearfar.prepared.cuda.device import factor_bytes
from nearfar.prepared.cuda.fronts import above as device_above
from nearfar.prepared.cuda.query import to_rows
from nearfar.prepared.cuda.shapes import padded
from nearfar.prepared.prepared import Prepared
from nearfar.prepared.variants_cuda import DeviceTreeOptions
from nearfar.solve.many import all_pairs, distances
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph, rows_of

METHOD = "elimination_tree_rows@cuda"

# One cell; cells below pieces of all sizes; wide and narrow threads.
SHAPES = {
    "one cell": (500, 200, 32, 1),
    "small cells": (8, 12, 32, 1),
    "tiny cells": (4, 6, 32, 1),
    "columns": (40, 40, 64, 2),
    "several warps": (16, 20, 64, 1),
    "no cells": (1, 1, 32, 1),
}


def grid(dtype: Any, rows: int = 12, columns: int = 15) -> Graph:
    """Return a grid with different weights in each direction."""
    graph = generate("grid", rows=rows, columns=columns)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 50, graph.n_edges).astype(dtype)
    if np.dtype(dtype).kind == "f":
        weights = weights + rng.random(graph.n_edges).astype(dtype)
    return Graph(graph.indptr, graph.indices, weights)


def ready(dtype: Any, columns: int = 15) -> Prepared:
    """Return a prepared grid of 180 vertices."""
    return nearfar.prepare(grid(dtype, columns=columns), force=True)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize(
    ("name", "dtype", "count"),
    [
        *((name, np.int32, 33 + 487 * (i % 2)) for i, name in enumerate(SHAPES) if i != 2),
        *(("tiny cells", dtype, count) for dtype in DTYPES for count in (33, 520)),
    ],
)
def test_every_layout_of_every_shape(name, dtype, count):
    prepared = ready(dtype)
    n = prepared.n_vertices
    sources = np.random.default_rng(2).integers(0, n, count)
    truth = distances(prepared, sources, method="elimination_tree_rows@cpu")
    sweep = Sweep(prepared, PassShape(*SHAPES[name]), count, top=0)
    assert (sweep.above.held.pieces.host.n_levels == 0) == (name == "one cell")
    assert (len(sweep.cells.host.cells) == 0) == (name == "no cells")
    cp = runtime.cupy()
    rows = cp.empty((count, n), prepared.weight_dtype)
    sweep.rows(count)(sources, rows)
    close(rows.get(), truth)
    query = sweep.columns(count, True)
    query(sources)
    columns = query.values.get()[:, :count].T
    if prepared.fixed is not None:
        columns = prepared.fixed.floats(columns.astype(np.int64), np.dtype(dtype))
    close(columns.astype(dtype), truth)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize(
    ("members", "bound", "dtype"),
    [
        *((*leaf, np.int32) for leaf in [(500, 16), (20, 9), (64, 16), (1, 0), (3, 4)]),
        *((20, 9, dtype) for dtype in DTYPES[1:]),
        (64, 16, np.float64),
    ],
)
def test_rows_by_tiles(members, bound, dtype):
    """Leaves of every size: all, some and none of the vertices; sources within and above them."""
    prepared = ready(dtype)
    n = prepared.n_vertices
    for count in (n, 33):
        sources = np.random.default_rng(2).permutation(n)[:count]
        truth = distances(prepared, sources, method="elimination_tree_rows@cpu")
        sweep = TileSweep(prepared, LeafShape(members, bound), top=0)
        rows = runtime.cupy().empty((count, n), prepared.weight_dtype)
        sweep.rows(count)(sources, rows)
        close(rows.get(), truth)
        assert (sweep.n_kept == 0) == (members == 500)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("columns", [10, 13, 14, 15, 16])
@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_rows_that_begin_anywhere(columns, ahead, dtype):
    """Memory is written in sectors of 32 bytes, but nothing outside the rows."""
    prepared = ready(dtype, columns)
    n, count = prepared.n_vertices, 37
    sources = np.random.default_rng(3).integers(0, n, count)
    sweep = TileSweep(prepared, LeafShape(20, 9), top=0)
    assert (sweep.margin == 0) == (n * np.dtype(dtype).itemsize % 32 == 0)
    whole = runtime.cupy().full(ahead + count * n + 9, 7, prepared.weight_dtype)
    sweep.rows(count)(sources, whole[ahead : ahead + count * n].reshape(count, n))
    truth = distances(prepared, sources, method="elimination_tree_rows@cpu")
    found = whole.get()
    close(found[ahead : ahead + count * n].reshape(count, n), truth)
    assert (found[:ahead] == 7).all()
    assert (found[ahead + count * n :] == 7).all()


@pytest.mark.usefixtures("emulated_gpu")
def test_more_sources_than_tiles_can_name(monkeypatch):
    """A block then has fewer sources; a larger request is refused with the maximum."""
    prepared = ready(np.int32)
    monkeypatch.setattr(TileSweep, "most_sources", 128)
    sources = np.arange(prepared.n_vertices)
    stats = {}
    found = distances(prepared, sources, method=METHOD, stats=stats)
    assert stats["sweeps"] == 2
    np.testing.assert_array_equal(found, distances(prepared, sources, device="cpu"))
    with pytest.raises(OptionError, match="sweep= at most 128"):
        distances(prepared, sources, method=METHOD, sweep=256)


@pytest.mark.usefixtures("emulated_gpu")
def test_rows_of_vertices_without_order_are_transposed(monkeypatch):
    """Tiles are for graphs in which neighbours have close numbers."""
    graph = grid(np.int32, 60, 80)
    new = np.random.default_rng(1).permutation(graph.n_vertices)
    mixed = Graph.from_edges(new[graph.tails()], new[graph.indices], graph.weights)
    ordered, mixed = (nearfar.prepare(each, force=True) for each in (graph, mixed))
    few, many = (len(TileSweep(each).tiles.host.rows) for each in (ordered, mixed))
    assert many > 1.5 * few
    monkeypatch.setattr(device_tiles, "_PAYS", 1.2 * few / graph.n_vertices)
    assert isinstance(row_sweep(ordered, 100), TileSweep)
    assert isinstance(row_sweep(mixed, 100), Sweep)
    found = distances(mixed, [3, 5], method=METHOD)
    np.testing.assert_array_equal(found, distances(mixed, [3, 5], device="cpu"))


def close(found: Any, truth: Any) -> None:
    """Check that integers are equal, and floats equal up to the order of additions."""
    if truth.dtype.kind == "i":
        np.testing.assert_array_equal(found, truth)
    else:
        np.testing.assert_allclose(found, truth, rtol=1e-5 if truth.itemsize == 4 else 1e-13)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize(
    ("top", "count", "dtype"),
    [
        (1, 7, np.int32),
        (64, 40, np.int64),
        (100, 520, np.int32),
        (100, 520, np.float64),
        (180, 33, np.int32),
    ],
)
def test_tops(top, count, dtype):
    """Tops of every size, up to the whole tree, for few sources and for many."""
    prepared = ready(dtype)
    n = prepared.n_vertices
    sources = np.random.default_rng(4).integers(0, n, count)
    sweep = Sweep(prepared, PassShape(8, 60, 32, 1), count, top=top)
    assert (sweep.above.held.pieces.host.pieces[:, 7] == 1).sum() == 1
    assert (sweep.above.held.pieces.host.members >= 0).sum() >= top
    query = sweep.columns(count, True)
    query(sources)
    truth = distances(prepared, sources, method="elimination_tree_rows@cpu")
    found = query.values.get()[:, :count].T
    if prepared.fixed is not None:
        found = prepared.fixed.floats(found.astype(np.int64), np.dtype(dtype))
    close(found, truth)


@pytest.mark.usefixtures("emulated_gpu")
def test_levels_in_two_launches(monkeypatch):
    """Some of four levels are launched in another shape, each launch with its own counters."""
    prepared = ready(np.int32)
    monkeypatch.setattr(device_shapes, "ONE_LAUNCH", 0)
    monkeypatch.setattr(device_above, "_SHARED_OUT", 8)
    sources = np.arange(prepared.n_vertices)
    sweep = Sweep(prepared, PassShape(8, 60, 32, 1), len(sources), top=2)
    assert sweep.above.held.pieces.host.n_levels == 4
    query = sweep.columns(len(sources), True)
    names = [launch.kernel.name for launch in query.launches]
    assert names == ["climb", "upper", "upper", "sweep"]
    truth = distances(prepared, sources, method="elimination_tree_rows@cpu")
    for _ in range(2):
        query.values.fill(7)
        query(sources)
        close(query.values.get()[:, : len(sources)].T, truth)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize(("count", "filled"), [(1, 16), (129, 64), (250, 16)])
def test_few_sources_in_one_launch(count, filled, dtype, monkeypatch):
    """With fewer blocks than jobs and sources, and with more; again after an earlier launch."""
    monkeypatch.setattr(device_shapes, "_FILLED", filled)
    prepared = ready(dtype)
    sources = np.random.default_rng(8).integers(0, prepared.n_vertices, count)
    sweep = TileSweep(prepared, LeafShape(8, 9), count, top=16)
    rows = runtime.cupy().empty((count, prepared.n_vertices), dtype)
    truth = distances(prepared, sources, method="elimination_tree_rows@cpu")
    query = sweep.rows(count)
    assert [launch.kernel.name for launch in query.launches] == ["few_sources"]
    written = [launch.kernel.name for launch in query.writes(query, rows)]
    assert written == ["tiles", "own_leaf"]
    for some in (count, count, max(count - 1, 1), count):  # one after the other
        rows.fill(7)
        query(sources[:some], rows[:some])
        close(rows.get()[:some], truth[:some])
        assert (rows.get()[some:] == 7).all()
        assert not query.arrivals.get().any()


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("top", [64, 130])
def test_a_top_that_some_sources_do_not_reach(top):
    """Several components: their roots are in the top, or have no ancestor in it."""
    part = grid(np.int32)
    ends = np.repeat(np.arange(part.n_vertices), np.diff(part.indptr)), part.indices
    both = [np.concatenate([end, end[:40] + part.n_vertices]) for end in ends]
    weights = np.concatenate([part.weights, part.weights[:40]])
    graph = Graph.from_edges(*both, weights, n_vertices=part.n_vertices + 80)
    prepared = nearfar.prepare(graph, force=True)
    sources = np.arange(0, prepared.n_vertices, 3)
    sweep = Sweep(prepared, PassShape(8, 60, 32, 1), len(sources), top=top)
    assert set(sweep.above.held.stop.get()) > {-1, 0}
    query = sweep.columns(len(sources), True)
    query(sources)
    truth = distances(prepared, sources, method="elimination_tree_rows@cpu")
    found = query.values.get()[:, : len(sources)].T
    reached = truth < np.iinfo(np.int32).max
    np.testing.assert_array_equal(found[reached], truth[reached])
    assert (found[~reached] == far_value(sweep.dtype)).all()


@pytest.mark.usefixtures("emulated_gpu")
def test_tops_of_metrics_that_share_their_cells():
    """Cells and tables have the current weights, whichever metric was first."""
    prepared = ready(np.int32)
    sources = np.arange(33)
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 90, (3, prepared.n_edges)).astype(np.int32)
    for one, host in zip(
        prepared.reweight_each(runtime.cupy().asarray(weights)), weights, strict=True
    ):
        sweep = Sweep(one, PassShape(8, 60, 32, 1), len(sources), top=64)
        query = sweep.columns(len(sources), True)
        query(sources)
        truth = distances(prepared.reweight(host), sources, device="cpu")
        np.testing.assert_array_equal(query.values.get()[:, : len(sources)].T, truth)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize(("count", "width"), [(1, 1), (130, 65), (200, 64), (64, 200)])
def test_rows_from_columns(count, width):
    prepared = ready(np.int32)
    n = prepared.n_vertices
    cp = runtime.cupy()
    rng = np.random.default_rng(5)
    values, place = rng.integers(0, 100, (n, padded(count))), rng.integers(0, n, width)
    out = cp.full((count, width), -1, np.int32)
    on_device = (cp.asarray(values.astype(np.uint32)), cp.asarray(place.astype(np.int32)))
    to_rows(Sweep(prepared).tree, *on_device, out)()
    np.testing.assert_array_equal(out.get(), values[place, :count].T)


@pytest.mark.usefixtures("emulated_gpu")
def test_a_long_path_to_the_root():
    """Climbs of every length, around the number of levels fetched together."""
    n = 40
    path = nearfar.prepare(Graph.from_edges(range(n - 1), range(1, n), [3] * (n - 1)), force=True)
    found = all_pairs(path, method=METHOD)
    np.testing.assert_array_equal(found, all_pairs(path, device="cpu"))


@pytest.mark.usefixtures("emulated_gpu")
def test_a_tree_too_tall_for_several_climbs_per_block():
    """A path eliminated from one end to the other gives a tree of that height."""
    n = 15_000
    path = Graph.from_edges(range(n - 1), range(1, n), [3] * (n - 1), directed=False)
    tall = nearfar.prepare(path, order=np.arange(n), force=True)
    sources = [0, n - 1, n // 2]
    found = distances(tall, sources, method=METHOD)
    np.testing.assert_array_equal(found, distances(tall, sources, device="cpu"))


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
    assert parts["sweeps"] == -(-len(np.unique(sources)) // 128)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_graphs(dtype, negative):
    """Directed, disconnected, with loops and parallel edges; tables; the bits of a search."""
    rng = np.random.default_rng(1)
    for n, m in [(1, 0), (9, 0), (9, 30), (70, 120)]:
        graph = random_graph(rng, n, m, dtype, negative=negative and n > 9)
        prepared = nearfar.prepare(graph, force=True)
        sources, columns = rng.integers(0, n, 7), rng.integers(0, n, 5)
        forms = [({}, all_pairs(prepared, method="elimination_tree_rows@cpu"))]
        if prepared.fixed is None:
            forms = []
        forms.append(({"sums": "search"}, rows_of(graph)))
        for form, truth in forms:
            np.testing.assert_array_equal(all_pairs(prepared, method=METHOD, **form), truth)
            found = distances(prepared, sources, targets=columns, method=METHOD, **form)
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


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_factor_larger_than_the_device_is_refused_before_anything_is_there(dtype, monkeypatch):
    prepared = ready(dtype)
    needed = factor_bytes(prepared)

    def refuse(_: Any) -> None:
        raise AssertionError("something was brought to the device")

    with monkeypatch.context() as small:
        small.setattr(runtime, "memory", lambda: (needed - 1, needed))
        small.setattr(runtime, "upload", refuse)
        for asked in ({}, {"reduce": "mean"}):
            with pytest.raises(OutOfMemoryError, match=r"180 labels with .* use device=") as caught:
                distances(prepared, [0], method=METHOD, **asked)
            assert caught.value.needed == needed
    distances(prepared, [0], method=METHOD)
    tree = vars(Sweep(prepared).tree).values()
    assert sum(part.nbytes for part in tree if runtime.is_device_array(part)) < needed


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_cells_and_pieces_cover_the_tree_once(shape, dtype):
    """Each vertex is in a cell or in a piece; each arc has one place; slots suffice."""
    prepared = ready(dtype)
    (up, down), n = prepared.metric.swept, prepared.n_vertices
    limits = PassShape(*shape)
    view, tree = prepared.preparation.view, prepared.preparation.tree
    cells = cut(view, down, limits)
    placed = cells.weight_at[cells.weight_at >= 0]
    places = np.concatenate([placed, cells.far_at])
    assert len(np.unique(places)) == len(places)
    assert places.min(initial=1) > 0
    assert cells.cells[:, 6].sum() == n - len(cells.upper)
    if len(cells.cells):
        assert cells.cells[:, 6].max() <= limits.members
        assert cells.cells[:, 7].max() <= limits.slots
    pieces = cut_pieces(view, up, down, cells.upper, np.empty(0, np.int32))
    members = pieces.members[pieces.members >= 0]
    np.testing.assert_array_equal(np.sort(members), cells.upper)
    arcs = np.diff(down.first)
    assert len(pieces.down) == 2 * arcs[cells.upper].sum()
    assert len(placed) + len(pieces.down) // 2 == arcs.sum()
    level_of = np.empty(n, dtype=int)
    for level in range(pieces.n_levels):
        tiles = pieces.tiles[pieces.level_first[level] : pieces.level_first[level + 1]]
        for number in np.unique(tiles[:, 0]):
            first, count, start, size = pieces.pieces[number, :4]
            mine = pieces.members[first : first + count]
            level_of[mine[mine >= 0]] = level
            around = pieces.boundary[start : start + size]
            assert (level_of[around] < level).all()
            assert (tree.low[around] <= mine[0]).all()
            assert (around > mine[0]).all()
    assert (
        pieces.n_values == (pieces.pieces[:, 1] * (pieces.pieces[:, 1] + pieces.pieces[:, 3])).sum()
    )


@pytest.mark.parametrize(
    ("least", "top", "levels"), [(16, 0, 3), (64, 0, 1), (16, 16, 3), (64, 16, 2)]
)
def test_ways_up_name_all_ancestors_in_pieces(least, top, levels):
    """From every label of a tree with labels in cells, in pieces and in the top."""
    prepared = ready(np.int32)
    tree, (up, down) = prepared.preparation.tree, prepared.metric.swept
    view, limits = prepared.preparation.view, PassShape(8, 12, 32, 1)
    highest = np.argsort(tree.low - np.arange(tree.n_vertices), kind="stable")[:top]
    flags = np.zeros(tree.n_vertices, dtype=np.uint8)
    flags[highest] = 1
    upper = cut(view, down, limits, flags if top else None).upper
    pieces = cut_pieces(view, up, down, upper, np.flatnonzero(flags)[::-1].astype(np.int32), least)
    assert pieces.n_levels == levels
    lowest, way, rows = ways_up(pieces, tree)
    for label in range(tree.n_vertices):
        found = []
        member = lowest[label]
        while member >= 0:
            member, part, count, first = way[member]
            piece = pieces.tiles[part, 0]
            assert pieces.tiles[part, 1] == 0
            begin = pieces.pieces[piece, 0]
            found.append(pieces.members[begin + rows[first : first + count].astype(int)])
        ancestors = [label]
        while tree.parent[ancestors[-1]] >= 0:
            ancestors.append(tree.parent[ancestors[-1]])
        wanted = [a for a in ancestors if a in set(upper.tolist())]
        assert [a for part in found for a in part[::-1]] == wanted


@pytest.mark.usefixtures("emulated_gpu")
def test_long_chains_are_several_pieces():
    """A complete graph is one chain; pieces have at most 512 of its vertices."""
    n = 600
    tails, heads = (part.ravel() for part in np.indices((n, n)))
    weights = np.random.default_rng(8).integers(1, 1000, n * n).astype(np.int32)
    graph = Graph.from_edges(tails, heads, weights, n_vertices=n)
    prepared = nearfar.prepare(graph, force=True)
    sources = [0, 17, n - 1]
    sweep = Sweep(prepared, PassShape(8, 60, 32, 1), len(sources), top=0)
    sizes = sweep.above.held.pieces.host.pieces[:, 1]
    assert sizes.max() == 512
    assert sizes.sum() >= n - 60
    query = sweep.columns(len(sources), True)
    query(sources)
    truth = distances(prepared, sources, method="elimination_tree_rows@cpu")
    np.testing.assert_array_equal(query.values.get()[:, : len(sources)].T, truth)


@pytest.mark.parametrize(
    "wrong",
    [(0, 1, 32, 1), (8, 8, 48, 1), (8, 8, 16, 1), (8, 2**15, 32, 1)],
)
def test_shapes_that_cannot_be(wrong):
    with pytest.raises(OptionError):
        PassShape(*wrong)


def test_options_have_defaults():
    assert DeviceTreeOptions() == DeviceTreeOptions(sums="fixed", sweep=0)
