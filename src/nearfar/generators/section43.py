"""Counterexample of Martin, Torres, Gavilanes (2009), section 4.3.

A source, many racers, and sinks. After the first iteration every racer is in the frontier at
distance 1, and all of them relax the same sink to different values at once. The right answer is
2, by one racer; a method that compares and then writes without an atomic keeps the value of the
last racer to write. The paper runs it with n = 1024 and one sink, directed and undirected.
"""

from __future__ import annotations

import numpy as np

from nearfar.errors import OptionError
from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph


@generator("section43", "many threads race to relax one vertex (Martin et al. 2009, section 4.3)")
def section43(
    vertices: int = 1024,
    sinks: int = 1,
    order: str = "ascending",
    directed: bool = True,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Make the graph that exposes the write-after-write race of two cost arrays without atomics.

    Vertex 0 has an edge of weight 1 to each of the ``vertices - 1 - sinks`` racers. The racers'
    edges to one sink weigh 1, 2, 3, ..., each once, so every sink is at distance 2 and every
    racer tries another value. Distances from vertex 0 are therefore 0, then 1 for racers, 2 for
    sinks. O(m) time.

    Parameters
    ----------
    vertices : int
        Number of vertices in all, at least sinks + 2; the paper has 1024.
    sinks : int
        Vertices raced for, 1 or more; they have the highest ids. More sinks mean more races in
        one run.
    order : str
        Order of the racers' weights: ``"ascending"`` (the first is right), ``"descending"`` (the
        last is right), or ``"shuffled"`` (a new random order for each sink).
    directed : bool
        False adds the reverse edges with the same weights, which the paper tried as well.
    weight_dtype : str | None
        int32, int64, float32 or float64. None is refused, because without weights no vertices race.
    seed : int
        Any integer, for the shuffled order.

    Returns
    -------
    Graph
        With ``attributes["distances"]`` as the expected answer: ``{"racers": 1, "sinks": 2}``.
    """
    s = common.check_int("sinks", sinks, 1)
    n = common.check_int("vertices", vertices, s + 2)
    common.check_choice("order", order, ("ascending", "descending", "shuffled"))
    dtype = common.weight_type(weight_dtype)
    if dtype is None:
        raise OptionError("weight_dtype is None: the race needs different weights")
    index = common.index_dtype(n)
    r = n - 1 - s
    racers = np.arange(1, r + 1, dtype=index)
    ranks = np.arange(1, r + 1, dtype=np.int64)
    weights = [np.ones(r, np.int64)]
    for sink in range(s):
        if order == "shuffled":
            ranks = Stream(seed, f"section43.sink.{sink}").permutation(r) + 1
        elif order == "descending" and sink == 0:
            ranks = ranks[::-1]
        weights.append(ranks)
    return common.build(
        np.concatenate([np.zeros(r, index), np.tile(racers, s)]),
        np.concatenate([racers, np.repeat(np.arange(r + 1, n, dtype=index), r)]),
        common.to_dtype(np.concatenate(weights), dtype),
        n,
        directed=directed,
        family="section43",
        seed=seed,
        distances={"racers": 1, "sinks": 2},
    )
