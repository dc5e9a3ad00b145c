"""One source: check the request, ask the registry, run, return Paths.

What every variant shares happens here and only here: choosing, the repeat in 64 bits when a 32-bit
sum may have saturated, the masks of ``limit`` and ``targets``, and timing. A variant returns
distances.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.answer.paths import Paths
from nearfar.choose import ranking
from nearfar.cuda.predecessors import device_predecessors, mask_above
from nearfar.errors import (
    DistanceOverflowError,
    GraphError,
    NegativeWeightError,
    OptionError,
    VariantUnavailable,
    VertexError,
)
from nearfar.graph.build import default_threads
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.options import build_options, check_limit
from nearfar.registry import Answer, Request, Variant, Workspace, find, variants
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["as_graph", "select", "shortest_path", "sssp"]

_FEW = 16  # targets: fewer small copies from a device than one large one


def as_graph(graph: Any) -> Graph:
    """A Graph from a Graph, a SciPy sparse matrix or a NetworkX graph.

    Raises
    ------
    GraphError
        For anything else.
    """
    if isinstance(graph, Graph):
        return graph
    if hasattr(graph, "tocsr"):
        return Graph.from_scipy(graph)
    if hasattr(graph, "number_of_edges") and hasattr(graph, "is_directed"):
        return Graph.from_networkx(graph)
    raise GraphError(
        f"{type(graph).__name__} is no graph: use nearfar.read or one of the Graph.from_* functions"
    )


def check_threads(threads: int | None) -> int:
    """Number of workers, at least 1; None means all cores of this process.

    Never more than 64, or four times the cores where that is more: workers meet after every step,
    and a thousand on two cores would spend minutes on a solve of milliseconds.
    """
    if threads is None:
        return default_threads()
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise OptionError(f"threads is {threads!r}: give a whole number of at least 1, or None")
    return min(int(threads), max(64, 4 * default_threads()))


def check_targets(graph: Graph, targets: Iterable[Any] | None) -> NDArray[np.int64] | None:
    """Target indices, or None when no early stop is asked for."""
    if targets is None:
        return None
    found = vertex_indices(graph, targets, "target")
    if not len(found):
        raise OptionError("targets is empty: name at least one vertex, or leave it out")
    return np.unique(found)


def vertex_indices(graph: Graph, vertices: Any, what: str) -> NDArray[np.int64]:
    """Indices of vertices given in any sequence, set, array or iterator, or of a single one.

    Raises
    ------
    VertexError
        For the first that is no vertex of the graph.
    """
    if runtime.is_device_array(vertices):
        vertices = runtime.download(vertices)
    if isinstance(vertices, np.ndarray):
        vertices = np.atleast_1d(vertices)
    elif isinstance(vertices, (str, bytes)) or not hasattr(vertices, "__iter__"):
        vertices = [vertices]
    return graph.indices_of(vertices, what)


def select(
    graph: Graph, request: Request, method: str, *, allow_unsafe: bool = False
) -> tuple[Variant, str]:
    """The variant to run and the reason in words.

    Raises
    ------
    NegativeWeightError
        If the method asked for needs non-negative weights.
    VariantUnavailable
        If it cannot run here or on this graph, with the reason.
    """
    if request.device not in ("auto", "cpu", "cuda"):
        raise OptionError(f"device is {request.device!r}: use 'auto', 'cpu' or 'cuda'")
    if not isinstance(method, str):
        raise OptionError(f"method is {method!r}: give a name, `nearfar methods` lists them all")
    if method == "auto":
        return ranking.best(graph, request)
    reasons = []
    for candidate in find(method, request.device, allow_unsafe=allow_unsafe):
        answer = candidate.can_run(graph, request)
        if answer is True:
            return candidate, "asked for by name"
        if (
            candidate.weights == "nonnegative"
            and graph.n_negative
            and candidate.available() is True
        ):
            accepting = [
                v.id
                for v in variants(problem=request.problem)
                if v.weights == "any" and v.available() is True
            ]
            raise NegativeWeightError(graph.first_negative, graph.n_negative, accepting)
        reasons.append(f"{candidate.id}: {answer}")
    raise VariantUnavailable("; ".join(reasons))


def _on_device(array: Any) -> bool:
    return not isinstance(array, np.ndarray) or runtime.is_device_array(array)


def _bring_back(paths: Paths) -> None:
    """Host arrays, unless the graph came from the device."""
    if not paths.graph.on_device:
        paths.bring_to_host()


def _add_predecessors(paths: Paths) -> None:
    """Predecessors now, where the distances lie, and what they took."""
    began = time.perf_counter()
    if paths._predecessors is None and _on_device(paths.distances):
        solved = paths.graph
        if paths.distances.dtype != solved.weight_dtype:
            solved = widest(solved)
        found, stats = device_predecessors(solved, [paths.source], paths.distances)
        paths._predecessors = found
        paths.stats["predecessor_device_seconds"] = stats["device_seconds"]
    else:
        _ = paths.predecessors
    paths.stats["predecessor_seconds"] = time.perf_counter() - began


def greatest(dtype: np.dtype[Any]) -> int | float:
    """The greatest finite value of a dtype as a number of Python."""
    return float(np.finfo(dtype).max) if dtype.kind == "f" else int(np.iinfo(dtype).max)


def may_saturate(graph: Graph) -> bool:
    """Whether some path could be too long for the weights' dtype: a cheap bound, never wrong."""
    heaviest = max(abs(graph.max_weight), abs(graph.min_weight))
    return bool(heaviest * max(graph.n_vertices - 1, 1) >= greatest(graph.weight_dtype))


