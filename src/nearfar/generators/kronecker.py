"""Kronecker (R-MAT) graphs as Graph500 and GAP define them.

Chakrabarti, Zhan, Faloutsos: "R-MAT: A recursive model for graph mining" (SDM 2004); Graph500
specification, section "Generating the edge list": 2**scale vertices, edge factor 16, quadrants A
= 0.57, B = 0.19, C = 0.19, D = 0.05, vertices relabelled at random. Beamer, Asanovic, Patterson:
"The GAP benchmark suite" (2015), table 2: the same, symmetrised, with integer weights uniform in
1..255. Self-loops and parallel edges occur and stay unless ``simple`` is set.
"""

from __future__ import annotations

import numpy as np

from nearfar.errors import OptionError
from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream, threads
from nearfar.graph.graph import Graph


@generator("kronecker", "scale-free R-MAT graph of Graph500 and GAP (2**scale vertices)")
def kronecker(
    scale: int = 20,
    edge_factor: int = 16,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    symmetrize: bool = True,
    scramble: bool = True,
    simple: bool = False,
    low: float = 1,
    high: float = 255,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Generate a Kronecker graph of Graph500 or GAP.

    Degrees follow a heavy-tailed mixture; many vertices have none (a third at
    scale 18). O(m scale) time.

    Parameters
    ----------
    scale : int
        Base-2 logarithm of the number of vertices, 0 .. 36.
    edge_factor : int
        Edges generated per vertex; symmetrised graphs store twice as many.
    a, b, c : float
        Quadrant probabilities; the fourth is 1 - a - b - c.
    symmetrize : bool
        Store every edge in both directions, with one weight (GAP's kron).
    scramble : bool
        Relabel the vertices by a random bijection, so that ids do not depend on degrees.
    simple : bool
        Drop self-loops, and all but the first of parallel edges.

    Returns
    -------
    Graph
        ``2**scale`` vertices; undirected if symmetrised.
    """
    from nearfar import _cpu

    levels = common.check_int("scale", scale, 0, 36)
    factor = common.check_int("edge_factor", edge_factor, 0, 1 << 20)
    limits = np.cumsum(
        [common.check_fraction(name, p) for name, p in (("a", a), ("b", b), ("c", c))]
    )
    if limits[-1] > 1.0 + 1e-12:
        raise OptionError(f"a + b + c is {limits[-1]:g}: give at most 1")
    dtype = common.weight_type(weight_dtype)
    n = 1 << levels
    m = n * factor
    index = common.index_dtype(n)
    sources, targets = np.empty(m, index), np.empty(m, index)
    first, second, third = (round(float(limit) * 2**32) for limit in limits)
    _cpu.generator_kronecker_edges(
        sources,
        targets,
        levels,
        Stream(seed, "kronecker.edges").key,
        Stream(seed, "kronecker.scramble").key,
        first,
        second,
        third,
        scramble,
        threads(),
    )
    weights = common.random_weights(Stream(seed, "kronecker.weights"), m, dtype, low, high)
    if simple:
        keep = common.first_of_parallel(sources, targets, n, directed=not symmetrize)
        sources, targets = sources[keep], targets[keep]
        weights = None if weights is None else weights[keep]
    return common.build(
        sources, targets, weights, n, directed=not symmetrize, family="kronecker", seed=seed
    )
