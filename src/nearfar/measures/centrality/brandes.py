"""Betweenness: the share of shortest paths that pass through a vertex or an edge.

``brandes.cpp`` sums it over the sources.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import (
    GraphError,
    OptionError,
    ZeroCycleError,
    does_not_fit,
    keyword,
    quoted,
    wrong_device,
)
from nearfar.generators.random import Stream
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances.backbone import MANY_EDGES, without_longer
from nearfar.graph.saturation import widest
from nearfar.graph.slots import Slot
from nearfar.graph.turns import TurnGraph
from nearfar.measures.paths.order_free import in_steps
from nearfar.measures.simple import (
    Simple,
    check_tolerance,
    many_rows,
    measured_turns,
    on_device_or_cores,
    refuse_cycle,
    simple,
    source_indices,
    takes_device,
)
from nearfar.options import Device, Devices, check_limit
from nearfar.prepared.prepared import Prepared
from nearfar.solve.steps.plan import search_once
from nearfar.solve.steps.request import check_stats
from nearfar.system.threads import check_threads

_MANY_SOURCES = 512  # that take longer than finding edges that no shortest path contains
_BACKWARD: Slot[NDArray[np.int64]] = Slot("backward edges")


def betweenness(
    graph: Any,
    sources: Iterable[Any] | None = None,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    targets: Iterable[Any] | None = None,
    edges: bool = False,
    normalized: bool = True,
    endpoints: bool = False,
    samples: int | None = None,
    seed: int | None = None,
    tolerance: float | None = None,
    devices: Devices = None,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[np.float64]:
    """Compute the betweenness of all vertices or all edges.

    The betweenness of a vertex is the sum, over all pairs of other vertices, of the share of
    shortest paths between them that pass through it; for an edge, the sum is over all pairs of
    vertices.

    Parameters
    ----------
    graph : graph_like or TurnGraph
        Graph with non-negative weights.
    sources, targets : vertices or None
        Ends of the paths, each once; None means every vertex.
    weight : str, callable or None
        As for :func:`nearfar.sssp`.
    device : {"auto", "cpu", "cuda"}
        ``"auto"`` uses a GPU, if there is one, for all but small requests.
    threads : int or None
        None uses all cores. The result has the same bits for any number.
    limit : int, float or None
        Greatest distance of pairs that count, inclusive.
    edges : bool
        Return values of edges instead of vertices.
    normalized : bool
        Divide by the number of pairs: (n - 1) (n - 2) for vertices, n (n - 1) for edges and with
        ``endpoints``. False only halves the values of an undirected graph, whose pairs are counted
        from both ends.
    endpoints : bool
        Count a path for its first and last vertex too.
    samples : int or None
        Number of sources drawn at random; values are scaled to estimate those of all sources.
    seed : int or None
        Seed of the draw; None gives a different draw in each call.
    tolerance : float or None
        For float weights: a path that is longer than the shortest by this share counts as equally
        long, tested edge by edge. None requires equal sums in fixed point.
    devices : "all", list of int or None
        CUDA devices that share the sources; None is the current one.
    progress : callable or None
        Called with the numbers of finished sources and of all sources.

    Returns
    -------
    float64 array, shape (n,), or (m,) with ``edges``
        Values by vertex index, or by position in :attr:`nearfar.Graph.indices`. Of parallel edges
        the lightest of lowest id has the whole value. In an undirected graph both directions of an
        edge have the sum of both.

    Raises
    ------
    NegativeWeightError
        For negative weights.
    ZeroCycleError
        If a source reaches a cycle of weight 0, where the number of paths is infinite.
    DistanceOverflowError
        If a distance does not fit 64 bits.
    OptionError
        For ``samples`` together with ``sources``, or out of range; for ``tolerance`` on a GPU.
    OutOfMemoryError
        If a GPU has too little memory, before anything is allocated.

    Notes
    -----
    Brandes (2001): O(n + m) per source without weights, else a search and two passes over the
    edges; O(n + m) memory per worker. Relative errors are below 1e-12 on graphs whose paths have
    thousands of edges. A GPU adds in another order, the same in every run on an equal number of
    devices of one kind. NetworkX misses paths over edges of weight 0 where it settles the head
    first.

    References
    ----------
    U. Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology
    25(2), 2001. U. Brandes, C. Pich, "Centrality estimation in large networks", International
    Journal of Bifurcation and Chaos 17(7), 2007.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 2], [1, 2, 3], directed=False)
    >>> nearfar.measures.betweenness(g, normalized=False)
    array([0., 2., 2., 0.])
    """
    check_stats(None, progress)
    solved = measured_turns(graph, weight)
    n = solved.n_vertices
    if draws_nothing(samples, seed):
        drawn = source_indices(solved, sources)
    elif sources is not None:
        raise OptionError("give sources or samples: samples draws the sources itself")
    else:
        drawn = sampled_sources(n, samples, seed)
    of_turns = isinstance(solved, TurnGraph)
    found = (_raw_with_turns if of_turns else raw_betweenness)(
        solved,  # type: ignore[arg-type]
        drawn,
        targets=None if targets is None else source_indices(solved, targets, "target"),
        limit=limit,
        edges=edges,
        endpoints=endpoints,
        tolerance=tolerance,
        device=device,
        devices=devices,
        threads=threads,
        progress=progress,
    )
    if progress is not None:
        progress(len(drawn), len(drawn))
    inside = not (edges or endpoints)
    own, other = scales(n, solved.directed, inside, normalized, samples)
    if own == other:
        found *= other
        return found
    drawn_ones = np.zeros(n, dtype=bool)
    drawn_ones[drawn] = True
    return found * np.where(drawn_ones, own, other)


def _raw_with_turns(
    turns: TurnGraph,
    sources: NDArray[np.int64],
    *,
    targets: NDArray[np.int64] | None,
    edges: bool,
    endpoints: bool,
    **how: Any,
) -> NDArray[np.float64]:
    """Return sums for paths from starts to ends; a path counts at every visit of a vertex."""
    begins = turns.starts[sources]
    how["targets"] = turns.ends if targets is None else np.sort(turns.ends[targets])
    split = turns.starts != turns.ends
    passes = 1 if edges or not split.any() else 2
    progress, begun = how.pop("progress", None), 0

    def sums(**what: Any) -> NDArray[np.float64]:
        nonlocal begun
        before, begun = begun, begun + 1

        def report(done: float, total: float) -> None:
            progress(before * total + done, passes * total)

        how["progress"] = None if progress is None else report
        try:
            return raw_betweenness(turns.graph, begins, **what, **how)
        except ZeroCycleError as error:
            cycle = turns.name_of(turns.vertices[np.array(error.cycle, dtype=np.int64)])
            raise ZeroCycleError(cycle.tolist()) from None

    if edges:
        return turns.to_edges(sums(edges=True))
    at = sums(endpoints=endpoints)
    found = at[turns.starts]
    found[split] += at[turns.ends][split]
    if not split.any():
        return found
    if endpoints:  # start and end of the same vertex do not form a pair
        ended = np.zeros(len(found), dtype=bool)
        ended[slice(None) if targets is None else targets] = True
        own = sources[split[sources] & ended[sources]]
        found[own] -= 2
    # A path passes a split vertex where an edge leaves one of its copies.
    copy = np.ones(turns.graph.n_vertices, dtype=bool)
    copy[turns.starts] = copy[turns.ends] = False
    tails = turns.graph.tails(np.int64)
    onward = copy[tails] & (turns.edges >= 0)
    np.add.at(found, turns.vertices[tails[onward]], sums(edges=True)[onward])
    return found


def raw_betweenness(
    graph: Graph,
    sources: NDArray[np.int64],
    *,
    targets: NDArray[np.int64] | None = None,
    limit: Any = None,
    edges: bool = False,
    endpoints: bool = False,
    tolerance: float | None = None,
    device: Any = "cpu",
    devices: Devices = None,
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[np.float64]:
    """Return unscaled sums over the sources; sources and targets are indices."""
    workers = check_threads(threads)
    relative = check_tolerance(graph, tolerance)
    if not relative:  # fixed point: ties do not depend on summation order
        floats = graph.weight_dtype
        graph, fixed = in_steps(graph)
        if fixed is not None and (bound := check_limit(limit, floats)) is not None:
            limit = fixed.steps_within(float(bound), floats)
    reduced = simple(graph)
    if devices is not None:
        if device not in ("auto", "cuda", "gpu"):
            raise OptionError(
                f"{keyword('devices')} requires {keyword('device', 'cuda')}, not {quoted(device)}"
            )
        device = "cuda"

    def on_cores() -> NDArray[np.float64]:
        solved = reduced.graph
        # Whatever the threads and earlier calls, since sums in another order have other bits.
        plain = not (edges or relative or isinstance(graph, Prepared))
        if plain and len(sources) >= _MANY_SOURCES and solved.n_edges >= MANY_EDGES:
            solved = without_longer(solved, workers, search_once)
        return _on_cores(
            graph, solved, sources, targets, limit, edges, endpoints, relative, workers, progress
        )

    def on_device() -> NDArray[np.float64]:
        from nearfar.measures.centrality.device_shares import ZeroCycleFrom, device_shares

        try:
            return device_shares(
                reduced.graph,
                sources,
                targets=targets,
                limit=limit,
                edges=edges,
                endpoints=endpoints,
                devices=devices,
                rows_of=graph.without_names() if isinstance(graph, Prepared) else None,
                progress=progress,
            )
        except ZeroCycleFrom as looped:  # the CPU finds and names the cycle
            only = np.array([looped.source], dtype=np.int64)
            _on_cores(graph, reduced.graph, only, None, limit, False, False, 0.0, workers)
            name = quoted(graph.name_of(looped.source))
            raise wrong_device(
                f"the GPU found a cycle of weight zero from {name}, but the CPU did not"
            ) from None

    takes = takes_device(device, reduced.graph, len(sources), relative)
    found = on_device_or_cores(device, on_device, on_cores) if takes else on_cores()
    if not edges:
        return found
    if not graph.directed:
        solved = reduced.graph
        found = found + found[_BACKWARD.of(solved, lambda: _backward(solved))]
    return _spread_out(graph, reduced, found)


def _on_cores(
    graph: Graph,
    solved: Graph,
    sources: NDArray[np.int64],
    targets: NDArray[np.int64] | None,
    limit: Any,
    edges: bool,
    endpoints: bool,
    relative: float,
    workers: int,
    progress: Callable[[float, float], None] | None = None,
) -> NDArray[np.float64]:
    """Return sums computed on the CPU, per vertex or per edge of the simple graph `solved`."""
    rows = None if limit is not None else many_rows(graph, len(sources), workers)
    while True:
        within = check_limit(limit, solved.weight_dtype)
        on_vertices = np.zeros(solved.n_vertices)
        on_edges = np.zeros(solved.n_edges) if edges else None
        done = _cpu.betweenness(
            solved.view,
            solved.is_weighted,
            sources,
            targets,
            None if within is None else float(within),
            relative,
            endpoints,
            on_vertices,
            on_edges,
            workers,
            rows,
            progress,
        )
        refuse_cycle(graph, done["cycle"])
        if not done["saturated"]:
            return on_vertices if on_edges is None else on_edges
        wide = widest(solved)
        if wide is solved:
            raise does_not_fit(solved.weight_dtype)
        solved = wide


def draws_nothing(samples: Any, seed: Any) -> bool:
    """Return whether all vertices are used; a seed without samples is refused."""
    if samples is None and seed is not None:
        raise OptionError(
            f"{keyword('seed')} is {quoted(seed)}: give {keyword('samples', ...)} too, otherwise "
            "nothing is drawn"
        )
    return samples is None


def sampled_sources(n: int, samples: Any, seed: Any) -> NDArray[np.int64]:
    """Return a random sample of the n vertices without repetition, sorted."""
    whole = isinstance(samples, (int, np.integer)) and not isinstance(samples, bool)
    if not whole or not 1 <= samples <= n:
        raise OptionError(
            f"{keyword('samples')} is {quoted(samples)}: give an integer from 1 to {n}, the "
            "vertices"
        )
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, (int, np.integer))):
        raise OptionError(f"{keyword('seed')} is {quoted(seed)}: give an integer, or None")
    start = secrets.randbits(63) if seed is None else int(seed)
    return np.sort(Stream(start, "betweenness.sources").permutation(n)[: int(samples)])


def scales(
    n: int, directed: bool, inside: bool, normalized: bool, samples: int | None
) -> tuple[float, float]:
    """Return the factors of drawn sources and of other vertices, as NetworkX defines them."""
    ends = n - 1 if inside else n  # possible first vertices of a path
    if ends < 2:
        return 1.0, 1.0
    halved = 1 if directed else 2

    def factor(sources: int) -> float:
        if sources == 0:
            return float("nan")
        return 1 / (sources * (ends - 1)) if normalized else ends / (sources * halved)

    if samples is None:
        return factor(ends), factor(ends)
    return factor(samples - 1 if inside else samples), factor(samples)


def _backward(graph: Graph) -> NDArray[np.int64]:
    """Return the opposite direction of every edge of an undirected graph."""
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    order = np.lexsort((heads, tails))
    there = np.lexsort((tails, heads))  # the same pairs, if both directions are stored
    if not ((tails[order] == heads[there]) & (heads[order] == tails[there])).all():
        raise GraphError("directed is False, but an edge is stored in one direction only")
    backward = np.empty(graph.n_edges, dtype=np.int64)
    backward[order] = there
    return backward


def _spread_out(graph: Graph, reduced: Simple, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place the values of the simple graph's edges at their positions in the given graph."""
    if reduced.edges is None:
        return values
    found = np.zeros(graph.n_edges)
    found[reduced.edges] = values
    return found
