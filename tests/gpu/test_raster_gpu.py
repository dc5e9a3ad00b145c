"""Rasters on a GPU: the CPU's bits in every form, large rasters, repeated runs."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.raster import Raster, cost_distance
from tests.raster.landscapes import maze, noise, serpentine
from tests.raster.test_tiles_cuda import FORMS, by_parts, compare, random_parts, same


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "slope"])
@pytest.mark.parametrize(("shape", "connectivity"), FORMS)
def test_every_form(shape: tuple[int, ...], connectivity: int, kind: str) -> None:
    compare(shape, connectivity, kind)


@pytest.mark.parametrize(
    ("shape", "connectivity"), [((1500, 2100), 8), ((700, 900), 16), ((150, 160, 170), 26)]
)
def test_rasters_that_fill_the_device(shape: tuple[int, ...], connectivity: int) -> None:
    for dtype in (np.float32, np.float64):
        same(Raster(noise(shape, dtype), connectivity=connectivity), [tuple(n // 2 for n in shape)])


def test_mazes() -> None:
    for cost in (serpentine(700), maze(300)):
        same(Raster(cost), tuple(np.argwhere(np.isfinite(cost))[0]))


def test_the_same_bits_in_every_run() -> None:
    raster = Raster(noise((500, 700), np.float32, holes=0.2))
    want = cost_distance(raster, (250, 350)).distances
    for _ in range(200):
        got = cost_distance(raster, (250, 350), device="cuda")
        np.testing.assert_array_equal(got.distances, want)


@pytest.mark.parametrize("connectivity", [4, 8, 16, 6, 18, 26])
def test_random_rasters_by_parts(connectivity: int) -> None:
    random_parts(connectivity, range(60))


@pytest.mark.parametrize(("shape", "connectivity"), [((3000, 2100), 8), ((160, 150, 170), 26)])
def test_rasters_that_fill_the_device_by_parts(shape: tuple[int, ...], connectivity: int) -> None:
    raster = Raster(noise(shape, np.float32, holes=0.2), connectivity=connectivity)
    for fraction in (2, 5, 11):
        by_parts(raster, [tuple(n // 2 for n in shape)], shape[0] // fraction)
