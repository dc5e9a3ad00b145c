"""Small worlds: a ring of near neighbours in which some edges were rewired at random.

Watts, Strogatz: "Collective dynamics of 'small-world' networks" (Nature 393, 1998). Departure:
the new end of a rewired edge is uniform among the other vertices, so a few parallel edges occur,
where the original redraws; that keeps every edge independent of the others.
"""

from __future__ import annotations

import numpy as np

from nearfar.errors import OptionError, keyword
from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph


@generator("small_world", "Watts-Strogatz ring of near neighbours with some edges rewired")
def small_world(
    vertices: int = 1_000_000,
    neighbours: int = 8,
    rewire: float = 0.1,
    low: float = 1,
    high: float = 100,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Make a Watts-Strogatz graph.

    Mean degree ``neighbours``; each vertex has the ``neighbours / 2`` edges that it starts, and
    a binomial number of edges that end at it. O(m) time.

    Parameters
    ----------
    vertices : int
        Number of vertices, 1 or more.
    neighbours : int
        Even; each vertex is joined to half as many on either side. Below ``vertices``.
    rewire : float
        Probability, 0 .. 1, that an edge's second end is drawn at random instead.

    Returns
    -------
    Graph
        Undirected, ``vertices * neighbours`` stored edges.
    """
    n = common.check_int("vertices", vertices, 1)
    k = common.check_int("neighbours", neighbours, 0, n - 1)
    if k % 2:
        raise OptionError(
            f"{keyword('neighbours')} is {k}: give an even number, half of them on either side"
        )
    probability = common.check_fraction("rewire", rewire)
    dtype = common.weight_type(weight_dtype)
    index = common.index_dtype(n)
    half = k // 2
    sources = np.repeat(np.arange(n, dtype=index), half)
    targets = (sources.reshape(n, half) + np.arange(1, half + 1, dtype=index)).reshape(-1) % n
    rewired = Stream(seed, "small_world.rewired").below(probability, len(sources))
    if n > 1:
        others = Stream(seed, "small_world.targets").integers(0, n - 2, len(sources), index)
        others += others >= sources
        targets = np.where(rewired, others, targets)
    weights = common.random_weights(
        Stream(seed, "small_world.weights"), len(sources), dtype, low, high
    )
    return common.build(
        sources, targets, weights, n, directed=False, family="small_world", seed=seed
    )
