"""Point queries: a walk from both ends to the root of the elimination tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearfar import _cpu
from nearfar.errors import OptionError, does_not_fit, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.saturation import narrowed
from nearfar.prepared.cpu.exact import exact_pairs, path_in_row, restored_rows
from nearfar.system.devices import runtime
from nearfar.system.threads import on_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph
    from nearfar.prepared.prepared import Prepared

__all__ = ["PairPaths", "edges_of_path", "pair_distances", "pair_indices", "pair_paths", "widened"]

_NO_EDGES = np.empty(0, dtype=np.int32)


class PairPaths(NamedTuple):
    """Shortest paths of many pairs.

    Attributes
    ----------
    offsets : int64 array, shape (k + 1,)
        The edges of pair ``i`` are ``edges[offsets[i]:offsets[i + 1]]``.
    edges : int32 array
        Positions in :attr:`Graph.indices`, from the source on.
    reached : bool array, shape (k,)
        Whether there is a path; one from a vertex to itself has no edges.
    """

    offsets: Any
    edges: Any
    reached: Any


def pair_indices(graph: Graph, pairs: Iterable[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the sources and of the targets of pairs."""
    if runtime.is_device_array(pairs):
        pairs = runtime.download(runtime.upload(pairs))
    if isinstance(pairs, np.ndarray) and pairs.dtype.kind in "iu":
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise OptionError(f"pairs has shape {pairs.shape}: give (source, target) per row")
        return graph.indices_of(pairs[:, 0], "source"), graph.indices_of(pairs[:, 1], "target")
    if not hasattr(pairs, "__iter__"):
        raise OptionError(f"pairs is {quoted(pairs)}: give a list of (source, target)")
    listed = list(pairs)
    if any(not hasattr(pair, "__len__") or len(pair) != 2 for pair in listed):
        raise OptionError("pairs holds something that is not a (source, target) pair")
    starts = graph.indices_of([s for s, _ in listed], "source")
    return starts, graph.indices_of([t for _, t in listed], "target")


def pair_distances(
    prepared: Prepared, starts: NDArray[np.int64], ends: NDArray[np.int64], threads: int
) -> NDArray[Any]:
    """Return the distances of pairs, each by a separate walk."""
    if prepared.beyond_arcs:
        out = searched_pairs(prepared, starts, ends)
    elif prepared.adds_floats:
        out = exact_pairs(prepared, starts, ends, threads)
    else:
        out = np.empty(len(starts), dtype=prepared.answer_dtype)
        _cpu.prepared_pairs(prepared._walks, starts, ends, out, threads)
    return widened(prepared, out, starts, ends, lambda p, s, t: pair_distances(p, s, t, threads))


def searched_pairs(
    prepared: Prepared, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the distances of pairs by a search per source, in the full range of 64 bits."""
    out = np.empty(len(starts), dtype=np.int64)
    row = np.empty(prepared.n_vertices, dtype=np.int64)
    for source in np.unique(starts):
        stats = _cpu.bellman_ford_subtree(prepared.view, int(source), row, False)
        # With negative weights a distance may fit although one before it on the path does not.
        if stats["saturated"] or _cpu.first_saturated_edge(prepared.view, row) >= 0:
            raise does_not_fit(prepared.weight_dtype)
        mine = starts == source
        out[mine] = row[ends[mine]]
    return out


def edges_of_path(prepared: Prepared, source: int, target: int) -> NDArray[np.int32] | None:
    """Return the edges of a shortest path, or None without a path."""
    found: Any
    if prepared.beyond_arcs:
        row = searched_pairs(prepared, np.full(n := prepared.n_vertices, source), np.arange(n))
        found = path_in_row(prepared, row, source, target)
    elif prepared.adds_floats and not prepared.n_negative:
        least = float(prepared.min_weight)
        weights, view = prepared.effective_weights, prepared.metric_view
        found = _cpu.prepared_exact_path(view, weights, least, source, target)
        if found is False:
            row = restored_rows(prepared, np.array([source]), 1)[0]
            found = path_in_row(prepared, row, source, target)
    else:
        walks, like = prepared._walks, prepared._no_distance
        path: Any = _cpu.prepared_path(walks, prepared._origins, source, target, None, like)
        found = None if path is None else path[0]
    if found is None and prepared._may_saturate:
        if (wide := prepared._wider()) is not None:
            return edges_of_path(wide, source, target)
        if edges_of_path(prepared._hops(), source, target) is not None:
            raise does_not_fit(prepared.weight_dtype)
    return None if found is None else simple_edges(prepared, source, np.asarray(found))


def simple_edges(prepared: Prepared, source: int, edges: NDArray[Any]) -> NDArray[Any]:
    """Return a shortest path without the cycles of weight 0 in it."""
    if prepared.summed.min_weight > 0:
        return edges
    edges = np.ascontiguousarray(edges, dtype=np.int32)
    found: NDArray[np.int32] = _cpu.prepared_simple_path(edges, prepared.indices, source)
    return found


def simple_paths(prepared: Prepared, starts: NDArray[np.int64], paths: PairPaths) -> PairPaths:
    """Return shortest paths without the cycles of weight 0 in them."""
    if prepared.summed.min_weight > 0:
        return paths
    at = paths.offsets.tolist()
    parts = [simple_edges(prepared, source, paths.edges[i:j])
             for source, i, j in zip(starts.tolist(), at, at[1:], strict=False)]  # fmt: skip
    return _joined(parts, paths.reached)


def _joined(parts: list[NDArray[np.int32]], reached: NDArray[np.bool_]) -> PairPaths:
    offsets = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return PairPaths(offsets, np.concatenate([_NO_EDGES, *parts]), reached)


def pair_paths(
    prepared: Prepared, starts: NDArray[np.int64], ends: NDArray[np.int64], threads: int
) -> PairPaths:
    """Return a shortest path for each pair."""
    listed = list(zip(starts.tolist(), ends.tolist(), strict=True))
    if listed:
        edges_of_path(prepared, *listed[0])  # builds the data for paths once
    found = on_threads(lambda i: edges_of_path(prepared, *listed[i]), len(listed), threads)
    reached = np.array([edges is not None for edges in found], dtype=bool)
    return _joined([_NO_EDGES if edges is None else edges for edges in found], reached)


def widened(
    prepared: Prepared,
    found: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    ask: Callable[[Prepared, NDArray[np.int64], NDArray[np.int64]], NDArray[Any]],
) -> NDArray[Any]:
    """Return the distances in the dtype of the weights, or in 64 bits where one does not fit 32."""
    if found.dtype != prepared.weight_dtype:  # computed in 64 bits: no sum is missing
        fitting: NDArray[Any] = narrowed(found, prepared.weight_dtype)
        return fitting
    if not prepared._may_saturate:
        return found
    missing = found == unreached_value(found.dtype)
    below = (found == -np.inf) | (found != found) if found.dtype.kind == "f" else missing & False
    missing |= below
    if not missing.any():
        return found
    wide = prepared._wider()
    if wide is None:
        if below.any():
            raise does_not_fit(prepared.weight_dtype)
        # Pairs that have a path although its sum does not fit.
        there = ask(prepared._hops(), starts[missing], ends[missing])
        if (there != unreached_value(there.dtype)).any():
            raise does_not_fit(prepared.weight_dtype)
        return found
    again = ask(wide, starts[missing], ends[missing])
    if (again == unreached_value(again.dtype)).all():
        return found
    out = found.astype(again.dtype)
    out[missing] = again
    return out
