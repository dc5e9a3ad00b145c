"""Small graphs with obvious answers: path, star and complete graph."""

from __future__ import annotations

import numpy as np

from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph


@generator("path", "one path through all vertices: the longest possible chain of steps")
def path(
    vertices: int = 1000,
    directed: bool = True,
    low: float = 1,
    high: float = 100,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Return edges 0 -> 1 -> ... -> n-1. Out-degree 1 but for the last vertex. O(n) time.

    Parameters
    ----------
    vertices : int
        Number of vertices, 1 or more.
    directed : bool
        False adds the way back with the same weights.
    """
    n = common.check_int("vertices", vertices, 1)
    dtype = common.weight_type(weight_dtype)
    ids = np.arange(n, dtype=common.index_dtype(n))
    weights = common.random_weights(Stream(seed, "path.weights"), n - 1, dtype, low, high)
    return common.build(ids[:-1], ids[1:], weights, n, directed=directed, family="path", seed=seed)


@generator("star", "one vertex joined to all others: the widest possible step")
def star(
    vertices: int = 1000,
    directed: bool = False,
    low: float = 1,
    high: float = 100,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Return edges 0 -> v for every other v. Out-degree n - 1 at vertex 0. O(n) time.

    Parameters
    ----------
    vertices : int
        Number of vertices, 1 or more.
    directed : bool
        False adds the way back with the same weights.
    """
    n = common.check_int("vertices", vertices, 1)
    dtype = common.weight_type(weight_dtype)
    targets = np.arange(1, n, dtype=common.index_dtype(n))
    weights = common.random_weights(Stream(seed, "star.weights"), n - 1, dtype, low, high)
    return common.build(
        np.zeros_like(targets), targets, weights, n, directed=directed, family="star", seed=seed
    )


@generator("complete", "every ordered pair of vertices is an edge")
def complete(
    vertices: int = 200,
    low: float = 1,
    high: float = 100,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Return all n (n - 1) edges, each direction with its own weight. O(n^2) time.

    Parameters
    ----------
    vertices : int
        Number of vertices, 1 .. 65536.

    Returns
    -------
    Graph
        Directed.
    """
    n = common.check_int("vertices", vertices, 1, 1 << 16)
    dtype = common.weight_type(weight_dtype)
    index = common.index_dtype(n)
    sources = np.repeat(np.arange(n, dtype=index), n - 1)
    targets = np.tile(np.arange(n - 1, dtype=index), n)
    targets += targets >= sources
    weights = common.random_weights(
        Stream(seed, "complete.weights"), len(sources), dtype, low, high
    )
    return common.build(sources, targets, weights, n, directed=True, family="complete", seed=seed)
