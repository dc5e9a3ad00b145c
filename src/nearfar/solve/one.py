"""Distances and paths from one source, and the path to one target."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Unpack, cast

from nearfar.algorithms.bidirectional.cpu import path_between
from nearfar.answer.paths import Paths
from nearfar.answer.turn_paths import turn_paths
from nearfar.choose import measured
from nearfar.errors import OptionError, VertexError, not_reached, quoted
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.same_distances import backbone
from nearfar.graph.turns import TurnGraph
from nearfar.options import Device, check_limit
from nearfar.prepared import is_prepared
from nearfar.raster.raster import Raster
from nearfar.raster.solve import cost_distance
from nearfar.solve.option_types import SearchOptions
from nearfar.solve.places.entries import with_place
from nearfar.solve.places.given import is_place
from nearfar.solve.steps.attempt import solve
from nearfar.solve.steps.plan import first_plan, graph_to_search
from nearfar.solve.steps.request import (
    as_graph,
    check_stats,
    check_targets,
    make_request,
    refuse_for_raster,
    refuse_tree_of_turns,
    vertex_indices,
)
from nearfar.system.devices.arrays import is_device_array
from nearfar.system.threads import check_threads

#: Reason for the choice if a prepared graph answers a point query.
WALKED = "prepared: a walk to the root of the elimination tree from both ends"


def sssp(
    graph: GraphLike,
    source: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    method: str = "auto",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    targets: Iterable[Any] | None = None,
    predecessors: bool = False,
    stats: dict[str, Any] | None = None,
    trace: bool = False,
    allow_unsafe: bool = False,
    **options: Unpack[SearchOptions],
) -> Paths:
    """Compute exact shortest-path distances from one source.

    Parameters
    ----------
    graph : graph_like, TurnGraph or Raster
        Graph. With turns, the answer has vertices and edges of the original graph. For a
        :class:`nearfar.raster.Raster`, cells are tuples and the result is a
        :class:`nearfar.raster.Surface`.
    source : int or vertex name, or a place
        Source. A place is ``(lon, lat)`` or ``(x, y)``, at least one of them a float, or a result
        of :meth:`nearfar.Graph.snap`. It becomes the last vertex of ``Paths.graph``, a copy with
        float64 weights.
    weight : str, callable or None
        Edge attribute of a NetworkX graph; None counts edges. See :meth:`nearfar.Graph.from_any`.
    method : str
        ``"auto"``, a method (``"delta_stepping"``), a family (``"dijkstra"``) or a variant id
        (``"near_far@cuda"``).
    device : {"auto", "cpu", "cuda", "gpu"}
        Device of the search. ``"auto"`` is the device of the graph's arrays, or the faster one for
        a graph on the host.
    threads : int or None
        CPU workers, at most 64; None uses all cores.
    limit : number or None
        Inclusive limit, at least 0, in units of the weights; vertices beyond it are unreached.
    targets : vertices or None
        Vertices to reach: the search stops once all of them are settled, and vertices beyond the
        farthest of them are unreached. With negative weights the search covers every vertex.
    predecessors : bool
        Whether to compute predecessors at once instead of on first use.
    stats : dict or None
        Dict to be filled with :attr:`Paths.stats`, the engine and the reason for the choice.
    trace : bool
        Whether to record arrays with one entry per iteration in :attr:`Paths.stats`, if the variant
        supports it.
    allow_unsafe : bool
        Whether to permit a variant that is wrong by design.
    **options
        Options of the variant, such as ``delta``.

    Returns
    -------
    Paths

    Raises
    ------
    GraphError
        If the named weight does not exist; the message lists the numeric attributes.
    VertexError, OptionError
        For an invalid source, target or option.
    NegativeWeightError
        If the method needs non-negative weights.
    NegativeCycleError
        If the source reaches a cycle of negative weight.
    DistanceOverflowError
        If a distance of the answer does not fit 64 bits.
    VariantUnavailable
        If the method cannot run on this machine or graph.

    Notes
    -----
    All methods return the same bits for non-negative weights. Distances have the dtype of the
    weights, or its 64-bit form if a distance does not fit. O((n + m) log n) at worst on the CPU for
    non-negative weights.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> nearfar.sssp(g, 0).path_to(2)
    [0, 1, 2]
    """
    if isinstance(graph, Raster):
        check_stats(stats)
        refuse_for_raster(method, **options, weight=weight != "weight", trace=trace)
        surface: Any = cost_distance(
            graph, source, targets=targets, limit=limit, device=device, threads=threads, stats=stats
        )
        return cast("Paths", surface)
    turns = graph if isinstance(graph, TurnGraph) else None
    if turns is not None:
        refuse_tree_of_turns(predecessors)
        if not isinstance(source, int) and is_place(turns.original, source):
            raise OptionError(
                "with turns the source must be a vertex, not a place: use nearfar.isochrones, "
                "table or route for places"
            )
        if targets is not None:
            targets = turns.ends[vertex_indices(turns.original, targets, "target")]
        begin = turns.original.index_of(source, "source")
        graph, source = turns.graph, int(turns.starts[begin])
    solved = as_graph(graph, weight)
    placed = turns is None and not isinstance(source, int) and is_place(solved, source)
    if placed:
        solved, source = with_place(solved, source)
    paths = solve_one(
        solved,
        source,
        once=placed or not isinstance(graph, Graph),
        method=method,
        device=device,
        threads=threads,
        limit=limit,
        targets=targets,
        predecessors=predecessors,
        stats=stats,
        trace=trace,
        allow_unsafe=allow_unsafe,
        options=dict(options),
    )
    return paths if turns is None else turn_paths(turns, paths, begin)


def solve_one(
    graph: Graph,
    source: Any,
    *,
    once: bool,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    limit: float | None = None,
    targets: Iterable[Any] | None = None,
    predecessors: bool = False,
    stats: dict[str, Any] | None = None,
    trace: bool = False,
    allow_unsafe: bool = False,
    options: dict[str, Any] | None = None,
) -> Paths:
    """Solve as :func:`sssp`; ``once``: the graph was built for this search only."""
    entered = time.perf_counter()
    check_stats(stats)
    start = _start(graph, source)
    request = make_request(
        graph,
        "sssp",
        (start,),
        once=once,
        method=method,
        device=device,
        threads=threads,
        limit=limit,
        targets=check_targets(graph, targets),
        predecessors=predecessors,
        stats="full" if trace else "basic",
    )
    plan = first_plan(graph, request, method, options or {}, allow_unsafe=allow_unsafe)
    found = solve(plan, request.sources)
    cuda = found.plan.variant.device == "cuda"
    paths = Paths(
        graph,
        start,
        found.distances,
        engine=found.plan.variant.id,
        reason=found.plan.reason,
        stats=found.stats,
        limit=request.limit,
        _predecessors=found.predecessors,
        _threads=request.threads,
        _waits=not (cuda and found.plan.waits_on_cores),
    )
    if predecessors:
        began = time.perf_counter()
        _ = paths.predecessors  # computed now, on the device of the distances
        paths.stats.setdefault("predecessor_seconds", time.perf_counter() - began)
    if cuda and not graph.on_device and is_device_array(paths.distances):
        began = time.perf_counter()
        paths.bring_to_host()
        paths.stats["download_seconds"] = time.perf_counter() - began
        measured.downloaded(found.plan.timed, request.threads, paths.stats["download_seconds"])
    paths.stats["call_seconds"] = time.perf_counter() - entered
    if stats is not None:
        stats.update(paths.stats, engine=paths.engine, reason=paths.reason)
    return paths


def _start(graph: Graph, source: Any) -> int:
    """Return the index of a source, which must be one vertex."""
    try:
        return graph.index_of(source, "source")
    except VertexError:
        if graph.n_vertices == 0:
            words = f"source {quoted(source)} is not in the graph: it has no vertices"
            raise VertexError(words) from None
        if isinstance(source, (list, set, range)) or getattr(source, "ndim", 0) > 0:
            raise VertexError(
                "source is several vertices: use nearfar.distances for one row per source, or "
                "nearfar.nearest for the nearest of them"
            ) from None
        raise


def shortest_path(
    graph: GraphLike,
    source: Any,
    target: Any,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    method: str = "auto",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    stats: dict[str, Any] | None = None,
    **options: Unpack[SearchOptions],
) -> tuple[list[Any], Any]:
    """Return one shortest path and its length.

    Parameters
    ----------
    graph : graph_like or Raster
    source, target : int or vertex name
    weight, method, device, threads, limit, stats, **options
        As for :func:`sssp`.

    Returns
    -------
    path : list
        External names of the vertices, source first.
    length : int or float

    Raises
    ------
    UnreachableError
        If the target cannot be reached, or is beyond the limit.

    Notes
    -----
    A search from both ends comes first. It costs what both reach and ends early; where they reach
    much of the graph, as between far points of a road network, a search from the source goes on.

    Of several shortest paths, a search returns the one with the smallest predecessors. A prepared
    graph answers by :meth:`nearfar.Prepared.path` in microseconds and may return another path of
    the same length; name a method to search instead.
    """
    if is_prepared(graph):
        graph = as_graph(graph, weight)
    walks = is_prepared(graph) or is_prepared(getattr(graph, "graph", None))
    if walks and method == "auto" and device != "cuda" and not options:
        return _walked(graph, source, target, limit, stats)
    if isinstance(graph, Graph) and method == "auto" and device in ("auto", "cpu") and not options:
        workers = check_threads(threads)
        graph, weight = as_graph(graph, weight), "weight"
        found = _from_both_ends(graph, source, target, limit, stats, workers)
        if found is not None:
            return found
    paths = sssp(
        graph,
        source,
        weight=weight,
        method=method,
        device=device,
        threads=threads,
        limit=limit,
        targets=[target],
        stats=stats,
        **options,
    )
    return paths.path_to(target), paths.distance_to(target)


def _from_both_ends(
    graph: Graph,
    source: Any,
    target: Any,
    limit: Any,
    stats: dict[str, Any] | None,
    threads: int,
) -> tuple[list[Any], Any] | None:
    """Return a path by searches from both ends, or None if a search from the source is to run."""
    entered = time.perf_counter()
    if graph.on_device or is_place(graph, source):
        return None
    check_stats(stats)
    start = _start(graph, source)
    end = graph.index_of(target, "target")
    bound = check_limit(limit, graph.weight_dtype)
    many = graph.n_edges >= backbone.MANY_EDGES  # small graphs save two calls
    searched = graph_to_search(graph, threads) if many else graph
    found = path_between(searched, start, end, bound)
    if found is None:
        return None
    if many:
        backbone.record(graph, found.stats["seconds"])
    if stats is not None:
        stats.update(found.stats, call_seconds=time.perf_counter() - entered)
    if not found.vertices:
        raise not_reached(graph.name_of(start), target, bound)
    return [graph.name_of(v) for v in found.vertices], found.length


def _walked(
    graph: Any, source: Any, target: Any, limit: Any, stats: dict[str, Any] | None
) -> tuple[list[Any], Any]:
    """Return a path of a prepared graph, found by walks to the root, and its length."""
    check_stats(stats)
    solved = graph.graph if isinstance(graph, TurnGraph) else graph
    bound = check_limit(limit, solved.weight_dtype)
    began = time.perf_counter()
    path, length = graph.path(source, target)
    if bound is not None and length > bound:
        raise not_reached(source, target, bound)
    if stats is not None:
        stats["seconds"] = time.perf_counter() - began
        stats["reason"] = WALKED
    return path, length
