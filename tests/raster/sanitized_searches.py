"""Searches over small rasters of every kind by one and several workers, for runs under sanitizers.

``python sanitized_searches.py`` prints the number of compared distances.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from nearfar.raster import Raster, cost_distance

FLAT, DEEP = (150, 200), (40, 70, 130)


def rasters(rng: np.random.Generator) -> Iterator[Raster]:
    """Yield smooth and rough costs with barriers, over every neighbourhood and dtype."""
    for shape, neighbourhoods in ((FLAT, (4, 8, 16)), (DEEP, (6, 18, 26))):
        for connectivity in neighbourhoods:
            for dtype in ("float32", "float64", "int32", "int64"):
                options: dict[str, Any] = {"connectivity": connectivity}
                if dtype.startswith("int") or rng.random() < 0.5:
                    options |= {"step": "enter", "lengths": False}
                for most in (2, 256):
                    cost = rng.integers(0, most, shape).astype(dtype)
                    if dtype.startswith("float"):
                        cost[rng.random(shape) < 0.1] = np.nan
                    cost[0, ..., 0] = 1
                    yield Raster(cost, **options)


def main() -> int:
    """Compare every search of several workers with that of one, which is proven."""
    rng = np.random.default_rng(5)
    compared = 0
    for raster in rasters(rng):
        source = (0,) * len(raster.shape)
        one = cost_distance(raster, source, device="cpu", threads=1)
        one.verify()
        for threads in (2, 5):
            many = cost_distance(raster, source, device="cpu", threads=threads)
            np.testing.assert_array_equal(many.distances, one.distances)
            compared += many.distances.size
        limit = float(np.median(one.distances[one.reachable]))
        near = cost_distance(raster, source, device="cpu", threads=2, limit=limit)
        np.testing.assert_array_equal(near.reachable, one.reachable & (one.distances <= limit))
        compared += near.distances.size
        ends = [tuple(size // k for size in raster.shape) for k in (2, 3, 5)]
        ends = [cell for cell in ends if one.reachable[cell]]
        to_ends = cost_distance(raster, source, device="cpu", threads=3, targets=ends)
        assert all(to_ends.distances[cell] == one.distances[cell] for cell in ends)
    print(compared)
    return 0


if __name__ == "__main__":
    sys.exit(main())
