"""Rectangular grids, with a fraction of the edges missing: many steps, few vertices per step."""

from __future__ import annotations

import numpy as np

from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph


@generator("grid", "rows x columns grid, a fraction of the edges missing")
def grid(
    rows: int = 1500,
    columns: int = 1500,
    missing: float = 0.1,
    low: float = 1,
    high: float = 1000,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Generate a grid: neighbours are joined in both directions with one weight.

    Vertex ``r * columns + c`` is at x = c, y = r. Every undirected edge is missing with
    probability ``missing``, independently, so degrees are binomial(4, 1 - missing) inside. O(rows
    columns) time.

    Parameters
    ----------
    rows, columns : int
        Size, 1 or more each.
    missing : float
        Share of the edges that are left out, 0 .. 1.

    Returns
    -------
    Graph
        Undirected, with coordinates.
    """
    r = common.check_int("rows", rows, 1)
    c = common.check_int("columns", columns, 1)
    lost = common.check_fraction("missing", missing)
    dtype = common.weight_type(weight_dtype)
    n = r * c
    index = common.index_dtype(n)
    # Edge 2v goes right from v, edge 2v + 1 down: the numbers of an edge do not depend on which
    # others are missing.
    kept = ~Stream(seed, "grid.missing").below(lost, 2 * n)
    kept.reshape(r, c, 2)[:, -1, 0] = False
    kept.reshape(r, c, 2)[-1, :, 1] = False
    edges = np.flatnonzero(kept)
    weights = common.random_weights(Stream(seed, "grid.weights"), 2 * n, dtype, low, high)
    sources = (edges >> 1).astype(index)
    targets = sources + np.where(edges & 1, c, 1).astype(index)
    y, x = np.divmod(np.arange(n), c)
    return common.build(
        sources,
        targets,
        None if weights is None else weights[edges],
        n,
        directed=False,
        family="grid",
        coordinates=np.column_stack([x, y]).astype(np.float64),
        seed=seed,
    )
