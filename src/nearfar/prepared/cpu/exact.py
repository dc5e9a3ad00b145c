"""Restore float sums in the order of a search, since shortcuts add in another order."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.cpu.distances.float_rows import exact_rows, searched_rows
from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.cpu.potentials import potentials
from nearfar.errors import DistanceOverflowError
from nearfar.graph.dtypes import unreached_value
from nearfar.system.memory import empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.prepared.prepared import Prepared

__all__ = ["exact_pairs", "path_in_row", "polish", "restored_rows"]


def restored_rows(
    prepared: Prepared,
    sources: NDArray[np.int64],
    threads: int,
    lanes: int = 0,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Return whole rows of floats with the sums of a search, from left to right."""
    rows = out
    if rows is None:
        rows = empty((len(sources), prepared.n_vertices), prepared.weight_dtype, threads)
    _cpu.prepared_distances(prepared.metric_view, sources, None, rows, lanes, threads)
    polish(prepared, sources, rows, threads)
    return rows


def polish(
    prepared: Prepared, sources: NDArray[np.int64], rows: NDArray[Any], threads: int
) -> None:
    """Replace sums over shortcuts in rows by the sums of a search, in place."""
    shift = None
    if prepared.n_negative:
        with contextlib.suppress(DistanceOverflowError):
            shift = potentials(prepared)
        if shift is None or shift.dtype != rows.dtype:  # sums near the largest float
            searched_rows(prepared, sources, rows, threads, range(len(sources)))
            return
    exact_rows(prepared, sources, rows, shift, threads)


def exact_pairs(
    prepared: Prepared, starts: NDArray[np.int64], ends: NDArray[np.int64], threads: int
) -> NDArray[Any]:
    """Return distances of pairs of floats with the sums of a search; O(arcs on the walks).

    With negative weights the distances are taken from whole rows.
    """
    out = np.full(len(starts), np.nan, dtype=prepared.weight_dtype)
    if not prepared.n_negative:
        least, weights = float(prepared.min_weight), prepared.effective_weights
        view = prepared.metric_view
        _cpu.prepared_exact_pairs(view, weights, least, starts, ends, out, threads)
    left = np.isnan(out)
    for source in np.unique(starts[left]):
        row = restored_rows(prepared, np.array([source]), threads)[0]
        mine = left & (starts == source)
        out[mine] = row[ends[mine]]
    return out


def path_in_row(
    prepared: Prepared, row: NDArray[Any], source: int, target: int
) -> NDArray[np.int32] | None:
    """Return the edges of a path from the predecessors of a whole row, or None without a path."""
    if row[target] == unreached_value(row.dtype):
        return None
    before = tight_predecessors(prepared, source, row)
    edges = []
    at = target
    while at != source:
        u = int(before[at])
        mine = np.arange(prepared.indptr[u], prepared.indptr[u + 1])
        mine = mine[prepared.indices[mine] == at]
        edges.append(int(mine[np.argmin(prepared.effective_weights[mine])]))
        at = u
    return np.array(edges[::-1], dtype=np.int32)
