"""Check of the arguments of a call, and construction of a Request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, keyword, quoted
from nearfar.graph.build import csr_arrays
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.turns import TurnGraph
from nearfar.options import canonical_device, check_kind, check_limit, is_integer
from nearfar.registry import Problem, Request, find
from nearfar.solve.matrix.fresh import fresh_matrix
from nearfar.system.devices import runtime
from nearfar.system.threads import check_threads

_SAMPLED = 8  # sources sampled to estimate how early searches stop


def as_graph(graph: GraphLike, weight: Any = "weight") -> Graph:
    """Return a Graph from a Graph, a SciPy sparse matrix or a NetworkX graph."""
    if isinstance(weight, str) and weight == "weight":
        if isinstance(graph, Graph):
            return graph  # fast path, since a query takes only microseconds
        if hasattr(graph, "tocsr"):
            return _fresh(graph) or Graph.from_scipy(graph)
    return Graph.from_any(graph, weight)


def as_graph_or_turns(graph: GraphLike, weight: Any = "weight") -> Graph | TurnGraph:
    """Return a graph as :func:`as_graph` does, and a graph with turns unchanged."""
    return graph if isinstance(graph, TurnGraph) else as_graph(graph, weight)


def _fresh(matrix: Any) -> Graph | None:
    """Return a graph over a CSR matrix that is validated later, if its dtypes allow this."""
    shape = matrix.shape
    if getattr(matrix, "format", "") != "csr" or len(shape) != 2 or shape[0] != shape[1]:
        return None
    return fresh_matrix(csr_arrays(matrix), Graph.from_csr, integers=True)


def check_stats(stats: Any, progress: Any = None) -> None:
    """Clear the dict of statistics; refuse arguments that cannot be filled or called."""
    if stats is not None and not isinstance(stats, dict):
        raise OptionError(f"{keyword('stats')} is {quoted(stats)}: give a dict to fill, or None")
    if stats:
        stats.clear()
    if progress is not None and not callable(progress):
        raise OptionError(f"{keyword('progress')} is {quoted(progress)}: give a function, or None")


def check_count(name: str, value: Any, least: int) -> int:
    """Return an integer of at least ``least``, or raise an error that begins with ``name``."""
    if not is_integer(value) or value < least:
        raise OptionError(f"{name} is {quoted(value)}: give an integer of at least {least}")
    return int(value)


def check_block(owner: str, block: int | None) -> None:
    """Refuse a number of rows per block that is not an integer of at least 1."""
    if block is None:
        return
    check_kind(owner, "block", block, "int | None")
    if block < 1:
        raise OptionError(f"{keyword('block')} is {block}: give at least 1 row")


def refuse_tree_of_turns(predecessors: bool) -> None:
    """Refuse predecessors of vertices of a graph with turns."""
    if predecessors:
        raise OptionError(
            f"with turns a vertex has no single predecessor: omit {keyword('predecessors')}"
        )


def refuse_for_raster(method: str, **given: Any) -> None:
    """Refuse methods and arguments that only graphs with stored edges support."""
    if method != "auto":
        raise OptionError("a Raster has its own engines: omit method, and name a device")
    for name, value in given.items():
        if value is not None and value is not False:
            raise OptionError(f"{name} is not supported for a Raster")


def check_targets(graph: Graph, targets: Iterable[Any] | None) -> NDArray[np.int64] | None:
    """Return target indices, or None if no targets are given."""
    if targets is None:
        return None
    found = vertex_indices(graph, targets, "target")
    if not len(found):
        raise OptionError(f"{keyword('targets')} is empty: name at least one vertex, or omit it")
    return found if len(found) == 1 else np.unique(found)


def vertex_indices(graph: Graph | TurnGraph, vertices: Any, what: str) -> NDArray[np.int64]:
    """Return the indices of one vertex, or of all in a sequence, set, array or iterator."""
    if runtime.is_device_array(vertices):
        vertices = runtime.download(vertices)
    if isinstance(vertices, np.ndarray):
        vertices = np.atleast_1d(vertices)
    return graph.indices_of(vertices, what)


def vertices_or_all(graph: Graph, vertices: Any, what: str) -> NDArray[np.int64]:
    """Return the indices of several vertices; None means every vertex."""
    if vertices is None:
        return np.arange(graph.n_vertices, dtype=np.int64)
    return vertex_indices(graph, vertices, what)


def make_request(
    graph: Graph,
    problem: Problem,
    sources: Any,
    *,
    method: str = "auto",
    device: str = "auto",
    threads: int | None = None,
    limit: Any = None,
    targets: NDArray[np.int64] | None = None,
    predecessors: bool = False,
    once: bool = False,
    stats: Literal["basic", "full"] = "basic",
    out: Any = None,
    reduced: bool = False,
    sparse: bool = False,
) -> Request:
    """Check the arguments and return the request; sources and targets are vertex indices.

    ``once``: the graph was built for this request only. ``reduced``: only a few numbers of each row
    are kept. ``sparse``: only the reached entries of each row are kept.

    The answer is on the device of the arrays: ``"auto"`` means ``"cuda"`` for a graph or an ``out``
    on a device, unless the method has no CUDA variant.
    """
    device = canonical_device(device)
    if not isinstance(method, str):
        raise OptionError(
            f"{keyword('method')} is {quoted(method)}: give a name; `nearfar methods` lists all "
            "names"
        )
    there = out is not None and runtime.is_device_array(out)
    if device == "auto" and (there or (graph.on_device and _has_device_form(method))):
        device = "cuda"
    if device == "cuda":
        runtime.import_and_open()
    return Request(  # by position, which takes half of the time
        problem,
        sources if problem == "sssp" else _sample(sources, limit is None and targets is None),
        len(sources),
        device,
        bool(predecessors),
        check_limit(limit, graph.weight_dtype),
        targets,
        check_threads(threads),
        stats,
        once,
        not reduced and not there,
        sparse,
    )


def _sample(sources: Any, whole: bool) -> tuple[int, ...]:
    """Return a sample of many sources, or any vertex if whole rows are solved."""
    if whole or not len(sources):
        return (0,)
    step = -(-len(sources) // min(_SAMPLED, 2 + len(sources) // 32))
    return tuple(int(source) for source in sources[step // 2 :: step])


def _has_device_form(method: str) -> bool:
    if method == "auto":
        return True
    found = find(method, allow_unsafe=True) if "@" not in method else []
    return any(variant.device == "cuda" for variant in found)
