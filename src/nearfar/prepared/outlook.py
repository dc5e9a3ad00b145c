"""Predict whether a graph is worth preparing, with figures to show."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nearfar.cpu.costs import bucket_search
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.prepared.guess import guess, row_seconds
from nearfar.prepared.order.tree import Figures, arc_bytes, weighing_seconds
from nearfar.prepared.prepare import foreseen
from nearfar.prepared.prepared import Prepared

#: Number of vertices up to which an order is computed, which takes less than a second.
_QUICK = 100_000


@dataclass(frozen=True, slots=True)
class Outlook:
    """Prediction of whether a graph is worth preparing."""

    worth: bool  # whether nearfar.prepare would accept it
    exact: bool  # whether the figures come from an order instead of samples of the graph
    # n_shortcuts, n_triangles, nbytes: arcs that elimination adds, steps of a customization, and
    # bytes in addition to the graph. None if samples showed that there are no small separators
    n_shortcuts: int | None
    n_triangles: int | None
    nbytes: int | None
    # approximate number of sources from which preparing and answering on one core takes less than
    # that many searches; None if it never does
    break_even: int | None
    remark: str  # summary in words

    def __str__(self) -> str:
        if self.n_shortcuts is None or self.n_triangles is None or self.nbytes is None:
            return f"no: {self.remark}"
        about = "" if self.exact else "about "
        listed = [
            f"{about}{self.n_shortcuts:,} shortcuts",
            f"{about}{self.n_triangles:,} triangles",
            f"{self.nbytes / 2**20:,.0f} MiB",
        ]
        if self.break_even is not None:
            listed.append(f"from about {self.break_even:,} sources on")
        return f"{'yes' if self.worth else 'no'}: {', '.join(listed)}; {self.remark}"


def outlook(graph: Graph) -> Outlook:
    """Predict whether a graph is worth preparing.

    Notes
    -----
    An order is computed if that takes less than a second; larger graphs are sampled.
    """
    if isinstance(graph, Prepared):
        return _exactly(graph.preparation.figures, None, "it is prepared")
    facts = Facts(graph)
    near = guess(facts)
    if isinstance(near, str):
        return Outlook(False, False, None, None, None, None, near)
    if graph.n_vertices <= _QUICK and not graph.on_device:
        found = foreseen(graph)
        weights = weighing_seconds(found.n_vertices, found.n_arcs, found.n_triangles)
        why = "separators are small" if found.worth else "there are no small separators"
        return _exactly(found, _break_even(facts, found.n_arcs, near.order + weights), why)
    shortcuts = int(max(near.n_arcs - facts.m / (1 if graph.directed else 2), 0))
    return Outlook(
        worth=True,
        exact=False,
        n_shortcuts=shortcuts,
        n_triangles=int(near.n_triangles),
        nbytes=arc_bytes(graph, near.n_arcs),
        break_even=_break_even(facts, near.n_arcs, near.order + near.weights),
        remark="a guess from samples: `nearfar prepare --dry-run` finds the exact figures",
    )


def _exactly(figures: Figures, break_even: int | None, remark: str) -> Outlook:
    return Outlook(
        figures.worth,
        True,
        figures.n_shortcuts,
        figures.n_triangles,
        figures.nbytes,
        break_even,
        remark,
    )


def _break_even(facts: Facts, n_arcs: float, seconds: float) -> int | None:
    saved = bucket_search(facts) - row_seconds(facts, n_arcs)
    return math.ceil(seconds / saved) if saved > 0 else None
