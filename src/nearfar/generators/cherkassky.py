"""SPGRID, SPRAND and SPACYC of Cherkassky, Goldberg and Radzik, with negative weights.

"Shortest paths algorithms: theory and experimental evaluation" (Mathematical Programming 73,
1996), section 6, and the manuals of the SPLIB generators. The structure and the weight
distributions are theirs; the random numbers are this package's, so instances differ from theirs in
their edges. None has a negative cycle: negative weights occur only where edges lead forward (later
layers, higher ids), or come from potentials, which change no cycle's weight.

The source of an instance is ``graph.attributes["source_vertex"]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, keyword, quoted
from nearfar.generators import common
from nearfar.generators.catalogue import generator
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph

_ARTIFICIAL = 10**8  # weight of the edges from an artificial source
_Part = tuple["NDArray[Any]", "NDArray[Any]", "NDArray[Any]"]  # sources, targets, weights


@generator(
    "spgrid", "layered grids of Cherkassky et al. (1996), also hard and negative", negative=True
)
def spgrid(
    variant: str = "square",
    vertices: int = 65_536,
    artificial_source: bool = False,
    weight_dtype: str | None = "int64",
    seed: int = 1,
) -> Graph:
    """Make a grid of layers with a source joined to the first layer (the paper's Grid families).

    ``square``, ``wide`` (16 layers) and ``long`` (layers of 16): each layer is a cycle in both
    directions, weights 0..10000; each vertex has one edge to its counterpart in the next layer,
    weights 1000..10000. ``hard_positive`` and ``hard_negative``: layers of 32 are one-way cycles of
    weight 1 with 64 random edges of weight 0..100; each vertex has edges 1, 6, 11, 16 and 21 layers
    ahead, with weights 1000..10000 times the square of that distance, or -10000..-1000. O(m) time;
    out-degree 3, or 8 in the hard ones.

    Parameters
    ----------
    variant : str
        ``"square"``, ``"wide"``, ``"long"``, ``"hard_positive"`` or ``"hard_negative"``.
    vertices : int
        Number of grid vertices, 32 or more; rounded down to whole layers. The source is added to
        it.
    artificial_source : bool
        Add a second source with an edge to every vertex: 0 to the first source, 10**8 to the others
        (the paper's -S variants).

    Returns
    -------
    Graph
        Directed; vertex ``layer * width + place``, then the sources.

    Raises
    ------
    OptionError
        For a value outside its range, or weights that do not fit the dtype.
    """
    hard = variant.startswith("hard_")
    common.check_choice(
        "variant", variant, ("square", "wide", "long", "hard_positive", "hard_negative")
    )
    wished = common.check_int("vertices", vertices, 32)
    dtype = common.weight_type(weight_dtype)
    root = int(np.sqrt(float(wished)))
    width = {"square": root, "wide": wished // 16, "long": 16}.get(variant, 32)
    layers = wished // width
    n = layers * width
    ids = np.arange(n)
    place = ids % width
    following = ids - place + (place + 1) % width
    inner, across = Stream(seed, "spgrid.inner"), Stream(seed, "spgrid.across")

    parts: list[_Part]
    if hard:
        parts = [(ids, following, np.ones(n, np.int64))]
        extra = 64 * layers
        layer = np.repeat(np.arange(layers), 64) * width
        from_place = inner.integers(0, width - 1, extra)
        to_place = inner.integers(0, width - 2, extra, start=extra)
        to_place += to_place >= from_place  # no self-loops
        drawn = inner.integers(0, 100, extra, start=2 * extra)
        parts.append((layer + from_place, layer + to_place, drawn))
    else:
        parts = [
            (ids, following, inner.integers(0, 10_000, n)),
            (following, ids, inner.integers(0, 10_000, n, start=n)),
        ]
    low, high = (-10_000, -1_000) if variant == "hard_negative" else (1_000, 10_000)
    for i, ahead in enumerate((1, 6, 11, 16, 21) if hard else (1,)):
        count = max(0, n - ahead * width)
        drawn = across.integers(low, high, count, start=i * n)
        square = ahead * ahead if variant == "hard_positive" else 1
        parts.append((ids[:count], ids[:count] + ahead * width, drawn * square))
    first = np.arange(width)
    entering = Stream(seed, "spgrid.source").integers(low, high, width)
    parts.append((np.full(width, n), first, entering))
    return _instance(parts, n + 1, n, dtype, f"spgrid.{variant}", artificial_source, seed)


@generator(
    "sprand", "cycle plus random edges of Cherkassky et al. (1996), with potentials", negative=True
)
def sprand(
    vertices: int = 65_536,
    edges: int = 262_144,
    low: int = 0,
    high: int = 10_000,
    cycle_weight: int = 1,
    potential: int = 0,
    artificial_source: bool = False,
    weight_dtype: str | None = "int64",
    seed: int = 1,
) -> Graph:
    """Make a Hamiltonian cycle plus uniform random edges (the paper's Rand families).

    ``edges = 4 vertices`` is Rand-4, ``vertices**2 / 4`` Rand-1:4, other ``high`` Rand-Len, and
    ``potential`` above 0 Rand-P: the weight of an edge (u, v) becomes ``w + P(u) - P(v)`` with P
    uniform in ``0 .. potential``, so weights turn negative and the shortest paths stay the same.
    Out-degree is 1 plus a binomial. O(m) time.

    Parameters
    ----------
    vertices : int
        Number of vertices, 2 or more.
    edges : int
        Number of edges in all, at least ``vertices``, of which the first form the cycle.
    low, high : int
        Range of the random edges' weights, both ends included, not negative.
    cycle_weight : int
        Weight of the cycle's edges, 0 or more.
    potential : int
        Largest potential; the published values are 0, 1000, 5000, 10**4, 10**5 and 10**6.
    artificial_source : bool
        Add a source with an edge to every vertex: 0 to vertex 0, 10**8 to the others.
    seed : int
        Any integer; equal seeds give equal graphs, and equal edges whatever the potential.

    Returns
    -------
    Graph
        Directed and strongly connected (but for an artificial source); no self-loops.

    Raises
    ------
    OptionError
        For a value outside its range, or weights that do not fit the dtype.
    """
    n = common.check_int("vertices", vertices, 2)
    m = common.check_int("edges", edges, n)
    common.check_range(np.dtype(np.int64), low, high)
    on_cycle = common.check_int("cycle_weight", cycle_weight, 0)
    top = common.check_int("potential", potential, 0)
    dtype = common.weight_type(weight_dtype)
    ids = np.arange(n)
    extra = m - n
    ends = Stream(seed, "sprand.ends")
    tails = ends.integers(0, n - 1, extra)
    heads = ends.integers(0, n - 2, extra, start=extra)
    heads += heads >= tails
    sources, targets = np.concatenate([ids, tails]), np.concatenate([(ids + 1) % n, heads])
    drawn = Stream(seed, "sprand.weights").integers(int(low), int(high), extra)
    weights = np.concatenate([np.full(n, on_cycle), drawn])
    if top:
        p = Stream(seed, "sprand.potential").integers(0, top, n)
        weights += p[sources] - p[targets]
    parts = [(sources, targets, weights)]
    return _instance(parts, n, 0, dtype, "sprand", artificial_source, seed)


@generator("spacyc", "acyclic graphs of Cherkassky et al. (1996), also all negative", negative=True)
def spacyc(
    variant: str = "positive",
    vertices: int = 16_384,
    edges: int = 262_144,
    negative_share: float = 0.3,
    artificial_source: bool = False,
    weight_dtype: str | None = "int64",
    seed: int = 1,
) -> Graph:
    """Make a path through all vertices plus random edges from lower to higher ids (Acyc families).

    ``positive``: path weights 1, others 0..10000. ``negative``: path weights -1, others
    -10000..0. ``p2n``: all weights uniform in ``-10000 f .. 10000 (1 - f)`` for the negative
    share f. The two ends of a random edge are distinct and uniform, so out-degree falls linearly
    with the id. O(m) time.

    Parameters
    ----------
    variant : str
        ``"positive"``, ``"negative"`` or ``"p2n"`` (from positive to negative).
    vertices : int
        Number of vertices, 2 or more.
    edges : int
        Number of edges in all, at least ``vertices - 1``, of which the first form the path.
    negative_share : float
        Share of negative weights in ``"p2n"``, 0 .. 1; published: 0, .1, .2, .3, .4, .5, .6 and 1.
    artificial_source : bool
        Add a source with an edge to every vertex: 0 to vertex 0, 10**8 to the others.

    Returns
    -------
    Graph
        Directed and acyclic; vertex 0 reaches every other.

    Raises
    ------
    OptionError
        For a value outside its range, or weights that do not fit the dtype.
    """
    common.check_choice("variant", variant, ("positive", "negative", "p2n"))
    n = common.check_int("vertices", vertices, 2)
    m = common.check_int("edges", edges, n - 1)
    share = common.check_fraction("negative_share", negative_share)
    dtype = common.weight_type(weight_dtype)
    ids = np.arange(n)
    extra = m - (n - 1)
    ends = Stream(seed, "spacyc.ends")
    one = ends.integers(0, n - 1, extra)
    other = ends.integers(0, n - 2, extra, start=extra)
    other += other >= one
    stream = Stream(seed, "spacyc.weights")
    if variant == "p2n":
        below = round(10_000 * share)
        weights = stream.integers(-below, 10_000 - below, m)
    else:
        sign = 1 if variant == "positive" else -1
        weights = sign * np.concatenate(
            [np.ones(n - 1, np.int64), stream.integers(0, 10_000, extra)]
        )
    parts = [
        (ids[:-1], ids[1:], weights[: n - 1]),
        (np.minimum(one, other), np.maximum(one, other), weights[n - 1 :]),
    ]
    return _instance(parts, n, 0, dtype, f"spacyc.{variant}", artificial_source, seed)


def _instance(
    parts: list[_Part],
    n: int,
    source: int,
    dtype: np.dtype[Any] | None,
    family: str,
    artificial_source: bool,
    seed: int,
) -> Graph:
    """Join the parts, add the artificial source if requested, and build the Graph."""
    if not isinstance(artificial_source, bool):
        raise OptionError(
            f"{keyword('artificial_source')} is {quoted(artificial_source)}: give True or False"
        )
    if artificial_source:
        ids = np.arange(n)
        parts = [*parts, (np.full(n, n), ids, np.where(ids == source, 0, _ARTIFICIAL))]
        n, source = n + 1, n
    sources, targets, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    index = common.index_dtype(n)
    return common.build(
        sources.astype(index),
        targets.astype(index),
        None if dtype is None else common.to_dtype(weights, dtype),
        n,
        directed=True,
        family=family,
        seed=seed,
        source_vertex=source,
    )
