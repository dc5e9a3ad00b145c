"""Delta-stepping on the arrays of a sparse matrix, without validating or packing it beforehand.

Validating a matrix as a Graph and packing its edges costs as much as one search. Instead one pass,
limited by memory bandwidth, checks the edges and, if rows are long, copies small integer weights
into one or two bytes each. Integers are searched in float64, whose sums are exact up to 2^53.
Anything unusual (a negative or infinite weight, an index out of range, a distance that does not
fit) raises :class:`UnusualMatrix`; the caller then validates the matrix, which reports the fault.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.graph.saturation import narrowed
from nearfar.options import NoOptions
from nearfar.registry import Answer, Declined, Variant

if TYPE_CHECKING:
    from nearfar.registry import Workspace

__all__ = ["UNCHECKED", "UnusualMatrix"]

_SHARED = 1 << 18  # edges from which workers share a search


class UnusualMatrix(Declined):
    """Exception for a matrix that must be validated before it is searched."""


def _search(graph: Any, source: int, options: Any, workspace: Workspace) -> Answer:
    """Run one search; ``graph`` is an unchecked :class:`nearfar.solve.matrix.fresh.MatrixGraph`."""
    indptr, indices, given = graph.bare
    n, m = len(indptr) - 1, len(indices)
    weights = given.astype(np.float64, copy=False)
    if not graph.skips_nan:
        with np.errstate(all="ignore"):
            if not math.isfinite(weights.sum()):
                raise UnusualMatrix  # NaN weights improve nothing and would go unnoticed
    distances = np.empty(n, np.float64)
    workers = workspace.threads if m > _SHARED else 1
    limit = None if workspace.limit is None else float(workspace.limit)
    stats = _cpu.search_matrix(indptr, indices, weights, source, distances, limit, workers)
    if stats is None or stats["greatest_weight"] * max(n - 1, 1) >= np.finfo(np.float64).max:
        raise UnusualMatrix
    before = None
    if workspace.predecessors:
        before = np.empty(n, dtype=np.int32)
        view = _cpu.GraphView(indptr, indices, weights)
        _cpu.predecessors(view, source, distances, False, before, workers)
    whole = narrowed(distances, given.dtype)
    if whole.dtype != given.dtype:
        raise UnusualMatrix
    return Answer(whole, stats, before)


#: Not registered, since its input is not a Graph. It runs the loops of the two registered variants
#: of this family.
UNCHECKED = Variant(
    id="delta_stepping@cpu",
    idea="delta_stepping",
    device="cpu",
    family="delta_stepping",
    run=_search,
    problems=frozenset({"sssp"}),
    weights="nonnegative",
    options=NoOptions,
    paper="meyer-sanders-2003",
    section="delta-stepping",
    summary="Delta-stepping on a matrix that is searched once",
    predecessors=True,
    dtypes=frozenset({"int32", "int64", "float64"}),
)
