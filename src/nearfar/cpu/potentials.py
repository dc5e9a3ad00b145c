"""Potentials by Bellman-Ford, and errors for negative cycles."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import (
    DistanceOverflowError,
    GraphError,
    NegativeCycleError,
    SolverError,
    does_not_fit,
)
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import widest
from nearfar.graph.slots import Slot
from nearfar.registry import Answer

_ACYCLIC: Slot[bool] = Slot("acyclic")
_PROVEN: Slot[NDArray[np.bool_]] = Slot("vertices that reach no negative cycle")


def proof_wanted(graph: Graph, source: int) -> bool:
    """Return whether rounding may hide a negative cycle from a search.

    A source of -1 stands for a virtual source that reaches every vertex. Rounding cannot hide a
    cycle with integers, or if an earlier proven search reached the source, since that search
    covered every vertex that the source reaches.
    """
    if graph.n_negative == 0 or graph.weight_dtype.kind == "i":
        return False
    proven = _PROVEN.get(graph)
    return proven is None or not (proven.all() if source < 0 else proven[source])


def note_proven(graph: Graph, distances: NDArray[Any]) -> None:
    """Record the vertices that a proven search reached without an out-of-range sum."""
    reached = distances < np.inf
    proven = _PROVEN.of(graph, lambda: np.zeros(len(reached), dtype=np.bool_))
    np.logical_or(proven, reached, out=proven)


def refuse_found_cycle(graph: Graph, distances: NDArray[Any], stats: dict[str, Any]) -> None:
    """Raise for the negative cycle that a search found; else record what it proved."""
    cycle = stats.pop("cycle")
    if cycle:
        raise negative_cycle_error(graph, cycle)
    if stats.pop("proven"):
        note_proven(graph, distances)


_FORMS = {
    "subtree": _cpu.bellman_ford_subtree,
    "topological": _cpu.bellman_ford_goldberg_radzik,
}
_WORK = 4  # edges and vertices of subtrees, over those of the graph, before another form is used


def forms(graph: Graph) -> list[str]:
    """Return the forms of Bellman-Ford to try, in order.

    On acyclic graphs the topological order takes two passes, and subtrees may take O(n m); on
    others it takes up to ten times as long as subtrees.
    """
    return sorted(_FORMS, reverse=_ACYCLIC.of(graph, lambda: _cpu.acyclic(graph.view)))


def in_little_work(form: str, graph: Graph, source: int, full: bool) -> Answer | None:
    """Search by a form of Bellman-Ford; None after much work, or if rounding left it undecided."""
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    given = graph.view, source, distances, proof_wanted(graph, source), full
    stats = _FORMS[form](*given, _most_work(graph))
    if stats.pop("undecided"):
        return None
    refuse_found_cycle(graph, distances, stats)
    return Answer(distances, stats)


def _most_work(graph: Graph) -> int:
    """Return the work after which a form of Bellman-Ford gives up."""
    return _WORK * (graph.n_vertices + graph.n_edges)


def potentials(graph: Graph) -> NDArray[Any]:
    """Return distances from a virtual source joined to every vertex by weight 0 (Johnson).

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    array, shape (n,)
        ``h`` with ``h <= 0`` and ``weight + h[u] - h[v] >= 0`` on every edge (up to rounding for
        floats). Dtype of the weights, or its 64-bit form if 32 bits are too few.

    Raises
    ------
    NegativeCycleError
        If the graph has a negative cycle.
    DistanceOverflowError
        If the graph has no negative cycle, but a potential does not fit 64 bits.
    """
    h = np.zeros(graph.n_vertices, dtype=graph.weight_dtype)
    if graph.n_negative == 0:
        return h
    proof = proof_wanted(graph, -1)
    form, other = forms(graph)
    stats = _FORMS[form](graph.view, -1, h, proof, most=_most_work(graph))
    if stats["undecided"]:
        form = other
        stats = _FORMS[form](graph.view, -1, h, proof)
    if form != "subtree" and (stats["undecided"] or stats["cycle"]):  # its cycles are shorter
        stats = _cpu.bellman_ford_subtree(graph.view, -1, h, proof)
    cycle = stats["cycle"]
    if cycle:
        first = cycle.index(min(cycle))
        raise negative_cycle_error(graph, cycle[first:] + cycle[:first])
    if stats["saturated"]:
        if graph.weight_dtype.itemsize == 4:
            return potentials(widest(graph))
        raise does_not_fit(graph.weight_dtype, "a sum of negative weights")
    if stats["proven"]:
        note_proven(graph, h)
    return h


def refuse_negative_cycle(graph: Graph) -> None:
    """Raise if the graph has a negative cycle anywhere, even if sums leave the dtype's range."""
    with contextlib.suppress(DistanceOverflowError):  # raised although there is no negative cycle
        potentials(graph)


def refuse_reached_cycle(graph: Graph, source: int) -> None:
    """Raise if the source reaches a negative cycle, judging by the weights only.

    For searches in which sums left the range of the dtype. O(n m) at worst, in integers with as
    many bits as the sums need.
    """
    if graph.n_negative:
        cycle = _cpu.reached_negative_cycle(graph.view, int(source))
        if cycle:
            raise negative_cycle_error(graph, cycle)


def cycle_total(graph: Graph, cycle: Sequence[int]) -> int | float:
    """Return the sum of the weights around a cycle, with the lightest of parallel edges."""
    weights = graph.effective_weights
    parts = []
    for position, u in enumerate(cycle):
        v = cycle[(position + 1) % len(cycle)]
        row = slice(int(graph.indptr[u]), int(graph.indptr[u + 1]))
        found = weights[row][graph.indices[row] == v]
        if not len(found):
            raise GraphError(f"no edge leads from vertex {u} to vertex {v}: this is not a cycle")
        parts.append(np.min(found).item())
    if graph.weight_dtype.kind == "i":
        return int(sum(parts))
    try:
        return math.fsum(parts)
    except OverflowError:  # the sum or a partial sum is out of range
        exact = sum(map(Fraction, parts))
    try:
        return float(exact)
    except OverflowError:
        return int(exact)


def negative_cycle_error(graph: Graph, cycle: Sequence[int]) -> NegativeCycleError:
    """Return the error for a cycle that a solver found, after summing its edges.

    The cycle has indices, and the error external names.
    """
    total = cycle_total(graph, cycle)
    if not total < 0:
        raise SolverError(
            f"a cycle reported as negative has weight {total}: please report this bug in nearfar"
        )
    return NegativeCycleError([graph.name_of(v) for v in cycle], total)
