"""Tables with fewer targets than sources, searched from the targets over the reversed edges.

A search costs about the same in either direction, so a table costs as many searches as its shorter
side has vertices. The sums of a path are the same from both ends for integers, for floats whose
partial sums are exact, and if all edges weigh the same. Other sums of float64 are added again from
the sources, along the edges that are tight; where there are several of them, by searches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.choose.ranking import rank
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances.integer_weights import AGREES_UP_TO, in_int32
from nearfar.graph.slots import Slot
from nearfar.options import check_limit
from nearfar.prepared import is_prepared
from nearfar.prepared.first import FirstOptions, is_ready
from nearfar.solve.arrays import mask_beyond
from nearfar.solve.steps.request import make_request
from nearfar.system.memory import shortage
from nearfar.system.threads import check_threads

_FEWER = 2  # sources per target from which searches from the targets are faster
_FEWER_ADDED = 8  # the same if sums are added again
_TRANSPOSED = 4  # searches that take as long as reversing the edges
_ENTRIES = 1 << 27  # of a table, which is held twice
_ROWS = 1 << 24  # distances from targets that are held at a time, if sums are added again
_UNDECIDED = 1 / 8  # share of sums from which searches from the sources are faster
_REASON = "; from the targets over the reversed edges, since these are fewer"
#: Set on graphs with many shortest paths that are equally long but for rounding.
_MANY_PATHS: Slot[bool] = Slot("paths of nearly equal length")

#: :func:`nearfar.distances`.
Table = Callable[..., Any]


def from_targets(
    table: Table,
    graph: Graph,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    stats: dict[str, Any],
    **call: Any,
) -> NDArray[Any] | None:
    """Return the table, or None if searches from the sources are faster or sums may differ.

    ``call`` are the limit, device and threads. ``stats`` is filled if the table is returned.
    """
    any_order = graph.weight_dtype.kind == "i" or graph.has_equal_weights
    reversing = 0 if graph.has_transpose else _TRANSPOSED
    if len(rows) < _FEWER * (len(columns) + reversing) or not len(columns):
        return None
    if is_prepared(graph) or is_ready(graph) or graph.on_device or graph.n_negative:
        return None
    if len(rows) * len(columns) > _ENTRIES:
        return None
    if reversing and (_prepares(graph, rows, columns, call) or shortage(_bytes(graph)) is not None):
        return None  # a graph prepared in its own direction serves later calls
    about: dict[str, Any] = {}
    found: NDArray[Any] | None = None
    if any_order or in_int32(graph) is not None:
        name = graph.name_of
        found = table(graph.transpose(), name(columns), targets=name(rows), stats=about, **call).T
        if not any_order and _farthest(found) > AGREES_UP_TO[graph.weight_dtype]:
            found = None
    if found is None and len(rows) >= _FEWER_ADDED * (len(columns) + reversing):
        about = {}
        found = _added(table, graph, rows, columns, about, call)
    if found is None:
        return None
    stats.update(about, reason=about["reason"] + _REASON)
    return np.ascontiguousarray(found)


def _bytes(graph: Graph) -> int:
    """Return the bytes that reversing the edges takes: two copies of them."""
    return 2 * graph.n_edges * (graph.index_dtype.itemsize + graph.weight_dtype.itemsize)


def _prepares(
    graph: Graph, rows: NDArray[np.int64], columns: NDArray[np.int64], call: dict[str, Any]
) -> bool:
    """Return whether searches from the targets would prepare the graph."""
    choices = rank(graph, make_request(graph, "batch", columns, targets=rows, **call))
    return bool(choices) and choices[0].variant.options is FirstOptions


def _farthest(found: NDArray[Any]) -> float:
    """Return the greatest distance."""
    return float(found[found != unreached_value(found.dtype)].max(initial=0))


def _added(
    table: Table,
    graph: Graph,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    stats: dict[str, Any],
    call: dict[str, Any],
) -> NDArray[np.float64] | None:
    """Return the table with sums from the sources, or None if many of them are not decided."""
    if graph.weight_dtype != np.float64 or _MANY_PATHS.filled(graph):
        return None
    bound = check_limit(call["limit"], graph.weight_dtype)
    # The sum from the source may be within the limit though that from the target is beyond.
    wider = None if bound is None else bound * (1 + 1e-3)
    threads, least = check_threads(call["threads"]), float(graph.min_weight)
    found = np.empty((len(rows), len(columns)))
    lost = np.zeros(len(rows), np.bool_)
    step, first = 1, 0  # one target shows whether many sums are undecided
    while first < len(columns):
        some = columns[first : first + step]
        here: dict[str, Any] = {}
        again = {**call, "limit": wider, "stats": here}
        back = table(graph.transpose(), graph.name_of(some), **again)
        part = np.empty((len(rows), len(some)))
        _cpu.sums_toward(graph.view, rows, some, back, least, part, threads)
        found[:, first : first + step] = part
        lost |= np.isnan(part).any(axis=1)
        if lost.mean() > _UNDECIDED:
            _MANY_PATHS.put(graph, True)
            return None
        stats.update(here, seconds=stats.get("seconds", 0.0) + here["seconds"])
        first, step = first + step, max(1, _ROWS // graph.n_vertices)
    if lost.any():
        # Rows of a given block are searched from the sources.
        name, left = graph.name_of, rows[lost]
        found[lost] = table(graph, name(left), targets=name(columns), block=len(left), **call)
    return found if bound is None else mask_beyond(graph, found, bound, threads)
