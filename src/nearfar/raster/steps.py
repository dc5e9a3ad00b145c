"""Steps between the cells of a raster: their offsets, and the factors of their costs."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.graph.given import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray


@functools.cache
def offsets(ndim: int, connectivity: int, flat: bool = False) -> NDArray[np.int8]:
    """Return the read-only offsets of a cell's neighbours, ascending by position in the array.

    Engines store no planes around a single one, ``flat``, which has only those within it.
    """
    reach = 2 if connectivity == 16 else 1
    kept = []
    for offset in itertools.product(range(-reach, reach + 1), repeat=ndim):
        moved = sum(map(abs, offset))
        longest = max(map(abs, offset))
        if connectivity == 16:
            fits = longest == 1 or (longest == 2 and moved == 3)
        else:
            most = {4: 1, 8: 2, 6: 1, 18: 2, 26: 3}[connectivity]
            fits = longest == 1 and moved <= most
        if fits and not (flat and offset[0]):
            kept.append(offset)
    return frozen(np.array(kept, dtype=np.int8))


@functools.lru_cache(maxsize=64)
def factors(
    ndim: int,
    connectivity: int,
    flat: bool,
    sizes: tuple[float, ...],
    measured: bool,
    share: float,
    dtype: np.dtype[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the read-only factor of the costs of each step, and the inverse of its length."""
    lengths = np.sqrt(((offsets(ndim, connectivity, flat) * np.array(sizes)) ** 2).sum(axis=1))
    counted = lengths if measured else np.ones(len(lengths))
    with np.errstate(over="ignore"):  # of cells that are very large or small
        return frozen((counted * share).astype(dtype)), frozen((1.0 / lengths).astype(dtype))
