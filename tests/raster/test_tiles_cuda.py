"""The kernel's own text on the emulated device: the bits of the CPU's engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nearfar.raster import Raster, cost_distance
from tests.raster.landscapes import noise, serpentine

FORMS = [
    ((70, 131), 4),
    ((70, 131), 8),
    ((50, 40), 16),
    ((20, 18, 33), 6),
    ((20, 18, 33), 18),
    ((9, 18, 33), 26),
]


def same(raster: Raster, sources: Any, **options: Any) -> None:
    want = cost_distance(raster, sources, **options)
    got = cost_distance(raster, sources, device="cuda", **options)
    np.testing.assert_array_equal(got.distances, want.distances)
    assert got.engine == "tiles@cuda"
    assert got.stats["tile_visits"] >= 1


def compare(shape: tuple[int, ...], connectivity: int, kind: str) -> None:
    source = tuple(n // 2 for n in shape)
    if kind == "slope":
        heights = noise(shape, np.float32, holes=0.05)
        same(Raster(None, elevation=heights, cell_size=7, connectivity=connectivity), [source])
        return
    whole = {"step": "enter", "lengths": False, "no_data": 9} if kind == "int32" else {}
    raster = Raster(noise(shape, np.dtype(kind)), connectivity=connectivity, **whole)
    same(raster, [source])
    same(raster, [source], initial=[30], limit=150)
    same(raster, [source], targets=[tuple(0 for _ in shape)])


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "slope"])
@pytest.mark.parametrize(("shape", "connectivity"), FORMS)
@pytest.mark.usefixtures("emulated_gpu")
def test_the_emulated_device_gives_the_bits_of_the_cpu(
    shape: tuple[int, ...], connectivity: int, kind: str
) -> None:
    compare(shape, connectivity, kind)


@pytest.mark.usefixtures("emulated_gpu")
def test_corridors_wind_through_many_phases() -> None:
    same(Raster(serpentine(100)), (0, 0))
    same(Raster(np.zeros((70, 70), dtype=np.float32)), [(0, 0), (69, 69)])


@pytest.mark.usefixtures("emulated_gpu")
def test_corridors_are_followed_within_a_phase() -> None:
    surface = cost_distance(Raster(serpentine(160)), (0, 0), device="cuda")
    assert surface.stats["tile_visits"] > 3 * surface.stats["phases"]


@pytest.mark.usefixtures("checked_loads")
def test_nothing_is_read_before_it_is_written() -> None:
    same(Raster(noise((40, 70), np.float32)), (20, 35))
