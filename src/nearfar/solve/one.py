"""One source: distances and paths from it, and the path to one target."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from nearfar.answer.paths import Paths
from nearfar.cuda.predecessors import device_predecessors
from nearfar.errors import VertexError
from nearfar.solve.arrays import on_device
from nearfar.solve.request import as_graph, check_targets, make_request
from nearfar.solve.run import Run

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["shortest_path", "sssp"]


def sssp(
    graph: Any,
    source: Any,
    method: str = "auto",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    predecessors: bool = False,
    limit: float | None = None,
    targets: Iterable[Any] | None = None,
    threads: int | None = None,
    *,
    stats: Literal["basic", "full"] = "basic",
    allow_unsafe: bool = False,
    **options: Any,
) -> Paths:
    """Exact shortest-path distances from one source.

    Parameters
    ----------
    graph : Graph, SciPy sparse matrix or NetworkX graph
    source : int or vertex name
    method : str
        ``"auto"``, an idea (``"delta_stepping"``) or a variant id (``"near_far@cuda"``);
        ``nearfar methods`` lists them.
    device : {"auto", "cpu", "cuda"}
    predecessors : bool
        Compute predecessors now; otherwise :attr:`Paths.predecessors` does on first use.
    limit : number or None
        Inclusive; vertices farther than this are left unreached. In units of the weights.
    targets : vertices or None
        Stop once all of these are settled; vertices farther than the farthest of them are left
        unreached.
    threads : int or None
        CPU workers; None uses all cores of this process. More than 64, or than four times the
        cores, count as that many.
    stats : {"basic", "full"}
        ``"full"`` records arrays with one entry an iteration where the variant can.
    allow_unsafe : bool
        Permit a variant that is wrong by design.
    **options
        Options of the variant, such as ``delta``.

    Returns
    -------
    Paths

    Raises
    ------
    VertexError, OptionError
        For a bad source, target or option.
    NegativeWeightError
        If the method asked for needs non-negative weights.
    NegativeCycleError
        If the source reaches a cycle of negative weight.
    VariantUnavailable
        If the method cannot run here, with the reason.

    Notes
    -----
    All methods give bit-identical distances for non-negative weights. A 32-bit run in which a
    finite sum may have saturated is repeated in 64 bits; the distances then come back in 64 bits.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> nearfar.sssp(g, 0).path_to(2)
    [0, 1, 2]
    """
    graph = as_graph(graph)
    if graph.n_vertices == 0:
        raise VertexError(f"source {source!r} is not in the graph: it has no vertices")
    start = graph.index_of(source, "source")
    request = make_request(
        graph,
        "sssp",
        (start,),
        method=method,
        device=device,
        threads=threads,
        limit=limit,
        targets=check_targets(graph, targets),
        predecessors=predecessors,
        stats=stats,
    )
    run = Run(graph, request.sources, request, method, options, allow_unsafe=allow_unsafe)
    distances, tree = run.solve(request.sources)
    paths = Paths(
        graph,
        start,
        distances,
        engine=run.variant.id,
        reason=run.reason,
        stats=run.stats,
        limit=request.limit,
        _predecessors=tree,
    )
    if predecessors:
        _add_predecessors(paths)
    if not graph.on_device:
        paths.bring_to_host()
    return paths


def _add_predecessors(paths: Paths) -> None:
    """Predecessors now, where the distances lie, and what they took."""
    began = time.perf_counter()
    if paths._predecessors is None and on_device(paths.distances):
        solved, dtype = paths.graph, paths.distances.dtype
        solved = solved if dtype == solved.weight_dtype else solved.astype(dtype)
        found, stats = device_predecessors(solved, [paths.source], paths.distances)
        paths._predecessors = found
        paths.stats["predecessor_device_seconds"] = stats["device_seconds"]
    else:
        _ = paths.predecessors
    paths.stats["predecessor_seconds"] = time.perf_counter() - began


def shortest_path(
    graph: Any, source: Any, target: Any, method: str = "auto", **options: Any
) -> tuple[list[Any], Any]:
    """One shortest path and its length.

    Parameters
    ----------
    graph : Graph, SciPy sparse matrix or NetworkX graph
    source, target : int or vertex name
    method, **options
        As for :func:`sssp`.

    Returns
    -------
    path : list
        Vertices, source first, in external names.
    length : int or float

    Raises
    ------
    UnreachableError
        If the target cannot be reached.
    """
    paths = sssp(graph, source, method=method, targets=[target], **options)
    return paths.path_to(target), paths.distance_to(target)
