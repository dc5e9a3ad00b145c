"""Paths between many pairs, alternatives, and the cost of a given path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nearfar.errors import OptionError
from nearfar.raster import Raster, cost_distance, hiking, least_cost_paths, path_cost
from tests.raster.landscapes import noise

PAIRS = [((3, 4), (60, 90)), ((3, 4), (10, 5)), ((50, 50), (3, 4))]


@pytest.fixture
def raster() -> Raster:
    cost = noise((70, 100), np.float64, holes=0.1)
    for cell in {cell for pair in PAIRS for cell in pair}:
        cost[cell] = 1
    return Raster(cost)


def test_each_pair_gets_the_path_of_its_own_search(raster: Raster) -> None:
    seen: list[tuple[float, float]] = []
    found = least_cost_paths(raster, PAIRS, progress=lambda *done: seen.append(done))
    assert seen == [(1, 2), (2, 2)]
    for (source, target), paths in zip(PAIRS, found, strict=True):
        surface = cost_distance(raster, source)
        assert [path.cost for path in paths] == [surface.distance_to(target)]
        np.testing.assert_array_equal(paths[0].cells, surface.path_to(target))


def test_alternatives_are_different_paths_that_cost_what_they_say(raster: Raster) -> None:
    found = least_cost_paths(raster, PAIRS[:1], 4, penalty=3, apart=2)[0]
    assert len(found) == 4
    assert [path.cost for path in found] == sorted(path.cost for path in found)
    assert found[0].cost == cost_distance(raster, PAIRS[0][0]).distance_to(PAIRS[0][1])
    assert len({path.cells.tobytes() for path in found}) == 4
    for path in found:
        assert tuple(path.cells[0]), tuple(path.cells[-1]) == PAIRS[0]
        assert path_cost(raster, path.cells) == path.cost < np.inf


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": np.float32, "step": "enter"},
        {"dtype": np.int32, "step": "enter", "lengths": False, "no_data": 9},
        {"dtype": np.float32, "connectivity": 16},
    ],
)
def test_forms_of_rasters(options: dict[str, Any]) -> None:
    cost = np.random.default_rng(3).integers(1, 12, (40, 50)).astype(options.pop("dtype"))
    cost[3, 4] = cost[30, 40] = 1
    raster = Raster(cost, **options)
    first, *others = least_cost_paths(raster, [((3, 4), (30, 40))], 3)[0]
    assert path_cost(raster, first.cells) == first.cost
    assert path_cost(np.ones((2, 2)), [(0, 0), (0, 1)]) == 1  # regression: an AttributeError
    assert all(path.cost >= first.cost for path in others)


def test_slopes_and_volumes() -> None:
    heights = noise((40, 50), np.float32, holes=0)
    walk = Raster(None, elevation=heights, slope=hiking(), cell_size=20)
    path = least_cost_paths(walk, [((0, 0), (39, 49))])[0][0]
    assert path_cost(walk, path.cells) == path.cost
    volume = Raster(noise((6, 7, 8), np.float32, holes=0))
    path = least_cost_paths(volume, [((0, 0, 0), (5, 6, 7))])[0][0]
    assert path_cost(volume, path.cells) == path.cost


def test_integers_do_not_wrap() -> None:
    cost = np.full((5, 6), 2**29, dtype=np.int32)
    raster = Raster(cost, step="enter", lengths=False)
    paths = least_cost_paths(raster, [((2, 0), (2, 5))], 3, apart=0)[0]
    assert [path.cost for path in paths] == [5 * 2**29] * 3
    assert len({path.cells.tobytes() for path in paths}) == 3
    assert path_cost(raster, paths[0].cells) == 5 * 2**29


def test_corners_that_may_not_be_cut_end_a_path() -> None:
    cost = np.array([[1, np.nan], [1, 1]])
    assert path_cost(Raster(cost, cut_corners=False), [(0, 0), (1, 1)]) == np.inf
    assert path_cost(Raster(cost), [(0, 0), (1, 1)]) == np.sqrt(2)
    assert path_cost(Raster(cost), []) == 0


def test_unreached_targets_have_no_path() -> None:
    cost = np.ones((5, 5))
    cost[2] = np.inf
    assert least_cost_paths(cost, [((0, 0), (4, 4)), ((0, 0), (1, 4))], 2)[0] == []
    assert path_cost(Raster(cost), [(1, 0), (2, 0)]) == np.inf


def test_bad_input(raster: Raster) -> None:
    for options, text in (
        ({"k": 0}, "k is 0"),
        ({"penalty": 1}, "penalty' is 1|penalty is 1"),
        ({"penalty": "2"}, "give a finite number"),
        ({"apart": -1}, "give a number of cells"),
    ):
        with pytest.raises(OptionError, match=text):
            least_cost_paths(raster, PAIRS, **options)
    with pytest.raises(OptionError, match="is not a \\(source, target\\)"):
        least_cost_paths(raster, [(1, 2, 3)])
    with pytest.raises(OptionError, match="not one source and one target"):
        least_cost_paths(raster, [([(1, 2), (3, 4)], (3, 4))])
    with pytest.raises(OptionError, match=r"cells \(0, 0\) and \(0, 2\) of the path"):
        path_cost(raster, [(0, 0), (0, 2)])


@pytest.mark.parametrize("shape", [(40, 50), (6, 20, 24), (1, 30, 30), (1, 60)])
@pytest.mark.parametrize(
    "options",
    [
        {"dtype": np.float32},
        {"dtype": np.float64, "connectivity": "most"},
        {"dtype": np.int32, "step": "enter", "lengths": False},
        {"dtype": np.float32, "step": "enter", "no_data": 9},
    ],
)
@pytest.mark.parametrize("ends", [{}, {"initial": [3, 0, 50]}, {"limit": 30}])
@pytest.mark.parametrize("share", [1, 0.7, 0.2])
def test_a_path_follows_the_links_with_and_without_them(
    shape: tuple[int, ...], options: dict[str, Any], ends: dict[str, Any], share: float
) -> None:
    rng = np.random.default_rng(len(shape))
    options = dict(options)
    cost = (rng.integers(0, 12, shape) * (rng.random(shape) < share)).astype(options.pop("dtype"))
    if options.get("connectivity"):
        options["connectivity"] = 16 if len(shape) == 2 else 26
    starts = np.argwhere(cost != 9)[rng.integers(0, cost.size // 2, 3)]
    raster = Raster(cost, **options)
    plain, linked = (cost_distance(raster, starts, **ends) for _ in range(2))
    linked.verify()
    assert linked.links.shape == shape
    cells = np.argwhere(linked.reachable)
    for cell in map(tuple, cells[rng.integers(0, len(cells), 30)]):
        plain._traced = 0
        plain.__dict__.pop("links", None)
        np.testing.assert_array_equal(plain.path_to(cell), linked.path_to(cell))


def test_many_paths_are_read_from_links() -> None:
    surface = cost_distance(noise((64, 64), np.float64, holes=0), (0, 0))
    surface.path_to((0, 3))
    assert "links" not in surface.__dict__
    surface.paths_to([(63, 63)] * 20)
    assert "links" in surface.__dict__
