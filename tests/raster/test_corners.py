"""No diagonal steps next to a barrier: published lengths, oracle, both engines."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.errors import OptionError
from nearfar.formats.roads.movingai import read_scenarios
from nearfar.raster import Raster, cost_distance, path_cost, read_raster
from tests.datafiles import data_path
from tests.raster.landscapes import explicit, noise


@pytest.mark.parametrize(
    "name", ["arena", "den312d", "brc202d", "maze512-1-0", "Berlin_0_512", "8room_000"]
)
def test_lengths_on_grid_worlds_are_the_published_ones(name: str) -> None:
    raster = read_raster(data_path(f"gridmap/{name}.map.xz"), dtype=np.float64)
    queries = read_scenarios(data_path(f"gridmap/{name}.map.scen.xz"))
    rng = np.random.default_rng(9)
    for i in rng.choice(len(queries.length), size=min(12, len(queries.length)), replace=False):
        start, goal = (tuple(at[i, ::-1].tolist()) for at in (queries.start, queries.goal))
        surface = cost_distance(raster, start, targets=[goal])
        found = surface.distance_to(goal)
        assert found == pytest.approx(queries.length[i], rel=1e-5)
        assert path_cost(raster, surface.path_to(goal)) == found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(70, 131), (64, 64), (1, 9), (33, 200)])
def test_distances_are_those_of_the_explicit_graph(shape: tuple[int, int], dtype: type) -> None:
    raster = Raster(noise(shape, dtype, holes=0.2), cut_corners=False)
    source = tuple(n // 2 for n in shape)
    paths = nearfar.sssp(explicit(raster), int(raster.cells(source)[0]))
    for threads in (1, 3):
        surface = cost_distance(raster, source, threads=threads)
        np.testing.assert_array_equal(surface.distances.reshape(-1), paths.distances)
    np.testing.assert_array_equal(surface.predecessors.reshape(-1), paths.predecessors)
    surface.verify()


def test_no_data_and_negative_costs_are_corners_too() -> None:
    cost = np.ones((3, 3))
    cost[0, 1] = -9
    for options in ({"no_data": -9}, {"negative": "barrier"}):
        surface = cost_distance(cost, (0, 0), cut_corners=False, **options)
        assert surface.distance_to((1, 1)) == 2
        assert cost_distance(cost, (0, 0), **options).distance_to((1, 1)) == np.sqrt(2)
    world = nearfar.raster.Raster(cost, no_data=-9, cut_corners=False)
    assert world.cut_corners is False


@pytest.mark.usefixtures("emulated_gpu")
def test_the_emulated_device_gives_the_bits_of_the_cpu() -> None:
    for dtype in (np.float32, np.float64):
        raster = Raster(noise((70, 131), dtype, holes=0.2), cut_corners=False)
        want = cost_distance(raster, (35, 65))
        got = cost_distance(raster, (35, 65), device="cuda")
        np.testing.assert_array_equal(got.distances, want.distances)


@pytest.mark.parametrize(
    "options", [{"connectivity": 4}, {"step": "enter"}, {"elevation": np.zeros((3, 3))}]
)
def test_what_it_does_not_go_with(options: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="cut_corners=False needs"):
        Raster(np.ones((3, 3)), cut_corners=False, **options)
