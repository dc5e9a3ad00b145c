"""Surfaces compared with a search on the explicit graph, bit for bit, and refused input."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import errors
from nearfar.raster import (
    Raster,
    SlopeTable,
    corridor,
    cost_distance,
    cost_distances,
    hiking,
    least_cost_paths,
    path_cost,
)
from tests.covering import each_value
from tests.raster.landscapes import explicit, maze, noise, serpentine

SHAPES = [
    ((70, 131), (4, 8, 16)),
    ((1, 7), (4, 8, 16)),
    ((64, 64), (8,)),
    ((65, 1), (16,)),
    ((20, 35, 33), (6, 18, 26)),
    ((3, 40, 5), (26,)),
    ((1, 70, 66), (6, 18, 26)),
]
CASES = [(shape, connectivity) for shape, all_ in SHAPES for connectivity in all_]
KINDS: dict[str, dict[str, Any]] = {
    "float32 mean": {"dtype": np.float32},
    "float64 mean": {"dtype": np.float64},
    "float32 enter": {"dtype": np.float32, "step": "enter"},
    "float64 unit steps": {"dtype": np.float64, "step": "enter", "lengths": False},
    "int32": {"dtype": np.int32, "step": "enter", "lengths": False, "no_data": 7},
    "int64": {"dtype": np.int64, "step": "enter", "lengths": False},
}


def middle(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n // 2 for n in shape)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "connectivity"), CASES)
def test_distances_are_those_of_the_explicit_graph(
    shape: tuple[int, ...], connectivity: int, kind: str
) -> None:
    options = dict(KINDS[kind])
    cost = noise(shape, options.pop("dtype"))
    raster = Raster(cost, connectivity=connectivity, **options)
    source = middle(shape)
    paths = nearfar.sssp(explicit(raster), int(raster.cells(source)[0]))
    for threads in (1, 3):
        surface = cost_distance(raster, source, threads=threads)
        np.testing.assert_array_equal(surface.distances.reshape(-1), paths.distances)
    np.testing.assert_array_equal(surface.predecessors.reshape(-1), paths.predecessors)
    surface.verify()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("shape", "connectivity"), [((70, 80), 8), ((40, 40), 16), ((9, 20, 34), 26)]
)
def test_slopes_give_the_distances_of_the_explicit_graph(
    shape: tuple[int, ...], connectivity: int, dtype: Any
) -> None:
    rng = np.random.default_rng(1)
    heights = (rng.random(shape) * 30).astype(dtype)
    heights[rng.random(shape) < 0.1] = np.nan
    heights[middle(shape)] = 3
    cost = (1 + rng.random(shape)).astype(dtype)
    raster = Raster(cost, elevation=heights, cell_size=10, connectivity=connectivity)
    paths = nearfar.sssp(explicit(raster), int(raster.cells(middle(shape))[0]))
    surface = cost_distance(raster, middle(shape))
    np.testing.assert_array_equal(surface.distances.reshape(-1), paths.distances)
    surface.verify()


def test_hiking_costs_seconds_and_depends_on_the_direction() -> None:
    ramp = np.arange(50.0)[:, None] * np.ones((1, 5))  # 1 m up every 10 m
    up = cost_distance(None, (0, 2), elevation=ramp, cell_size=10).distances[49, 2]
    down = cost_distance(None, (49, 2), elevation=ramp, cell_size=10).distances[0, 2]
    assert up == pytest.approx(490 * 3.6 / (6 * np.exp(-3.5 * 0.15)), rel=1e-9)
    assert down == pytest.approx(490 * 3.6 / (6 * np.exp(-3.5 * 0.05)), rel=1e-9)
    slow = cost_distance(None, (0, 2), elevation=ramp, cell_size=10, slope=hiking(off_path=True))
    assert slow.distances[49, 2] == pytest.approx(up / 0.6)
    steep = cost_distance(
        None,
        (0, 2),
        elevation=ramp,
        cell_size=10,
        slope=([-1, 0.06, 0.07, 1], [1, 1, np.inf, np.inf]),
    )
    assert steep.reachable.sum() == 5  # diagonal steps rise by 0.0707


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_a_finite_factor_before_an_infinite_one_counts(dtype: Any, connectivity: int) -> None:
    flat = np.zeros((70, 90), dtype=dtype)
    flat[:, 50:] = 1  # a rise of 1 is impassable, a level step is not
    table = SlopeTable(-1.0, 1.0, [np.inf, 1.0, np.inf])
    raster = Raster(None, elevation=flat, slope=table, connectivity=connectivity)
    surface = cost_distance(raster, (3, 4))
    plain = cost_distance(np.ones((70, 50), dtype=dtype), (3, 4), connectivity=connectivity)
    np.testing.assert_array_equal(surface.distances[:, :50], plain.distances)
    assert not surface.reachable[:, 50:].any()
    surface.verify()
    path = surface.path_to((60, 20))
    assert path_cost(raster, path) == surface.distances[60, 20]
    assert path_cost(raster, [(0, 49), (0, 50)]) == np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_zero_costs_have_a_forest(dtype: Any) -> None:
    cost = np.floor(noise((90, 90), dtype, holes=0.1) / 20).astype(dtype)
    raster = Raster(cost, step="enter", lengths=False)
    surface = cost_distance(raster, [(45, 45), (0, 0)] if np.isfinite(cost[0, 0]) else (45, 45))
    surface.verify()
    nearest = nearfar.nearest(explicit(raster), surface.sources, predecessors=True)
    np.testing.assert_array_equal(surface.predecessors.reshape(-1), nearest.predecessors)
    flat = cost_distance(np.zeros((200, 130), dtype=dtype), (3, 3))
    flat.verify()
    assert (flat.distances == 0).all()
    assert len(flat.path_to((199, 129))) == 197


def test_several_sources_with_initial_costs() -> None:
    cost = noise((100, 140), np.float64)
    raster = Raster(cost)
    sources = np.argwhere(np.isfinite(cost))[::997]
    initial = np.linspace(0, 90, len(sources))
    surface = cost_distance(raster, sources, initial=initial, threads=2)
    surface.verify()
    rows = np.stack(
        [
            cost_distance(raster, s, initial=i).distances
            for s, i in zip(sources, initial, strict=True)
        ]
    )
    np.testing.assert_array_equal(surface.distances, rows.min(axis=0))
    reached = surface.reachable
    assert ((surface.allocation >= 0) == reached).all()
    got = np.take_along_axis(rows, np.maximum(surface.allocation, 0)[None], axis=0)[0]
    # Sums from different sources may round to the same least value.
    np.testing.assert_array_equal(got[reached], surface.distances[reached])


@pytest.mark.parametrize("options", [{}, {"step": "enter"}, {"no_data": -9}])
def test_costs_changed_between_searches_are_checked_again(options: dict[str, Any]) -> None:
    cost = noise((80, 90), np.float32)
    raster = Raster(cost, **options)
    first = cost_distance(raster, (40, 45))
    cost[30:50, 40:50] *= 2
    cost[10] = np.nan
    changed = cost_distance(raster, (40, 45))
    fresh = cost_distance(Raster(cost.copy(), **options), (40, 45))
    np.testing.assert_array_equal(changed.distances, fresh.distances)
    assert changed.stats["barriers"] == fresh.stats["barriers"] > first.stats["barriers"]
    cost[41, 44] = -1  # a search over it would not end
    with pytest.raises(errors.NegativeWeightError, match=r"cell \(41, 44\)"):
        cost_distance(raster, (40, 45))
    with pytest.raises(errors.NegativeWeightError):
        nearfar.distances(raster, [(40, 45), (41, 45)])


def test_heights_changed_between_searches_are_checked_again() -> None:
    cost = np.ones((8, 9))
    cost.flags.writeable = False
    heights = np.zeros((8, 9))
    raster = Raster(cost, elevation=heights)
    assert cost_distance(raster, (0, 0)).stats["barriers"] == 0
    heights[:, 4] = np.nan
    surface = cost_distance(raster, (0, 0))
    assert surface.stats["barriers"] == 8
    assert surface.reachable.sum() == 8 * 4


def test_negative_costs_that_appear_later_become_barriers() -> None:
    cost = np.ones((70, 70))
    raster = Raster(cost, negative="barrier")
    assert cost_distance(raster, (0, 0)).reachable.all()
    cost[:, 30] = -1
    assert cost_distance(raster, (0, 0)).reachable.sum() == 70 * 30


def test_greater_integers_that_appear_later_widen_the_distances() -> None:
    cost = np.ones((3, 3), dtype=np.int32)
    raster = Raster(cost, step="enter", lengths=False)
    assert cost_distance(raster, (0, 0)).distances.dtype == np.int32
    cost[1:] = 2**31 - 2
    assert cost_distance(raster, (0, 0)).distances[2, 2] == 2 * (2**31 - 2)


def test_limits_and_targets_cut_and_nothing_else() -> None:
    cost = noise((150, 150), np.float32)
    whole = cost_distance(cost, (75, 75))
    for limit in (0, 100.5, 400):
        near = cost_distance(cost, (75, 75), limit=limit)
        want = np.where(whole.distances <= limit, whole.distances, np.inf)
        np.testing.assert_array_equal(near.distances, want)
        near.verify()
    target = tuple(np.argwhere(whole.reachable & (whole.distances > 200))[0])
    some = cost_distance(cost, (75, 75), targets=[target, (75, 76)])
    far = max(whole.distances[target], whole.distances[75, 76])
    if np.isfinite(far):
        np.testing.assert_array_equal(
            some.distances, np.where(whole.distances <= far, whole.distances, np.inf)
        )
        assert some.stats["tile_visits"] <= whole.stats["tile_visits"]


@pytest.mark.parametrize("cost", [serpentine(300), maze(120)], ids=["serpentine", "maze"])
def test_mazes_take_little_work(cost: np.ndarray) -> None:
    source = tuple(np.argwhere(np.isfinite(cost))[0])
    surface = cost_distance(cost, source)
    surface.verify()
    assert surface.reachable.sum() == np.isfinite(cost).sum()
    # A heap takes about one pop per cell of the passages, where sweeps would go row by row.
    assert surface.stats["heap_pops"] <= 3 * surface.reachable.sum()
    assert surface.stats["sweeps"] <= 40 * surface.stats["tiles"]


def test_the_same_bits_in_every_run_on_many_threads() -> None:
    cost = noise((333, 257), np.float32, holes=0.2)
    want = cost_distance(cost, (166, 128), threads=1)
    for _ in range(200):
        got = cost_distance(cost, (166, 128), threads=8)
        np.testing.assert_array_equal(got.distances, want.distances)
    np.testing.assert_array_equal(got.links, want.links)


def test_two_threads_of_python_may_search_at_once() -> None:
    cost = noise((200, 200), np.float32)
    want = cost_distance(cost, (100, 100)).distances
    got: list[Any] = []
    threads = [
        threading.Thread(target=lambda: got.append(cost_distance(cost, (100, 100), threads=2)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4
    assert all(np.array_equal(surface.distances, want) for surface in got)


def test_barriers_stay_barriers_where_integers_widen() -> None:
    cost = np.full((1, 5), 2**30)
    cost[0, 3] = -7
    raster = Raster(cost, dtype="int32", no_data=-7, step="enter", lengths=False)
    assert [raster.is_barrier(i) for i in range(5)] == [False, False, False, True, False]
    surface = cost_distance(raster, (0, 0))
    assert surface.distances[0, :3].tolist() == [0, 2**30, 2**31]
    assert surface.reachable.tolist() == [[True, True, True, False, False]]
    surface.verify()
    with pytest.raises(errors.VertexError, match="on a barrier"):
        cost_distance(raster, (0, 3))
    paths = least_cost_paths(raster, [((0, 0), (0, 2))], 2)[0]
    assert [path.cost for path in paths] == [2**31]
    assert path_cost(raster, [(0, 2), (0, 3)]) == np.iinfo(np.int32).max


def test_integers_widen_where_a_sum_does_not_fit() -> None:
    cost = np.full((2, 300), 2**24, dtype=np.int32)
    surface = cost_distance(cost, (0, 0), step="enter", lengths=False)
    assert surface.distances.dtype == np.int64
    assert surface.distances[0, -1] == 299 * 2**24
    surface.verify()
    near = cost_distance(cost[:, :50], (0, 0), step="enter", lengths=False)
    assert near.distances.dtype == np.int32
    assert cost_distance(cost.astype(np.uint8), (0, 0)).distances.dtype == np.float64


@pytest.mark.parametrize(
    ("cost", "options", "way"),
    [
        (np.array([[1, 2**62, 2**62]]), {"step": "enter", "lengths": False}, "scale the costs"),
        (np.full((1, 4), 3e38, np.float32), {"step": "enter"}, "give dtype='float64'"),
        (np.full((2, 4), 1e308), {}, "scale the costs"),
        (np.ones((1, 4), np.float32), {"cell_size": 2e38}, "give dtype='float64'"),
        (
            np.ones((1, 3), np.float32),
            {"initial": 3.4e38, "cell_size": 1e37},
            "give dtype='float64'",
        ),
    ],
)
def test_distances_that_do_not_fit_are_an_error(
    cost: np.ndarray, options: dict[str, Any], way: str
) -> None:
    with pytest.raises(errors.DistanceOverflowError, match=rf"cell \(0, \d\) does not fit.*{way}"):
        cost_distance(cost, (0, 0), **options)
    near = {**options, "targets": [(0, 0)]}
    assert cost_distance(cost, (0, 0), **near).reachable.sum() == 1
    assert cost_distance(cost, (0, 0), **options, limit=1).reachable.sum() <= 1
    if cost.dtype == np.float32:
        options = {**options, "dtype": np.float64}
        assert cost_distance(cost, (0, 0), **options).reachable.all()


def test_great_costs_that_fit_are_no_error() -> None:
    cost = np.array([[1e308, np.inf, 1], [1e300, 1, 1]])
    surface = cost_distance(cost, (1, 1))
    assert surface.reachable.sum() == 5
    surface.verify()


def test_input_is_not_copied_where_it_need_not_be(tmp_path: Any) -> None:
    cost = np.lib.format.open_memmap(tmp_path / "cost.npy", "w+", np.float32, (80, 90))
    cost[:] = 2
    raster = Raster(cost)
    assert np.shares_memory(raster.cost, cost)
    assert cost_distance(raster, (0, 0)).distances[0, 89] == 178
    turned = np.asfortranarray(cost)[::-1]
    assert cost_distance(turned, (0, 0)).distances[0, 89] == 178


def test_masked_entries_are_barriers() -> None:
    cost = np.ma.masked_equal(np.array([[1, -9, 1], [1, 1, 1]]), -9)
    raster = Raster(cost)
    assert raster.n_barriers == 1
    assert cost_distance(raster, (0, 0)).distances[0, 2] == pytest.approx(2 * 2**0.5)


def test_costs_and_marks_survive_another_dtype() -> None:
    steps: dict[str, Any] = {"step": "enter", "lengths": False}
    big = 2**33 + 5  # 5 in 32 bits
    for costs, dtype in (([[1, big]], np.int32), ([[1, 1e300]], np.float32)):
        options = steps if dtype is np.int32 else {}
        with pytest.raises(errors.GraphError, match="does not fit"):
            cost_distance(np.array(costs), (0, 0), dtype=dtype, **options)
        mark = costs[0][1]
        marked = cost_distance(np.array(costs), (0, 0), dtype=dtype, no_data=mark, **options)
        assert marked.reachable.tolist() == [[True, False]]
    # As written in float16, and where another cost rounds to the mark.
    half = np.array([[1, -9999, 1]], dtype=np.float16)
    assert Raster(half, no_data=-9999).n_barriers == 1
    near = Raster(np.array([[77 + 1e-9, 77.0]]), dtype=np.float32, no_data=77)
    assert near.n_barriers == 1
    assert (
        Raster(np.array([[1, 2**64 - 1]], dtype=np.uint64), no_data=2**64 - 1, **steps).n_barriers
        == 1
    )
    assert Raster(np.ones((1, 2), int), no_data=np.inf, **steps).n_barriers == 0


def test_a_proof_finds_each_flaw() -> None:
    surface = cost_distance(noise((90, 90), np.float32), (45, 45))
    right = surface.distances.copy()
    cell = tuple(np.argwhere(surface.reachable)[40])
    for value, words in (
        (right[cell] * 1.5, "gives a shorter one"),
        (right[cell] * 0.5, "no tight step|gives a shorter"),
        (np.float32(np.nan), "not the length of any path"),
        (np.float32(-1), "not the length of any path"),
    ):
        surface.distances = right.copy()
        surface.distances[cell] = value
        with pytest.raises(errors.ProofError, match=words):
            surface.verify()
    surface.distances = right.copy()
    surface.distances[45, 45] = 1
    with pytest.raises(errors.ProofError, match="initial cost"):
        surface.verify()
    # Two cells joined by a step of cost 0 are each other's predecessors, without a source.
    loop = cost_distance(np.zeros((3, 3)), (0, 0), limit=5)
    loop.raster.cost[:] = [[0, np.inf, 0], [np.inf, np.inf, 0], [0, np.inf, 0]]
    loop.distances = np.array([[0, np.inf, 0], [np.inf, np.inf, 0], [np.inf, np.inf, 0]])
    with pytest.raises(errors.ProofError, match="no tight step"):
        loop.verify()


def test_corridors() -> None:
    cost = noise((60, 80), np.float64, holes=0.1)
    reached = cost_distance(cost, (30, 40)).reachable
    a, b = (tuple(c) for c in np.argwhere(reached)[[5, -5]])
    ways = corridor(cost, a, b)
    best = cost_distance(cost, a).distance_to(b)
    assert ways.min() == pytest.approx(best)
    path = cost_distance(cost, a).path_to(b)
    np.testing.assert_allclose(ways[tuple(path.T)], best)
    assert not np.isfinite(ways[~reached]).any()
    with pytest.raises(errors.OptionError, match="both ways"):
        corridor(cost, a, b, step="enter")


def test_rows_of_several_sources() -> None:
    cost = noise((40, 50), np.float32)
    open_ = np.argwhere(np.isfinite(cost))
    rows = cost_distances(cost, open_[:3], targets=open_[-4:])
    for row, source in zip(rows, open_[:3], strict=True):
        whole = cost_distance(cost, source).distances
        np.testing.assert_array_equal(row, whole[tuple(open_[-4:].T)])
    assert cost_distances(cost, open_[:2]).shape == (2, 40, 50)
    assert cost_distances(cost, open_[:2], targets=[]).shape == (2, 0)


GOOD = np.ones((4, 5))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Raster(np.array([[1.0, -2.0]])), errors.NegativeWeightError, r"cell \(0, 1\)"),
        (
            lambda: Raster(np.array([[-9.0, -9], [3, -2]]), no_data=-9),
            errors.NegativeWeightError,
            r"^1 negative cost, the first at cell \(1, 1\).* as no_data, or pass negative=",
        ),
        (lambda: Raster(np.ones(3)), errors.GraphError, "2 or 3 dimensions"),
        (lambda: Raster(np.ones((0, 3))), errors.GraphError, "2 or 3 dimensions"),
        (lambda: Raster([[1, 2], [3]]), errors.GraphError, "cannot be read as an array"),
        (lambda: Raster(GOOD.astype(complex)), errors.GraphError, "numbers"),
        (lambda: Raster(GOOD, connectivity=26), errors.OptionError, "4, 8, 16"),
        (lambda: Raster(GOOD, step="most"), errors.OptionError, "'mean' or 'enter'"),
        (lambda: Raster(GOOD, cell_size=0), errors.OptionError, "cell_size"),
        (lambda: Raster(GOOD, cell_size=(1, 2, 3)), errors.OptionError, "cell_size"),
        (lambda: Raster(GOOD, negative="no"), errors.OptionError, "negative"),
        (lambda: Raster(GOOD, step=["mean"]), errors.OptionError, "'mean' or 'enter'"),
        (lambda: Raster(GOOD, lengths="no"), errors.OptionError, "lengths is 'no': give true"),
        (lambda: Raster(GOOD, cut_corners="no"), errors.OptionError, "cut_corners is 'no'"),
        (lambda: Raster(GOOD, no_data="x"), errors.OptionError, "no_data"),
        (lambda: Raster(GOOD, dtype=np.int32), errors.OptionError, "lengths=False"),
        (lambda: Raster(GOOD, dtype="complex64"), errors.OptionError, "dtype"),
        (lambda: Raster(GOOD, slope=hiking()), errors.OptionError, "elevation"),
        (lambda: Raster(GOOD, elevation=GOOD[1:]), errors.GraphError, "shape"),
        (lambda: Raster(GOOD, elevation=GOOD, slope=3), errors.OptionError, "SlopeTable"),
        (lambda: Raster(None), errors.OptionError, "elevation"),
        (lambda: cost_distance(GOOD, (4, 0)), errors.VertexError, r"source \(4, 0\) is outside"),
        (lambda: cost_distance(GOOD, (0, -1)), errors.VertexError, "outside"),
        (lambda: cost_distance(GOOD, (0, 0, 0)), errors.VertexError, r"\(row, column\)"),
        (lambda: cost_distance(GOOD, (0.5, 0)), errors.VertexError, r"\(row, column\)"),
        (lambda: cost_distance(GOOD, []), errors.OptionError, "empty"),
        (lambda: cost_distance(GOOD, np.ones((2, 2), bool)), errors.VertexError, "mask"),
        (
            lambda: cost_distance(GOOD * np.nan, (1, 1)),
            errors.VertexError,
            r"\(1, 1\) is on a barr",
        ),
        (lambda: cost_distance(GOOD, (0, 0), limit=-1), errors.OptionError, "limit"),
        (lambda: cost_distance(GOOD, (0, 0), initial=[1, 2]), errors.OptionError, "initial"),
        (lambda: cost_distance(GOOD, (0, 0), initial=[-1]), errors.OptionError, "initial"),
        (
            lambda: cost_distance(GOOD.astype("f4"), (0, 0), initial=1e300),
            errors.OptionError,
            "does not fit",
        ),
        (lambda: cost_distance(GOOD, (0, 0)).distance_to((0, 1.7)), errors.VertexError, "cell is"),
        (lambda: cost_distance(GOOD, (0, 0)).path_to([(0, 0), (1, 1)]), errors.VertexError, "one"),
        (lambda: cost_distance(GOOD, (0, 0), device="tpu"), errors.OptionError, "device"),
        (lambda: cost_distance(GOOD, (0, 0), targets=[(9, 9)]), errors.VertexError, "target"),
        (lambda: cost_distance(GOOD, (0, 0), targets=[]), errors.OptionError, "targets is empty"),
        (lambda: cost_distance(GOOD, (0, 0), sampling=2), errors.OptionError, "sampling"),
        (
            lambda: cost_distance(GOOD, (0, 0), conectivity=4),
            errors.OptionError,
            "no option 'conectivity'.* did you mean 'connectivity'",
        ),
        (lambda: cost_distance(Raster(GOOD), (0, 0), step="mean"), errors.OptionError, "already"),
        (lambda: cost_distance(Raster(GOOD), (0, 0), stap="mean"), errors.OptionError, "no option"),
    ],
)
def test_bad_input_is_one_clear_sentence(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_an_error_of_the_users_function_is_not_taken_for_an_option() -> None:
    with pytest.raises(TypeError, match="keyword-only argument: 'scale'"):
        cost_distance(GOOD, (0, 0), elevation=GOOD, slope=lambda slopes, *, scale: slopes * scale)


def test_unreached_targets_say_so() -> None:
    cost = np.array([[1.0, np.inf, 1.0]])
    surface = cost_distance(cost, (0, 0), limit=9)
    with pytest.raises(
        errors.UnreachableError, match=r"\(0, 2\) is not reached within the limit 9"
    ):
        surface.path_to((0, 2))
    assert surface.distance_to((0, 2)) == float("inf")
    assert [len(path) for path in surface.paths_to([(0, 2), (0, 0)])] == [0, 1]
    assert surface.stats["barriers"] == 1
    assert (
        cost_distance(np.array([[1.0, -5.0, 1.0]]), (0, 0), negative="barrier").reachable.sum() == 1
    )


@pytest.mark.parametrize(
    "shape", [(1, 130), (130, 1), (3, 1, 40), (40, 1, 1), (1, 2, 40), (128, 128)]
)
def test_a_source_at_the_border_of_a_tile(shape: tuple[int, ...]) -> None:
    raster = Raster(np.ones(shape, dtype=np.float32))
    for at in (15, 16, 31, 32, 63, 64):
        source = tuple(min(at, n - 1) for n in shape)
        surface = cost_distance(raster, source)
        surface.verify()
        assert surface.reachable.all()


def test_a_passage_is_walked_in_place() -> None:
    raster = Raster(serpentine(200))
    surface = cost_distance(raster, (0, 0), threads=1)
    surface.verify()
    assert surface.stats["visits_in_place"] == surface.stats["tile_visits"]
    assert surface.stats["heap_pops"] == surface.reachable.sum()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("options", [{}, {"step": "enter"}, {"cut_corners": False}], ids=str)
@pytest.mark.parametrize("connectivity", [4, 8, 16])
def test_winding_passages(dtype: str, options: dict[str, Any], connectivity: int) -> None:
    """Straight stretches, turns, branches and diagonal steps, across borders of tiles."""
    if dtype == "int32":
        options = {"step": "enter", "lengths": False}
    elif connectivity != 8 and "cut_corners" in options:
        options = {}  # not supported in three dimensions
    rng = np.random.default_rng(connectivity)
    for passages in (maze(45, 1), serpentine(91), serpentine(91).T):
        blocked = ~np.isfinite(passages) & (rng.random(passages.shape) < 0.98)
        costs = rng.integers(0, 60, passages.shape) * (1 if dtype == "int32" else 0.137)
        cost = np.where(blocked, 1000, costs).astype(dtype)
        raster = Raster(cost, connectivity=connectivity, no_data=1000, **options)
        start = tuple(int(i) for i in np.argwhere(~blocked)[0])
        surface = cost_distance(raster, start, threads=1)
        surface.verify()
        source = start[0] * cost.shape[1] + start[1]
        want = nearfar.sssp(explicit(raster), source, device="cpu").distances
        np.testing.assert_array_equal(surface.distances.reshape(-1), want)
        assert surface.stats["visits_in_place"] > 0
        if dtype != "int32":  # costs as given, without a mark
            bare = Raster(np.where(blocked, np.inf, cost), connectivity=connectivity, **options)
            again = cost_distance(bare, start, threads=1)
            np.testing.assert_array_equal(again.distances, surface.distances)


def test_a_door_into_an_open_hall_is_swept() -> None:
    cost = np.ones((200, 200), dtype=np.float32)
    cost[:, 70] = np.inf
    cost[100, 70] = 1  # in a tile with open cells behind it
    surface = cost_distance(cost, (100, 3), threads=1)
    surface.verify()
    assert surface.stats["sweeps"] > 0
    assert surface.stats["heap_pops"] < cost.size / 4


def rough(shape: tuple[int, ...], dtype: Any, most: int = 256) -> np.ndarray:
    """Return random integer costs with zeros and barriers."""
    rng = np.random.default_rng(7)
    cost = rng.integers(0, most, shape).astype(dtype)
    cost[rng.random(shape) < 0.02] = np.nan if np.dtype(dtype).kind == "f" else most
    cost[middle(shape)] = cost[0, 0, 0] = 1
    return cost


ROUGH = (48, 130, 140)


@pytest.mark.parametrize(
    ("dtype", "connectivity"),
    [
        *each_value([np.float32, np.float64, np.int32, np.int64], [6, 18, 26]),
        *each_value([np.int32, np.float32], [6, 26]),
    ],
)
def test_rough_volumes_are_solved_in_order(dtype: Any, connectivity: int) -> None:
    """Many visits per tile; 16 workers visit tiles until the end."""
    cost = rough(ROUGH, dtype)
    no_data = None if np.dtype(dtype).kind == "f" else 256
    raster = Raster(cost, step="enter", lengths=False, connectivity=connectivity, no_data=no_data)
    sources = [middle(ROUGH), (0, 0, 0)]
    surface = cost_distance(raster, sources, threads=1)
    surface.verify()
    by_tiles = cost_distance(raster, sources, threads=16)
    assert by_tiles.stats["heap_pops"] < cost.size // 2 < surface.stats["heap_pops"]
    np.testing.assert_array_equal(surface.distances, by_tiles.distances)
    limit = int(np.median(by_tiles.distances))
    within = [cost_distance(raster, sources, threads=k, limit=limit) for k in (1, 16)]
    np.testing.assert_array_equal(*(surface.distances for surface in within))
    ends = [(1, 1, 1), (40, 100, 100), (47, 129, 139)]
    to_ends = [cost_distance(raster, sources, threads=k, targets=ends) for k in (1, 16)]
    np.testing.assert_array_equal(*(surface.distances for surface in to_ends))


@pytest.mark.parametrize(
    "cost",
    [
        rough((16, 64, 1600), np.float32, 1 << 16),  # sums beyond 2^24 would be rounded
        rough(ROUGH, np.float32) + np.float32(0.5),
        rough(ROUGH, np.int32, 1 << 20),
    ],
    ids=["far", "fractions", "large"],
)
def test_rough_volumes_of_other_costs_are_solved_by_tiles(cost: np.ndarray) -> None:
    raster = Raster(cost, step="enter", lengths=False, connectivity=6)
    one, many = (cost_distance(raster, (0, 0, 0), threads=k) for k in (1, 16))
    assert one.stats["tile_visits"] > 2 * one.stats["tiles"]
    np.testing.assert_array_equal(one.distances, many.distances)
    one.verify()
