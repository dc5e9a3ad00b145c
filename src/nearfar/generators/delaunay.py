"""Delaunay meshes of random points: planar, mean degree near six, Euclidean weights.

The family of the 10th DIMACS challenge's delaunay_nXX graphs. The triangulation is SciPy's (Qhull).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph


@generator("delaunay", "Delaunay mesh of random points in the unit square, Euclidean weights")
def delaunay(
    vertices: int = 500_000,
    order: str = "random",
    weight_dtype: str | None = "float64",
    seed: int = 1,
) -> Graph:
    """Generate the Delaunay triangulation of uniform random points in the unit square.

    Float weights are the Euclidean lengths. Integer weights are lengths in thousandths of the mean
    spacing ``1 / sqrt(n)``, rounded, at least 1. Degrees are 3 or more inside, below six on
    average. O(n log
    n) time.

    Parameters
    ----------
    vertices : int
        Number of points, 1 or more; up to three points are joined directly.
    order : str
        ``"random"``: vertices are numbered as the points are drawn; ``"near"``: along a serpentine
        through the square, so that neighbours have close ids, which suits caches.

    Returns
    -------
    Graph
        Undirected, connected, with coordinates.
    """
    n = common.check_int("vertices", vertices, 1, 1 << 28)
    dtype = common.weight_type(weight_dtype)
    stream = Stream(seed, "delaunay.points")
    points = stream.unit(2 * n).reshape(n, 2)
    if common.check_choice("order", order, ("random", "near")) == "near":
        points = points[_serpentine(points)]
    pairs = _pairs(points)
    weights = None
    if dtype is not None:
        gap = points[pairs[:, 0]] - points[pairs[:, 1]]
        gap *= gap
        weights = np.sqrt(gap[:, 0] + gap[:, 1])
        if dtype.kind == "i":
            weights = np.maximum(np.rint(weights * (1000.0 * np.sqrt(float(n)))), 1.0)
        weights = weights.astype(dtype)
    index = common.index_dtype(n)
    return common.build(
        pairs[:, 0].astype(index),
        pairs[:, 1].astype(index),
        weights,
        n,
        directed=False,
        family="delaunay",
        coordinates=points,
        seed=seed,
    )


def _serpentine(points: NDArray[Any]) -> NDArray[Any]:
    """Order the points along rows of cells of about 16 points, turning at each row's end."""
    side = max(1, int(np.sqrt(len(points) / 16)))
    cell = (points * side).astype(np.int64)
    column = np.where(cell[:, 1] & 1, side - 1 - cell[:, 0], cell[:, 0])
    order: NDArray[Any] = np.argsort(cell[:, 1] * side + column, kind="stable")
    return order


def _pairs(points: NDArray[Any]) -> NDArray[Any]:
    """List the mesh's edges as sorted pairs (lower id first), each once, shape (e, 2)."""
    n = len(points)
    if n <= 3:
        all_pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        return np.array(all_pairs, dtype=np.int64).reshape(-1, 2)
    from scipy.spatial import Delaunay

    triangles = np.sort(Delaunay(points).simplices.astype(np.int64), axis=1)
    both = triangles[:, [0, 0, 1]] * n + triangles[:, [1, 2, 2]]
    keys = np.unique(both)
    return np.column_stack(np.divmod(keys, n))
