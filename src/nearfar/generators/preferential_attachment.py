"""Preferential attachment: scale-free graphs that grow a vertex at a time.

Barabasi, Albert: "Emergence of scaling in random networks" (Science 286, 1999). Batagelj,
Brandes: "Efficient generation of large random networks" (Phys. Rev. E 71, 2005), section IV: a
uniform draw from the list of all edge ends is a draw proportional to degree. Sanders, Schulz:
"Scalable generation of scale-free graphs" (IPL 116, 2016): with hashed random numbers an end is
looked up by repeating the draw that made it, so all edges are made at once, in any order.
"""

from __future__ import annotations

import numpy as np

from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream, threads
from nearfar.graph.graph import Graph


@generator(
    "preferential_attachment", "Barabasi-Albert graph: new vertices prefer those of high degree"
)
def preferential_attachment(
    vertices: int = 1_000_000,
    attach: int = 8,
    simple: bool = False,
    low: float = 1,
    high: float = 255,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Make a graph where each vertex is joined to k earlier ones, drawn proportionally to degree.

    Degrees follow a power law of exponent 3 with mean ``2 attach``; the graph is connected. A
    vertex may draw the same neighbour twice (vertex 1 always draws vertex 0) unless ``simple`` is
    set. O(m log m) time with high probability, nearly always O(m).

    Parameters
    ----------
    vertices : int
        Number of vertices, 1 or more.
    attach : int
        Edges that each vertex but the first adds, 1 or more.
    simple : bool
        Drop all but the first of parallel edges.

    Returns
    -------
    Graph
        Undirected.
    """
    from nearfar import _cpu

    n = common.check_int("vertices", vertices, 1)
    k = common.check_int("attach", attach, 1, 1 << 20)
    dtype = common.weight_type(weight_dtype)
    index = common.index_dtype(n)
    sources = np.repeat(np.arange(1, n, dtype=index), k)
    targets = np.empty(len(sources), index)
    stream = Stream(seed, "preferential_attachment.targets")
    _cpu.generator_preferential_targets(targets, k, stream.key, threads())
    weights = common.random_weights(
        Stream(seed, "preferential_attachment.weights"), len(sources), dtype, low, high
    )
    if simple:
        keep = common.first_of_parallel(sources, targets, n, directed=False)
        sources, targets = sources[keep], targets[keep]
        weights = None if weights is None else weights[keep]
    return common.build(
        sources, targets, weights, n, directed=False, family="preferential_attachment", seed=seed
    )
