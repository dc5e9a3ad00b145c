"""Distances of all vertices from the nearest of many sources, by one search.

The search starts from an additional vertex with an edge of weight 0 to every source, and can use
any method; the shortest-path tree determines the nearest source of each vertex.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.algorithms.bounded.nearest import nearest_within
from nearfar.errors import (
    DistanceOverflowError,
    NegativeCycleError,
    OptionError,
    does_not_fit,
    keyword,
)
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.same_distances import backbone
from nearfar.graph.slots import Slot
from nearfar.graph.turns import TurnGraph
from nearfar.options import Device, check_limit
from nearfar.raster.raster import Raster
from nearfar.raster.solve import cost_distance
from nearfar.registry import CHOICES, Chosen
from nearfar.solve.arrays import clear_unreached, distinct_sources, external_names
from nearfar.solve.k_nearest import Nearest, k_nearest
from nearfar.solve.matrix.fresh import MatrixGraph, is_fresh
from nearfar.solve.one import solve_one
from nearfar.solve.option_types import SearchOptions
from nearfar.solve.steps.plan import graph_to_search
from nearfar.solve.steps.request import (
    as_graph,
    check_stats,
    refuse_for_raster,
    refuse_tree_of_turns,
    vertex_indices,
)
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import is_device_array, module_of, to_host
from nearfar.system.threads import check_threads

_CHOICES_OF_JOINED: Slot[dict[Hashable, tuple[Chosen, ...]]] = Slot("choices with joined sources")


def nearest(
    graph: GraphLike,
    sources: Iterable[Any],
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    method: str = "auto",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    predecessors: bool = False,
    stats: dict[str, Any] | None = None,
    k: int | None = None,
    **options: Unpack[SearchOptions],
) -> Nearest:
    """Return the nearest of several sources, or the k nearest, for every vertex.

    Parameters
    ----------
    graph : graph_like, TurnGraph or Raster
        Graph. For a Raster, sources are tuples, and the resulting arrays have the shape of the
        raster and contain positions of cells.
    sources : vertices
        At least one source. Directed edges are followed away from the sources.
    weight, method, device, threads, limit, stats, **options
        As for :func:`nearfar.sssp`.
    predecessors : bool
        Whether to return the forest of shortest paths; not with ``k`` or with turns.
    k : int or None
        Number of sources per vertex; repeated sources count once.

    Returns
    -------
    Nearest
        Nearest sources and distances. Of sources at the same distance the result is the one to
        which the smallest predecessors lead; with ``k`` they are in order of the vertex index.
        Distances that are equal only after rounding keep their order before rounding.

    Raises
    ------
    OptionError
        If there is no source, or ``k`` is not an integer of at least 1.
    VertexError, NegativeWeightError, NegativeCycleError, VariantUnavailable
        As for :func:`nearfar.sssp`.

    Notes
    -----
    One search plus O(n log n + m). With ``k``, one search that settles every vertex k times, or
    O(k arcs) on a prepared graph, for any number of sources; with few sources, negative weights, a
    named method or a GPU, one row per source. For the nearest targets of each source see
    ``reduce="nearest:k"`` of :func:`nearfar.distances`.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 3], [1, 2, 2], [4, 3, 5])
    >>> found = nearfar.nearest(g, [0, 3])
    >>> found.distances.tolist(), found.sources.tolist()
    ([0, 4, 5, 0], [0, 0, 3, 3])
    >>> nearfar.nearest(g, [0, 3], k=2).sources.tolist()
    [[0, -1], [0, -1], [3, 0], [3, -1]]
    """
    given: dict[str, Any] = {"limit": limit, "device": device, "threads": threads}
    if isinstance(graph, Raster):
        refuse_for_raster(method, **options, weight=weight != "weight", k=k)
        surface = cost_distance(graph, sources, stats=stats, **given)
        nearest_at = surface.allocation
        places = np.where(nearest_at < 0, -1, surface.sources[np.maximum(nearest_at, 0)])
        return Nearest(surface.distances, places, surface.predecessors if predecessors else None)
    if isinstance(graph, TurnGraph):
        refuse_tree_of_turns(predecessors)
        begins = np.unique(vertex_indices(graph.original, sources, "source"))
        starts = graph.starts[begins]
        found = nearest(graph.graph, starts, method=method, stats=stats, k=k, **given, **options)
        places = found.sources[graph.ends]
        places = module_of(places).where(places < 0, -1, graph.vertices[to_host(places)])
        return Nearest(found.distances[graph.ends], external_names(graph.original, places))
    graph = as_graph(graph, weight)
    rows, _ = distinct_sources(vertex_indices(graph, sources, "source"))
    if not len(rows):
        raise OptionError(f"{keyword('sources')} is empty: name at least one vertex")
    if k is not None:
        if predecessors:
            raise OptionError(f"{keyword('predecessors')} cannot be combined with k")
        return k_nearest(graph, np.sort(rows), k, {"method": method, **given, **options}, stats)
    try:
        how: dict[str, Any] = {"method": method, "stats": stats, "options": dict(options)}
        found = nearest_indices(graph, rows, **how, **given)
    except NegativeCycleError as error:  # of the joined graph, without names
        raise NegativeCycleError([graph.name_of(v) for v in error.cycle], error.total) from None
    return Nearest(
        found.distances,
        external_names(graph, found.sources),
        found.predecessors if predecessors else None,
    )


def nearest_indices(
    graph: Graph, rows: NDArray[np.int64], *, tree: bool = True, **given: Any
) -> Nearest:
    """Return the nearest of checked sources as indices, or only distances without ``tree``."""
    if (near := _within(graph, rows, tree=tree, **given)) is not None:
        return near
    plain = given.get("method", "auto") == "auto" and not given.get("options")
    plain = plain and given.get("device") != "cuda" and not (graph.on_device or is_fresh(graph))
    searched = graph_to_search(graph, check_threads(given.get("threads"))) if plain else graph
    n, joined = graph.n_vertices, join_sources(searched, rows)
    # The choice is reused: a few more edges do not change it, and ranking takes time.
    CHOICES.share(joined, _CHOICES_OF_JOINED.of(graph, dict))
    try:
        paths = solve_one(joined, n, once=True, predecessors=tree, **given)
    except DistanceOverflowError:  # its message names the added vertex
        raise does_not_fit(joined.weight_dtype, "a distance from the sources") from None
    if plain:
        backbone.record(graph, paths.stats["seconds"])
    distances = paths.distances[:n]
    if not tree:
        return Nearest(distances, None)
    before = paths.predecessors.copy()
    # Tops first: with negative weights a path may lead over vertices beyond the limit.
    top = clear_unreached(_tops(before, n), distances)
    own = clear_unreached(before, paths.distances)[:n].copy()
    own[own == n] = -1
    return Nearest(distances, top, own)


def _within(
    graph: Graph,
    rows: NDArray[np.int64],
    *,
    tree: bool,
    limit: Any = None,
    method: str = "auto",
    device: Device = "auto",
    threads: int | None = None,
    stats: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
) -> Nearest | None:
    """Search from all sources at once if a limit keeps the search small; else return None."""
    if limit is None or method != "auto" or device not in ("auto", "cpu") or options:
        return None
    if graph.on_device or is_fresh(graph) or graph.n_negative:
        return None
    workers = check_threads(threads)
    check_stats(stats)
    found = nearest_within(graph, rows, check_limit(limit, graph.weight_dtype), tree, workers)
    if found is None:
        return None
    if stats is not None:
        stats.update(found.stats)
    return Nearest(*found[:3])


def join_sources(graph: Graph, sources: NDArray[Any]) -> Graph:
    """Return the graph with an additional vertex n and edges of weight 0 from it to every source.

    A search from vertex n is a search from all sources, and its shortest-path tree determines the
    source of each vertex. O(n + m).
    """
    xp: Any = np if graph.device_arrays is None else runtime.cupy()
    matrix = graph if isinstance(graph, MatrixGraph) and graph.bare is not None else None
    given = graph.device_arrays if matrix is None else matrix.bare
    indptr, indices, weights = given or (graph.indptr, graph.indices, graph.weights)
    weights = xp.ones(len(indices), dtype=np.int32) if weights is None else weights
    end = xp.asarray(np.array([len(indices) + len(sources)]))
    joined = (
        xp.concatenate((indptr, end)),
        xp.concatenate((indices, xp.asarray(sources.astype(graph.index_dtype)))),
        xp.concatenate((weights, xp.zeros(len(sources), dtype=graph.weight_dtype))),
    )
    fresh = None if matrix is None else matrix.joined(*joined)
    return fresh or Graph(*joined, copy=False)


def _tops(before: Any, root: int) -> Any:
    """Return the vertex below the root of the tree from which each one descends, -1 for none.

    O(n), and on a device O(n log depth), by pointer jumping.
    """
    if not is_device_array(before):
        found = np.empty(root, np.int64)
        _cpu.tops(before, root, found)
        return found
    cp = runtime.cupy()
    jump = cp.where((before == root) | (before < 0), cp.arange(root + 1), before)
    while True:
        further = jump[jump]
        if bool((further == jump).all()):
            break
        jump = further
    tops = jump[:root].astype(np.int64)
    tops[before[tops] < 0] = -1
    return tops