def _saturated(graph: Graph, paths: Paths, limit: Any) -> bool:
    """Whether a finite distance was lost because it does not fit the dtype."""
    from nearfar import _cpu

    if not may_saturate(graph):
        return False
    if paths.stats.get("saturated"):  # the variant saw a sum leave the range downwards
        return True
    top = greatest(np.dtype(paths.distances.dtype))
    if limit is not None and limit + graph.max_weight < top:
        return False
    reached, far = _reach(paths)
    if reached == graph.n_vertices:
        return False
    if far + graph.max_weight < top and not graph.n_negative:
        return False
    return bool(_cpu.first_saturated_edge(graph.view, paths._host_distances) >= 0)


def _reach(paths: Paths) -> tuple[int, Any]:
    """How many vertices were reached, and the greatest of their distances."""
    there = paths.distances
    if not _on_device(there):
        return paths.n_reached, paths._host_distances[paths.farthest].item()
    none = unreached_value(np.dtype(there.dtype))
    reached = there != none
    nearer = runtime.cupy().where(reached, there, -none)
    return int(reached.sum()), nearer.max().item()


def widest(graph: Graph) -> Graph:
    """The graph in the 64-bit dtype of its kind."""
    return graph.astype(np.float64 if graph.weight_dtype.kind == "f" else np.int64)


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
    ends = check_targets(graph, targets)
    bound = check_limit(limit, graph.weight_dtype)
    if stats not in ("basic", "full"):
        raise OptionError(f"stats is {stats!r}: use 'basic' or 'full'")
    if device == "auto" and method == "auto" and graph.on_device:
        device = "cuda"  # where the arrays are, the answer is
    request = Request(
        sources=(start,),
        device=device,
        predecessors=predecessors,
        limit=bound,
        targets=ends,
        threads=check_threads(threads),
        stats=stats,
    )
    chosen, reason = select(graph, request, method, allow_unsafe=allow_unsafe)
    paths = _run(graph, start, chosen, options, request)
    paths.reason = reason
    if not chosen.unsafe and _saturated(graph, paths, bound):
        if graph.weight_dtype.itemsize == 8:
            raise DistanceOverflowError(
                f"a distance from {source!r} does not fit {graph.weight_dtype}: "
                "scale the weights down"
            )
        narrow, wide = graph, widest(graph)
        paths = _run(wide, start, chosen, options, request)
        if _saturated(wide, paths, bound):
            raise DistanceOverflowError(
                f"a distance from {source!r} does not fit {wide.weight_dtype}: "
                "scale the weights down"
            )
        paths.graph = narrow
        paths.reason = f"{reason}; repeated in 64 bits because a 32-bit sum saturated"
        paths.stats["repeated_in_64_bits"] = True
    if graph.n_negative and bound is not None:
        # A path to a vertex that is kept may lead over one that the mask takes away.
        _ = paths.predecessors
    _mask(paths, bound, ends)
    if predecessors:
        _add_predecessors(paths)
    _bring_back(paths)
    return paths


def _run(
    graph: Graph, start: int, chosen: Variant, options: dict[str, Any], request: Request
) -> Paths:
    checked = build_options(chosen.options, options, chosen.id)
    workspace = Workspace(request.threads, request.limit, request.targets, request.stats)
    began = time.perf_counter()
    answer: Answer = chosen.run(graph, start, checked, workspace)
    answer.stats.setdefault("seconds", time.perf_counter() - began)
    return Paths(
        graph,
        start,
        answer.distances,
        engine=chosen.id,
        stats=answer.stats,
        limit=request.limit,
        _predecessors=answer.predecessors,
    )


def _mask(paths: Paths, limit: Any, targets: NDArray[np.int64] | None) -> None:
    """Leave unreached what is beyond the limit or the farthest target, alike for every variant."""
    bound = limit
    # A path of negative weights may lead over vertices farther than its end: those must stay.
    if targets is not None and not paths.graph.n_negative:
        at = _at(paths, targets)
        if (at != unreached_value(at.dtype)).all():
            farthest = at.max().item()
            bound = farthest if limit is None else min(limit, farthest)
        paths.stats["proof_limit"] = bound
    if bound is None:
        return
    from nearfar import _cpu

    on_device = _on_device(paths.distances)
    if on_device:
        if bound < unreached_value(np.dtype(paths.distances.dtype)):
            mask_above(paths.graph, paths.distances, bound)
    else:
        if not paths.distances.flags.writeable:
            paths.distances = paths.distances.copy()
        _cpu.mask_above(paths.distances, bound)
    paths.forget_derived()
    if paths._predecessors is not None and not paths.graph.n_negative:
        host = paths._host_distances
        before = paths._host_predecessors
        before[host == unreached_value(host.dtype)] = -1
        paths._predecessors = runtime.upload(before) if on_device else before


def _at(paths: Paths, targets: NDArray[np.int64]) -> NDArray[Any]:
    """Distances of the targets, on the host; few of a device array come one by one."""
    if _on_device(paths.distances) and len(targets) <= _FEW:
        return np.concatenate([paths.distances[t : t + 1].get() for t in targets.tolist()])
    return paths._host_distances[targets]


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
