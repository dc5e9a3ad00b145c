"""Prepare a plain graph within a call: costs, and the cached result.

If there are enough sources, a call prepares the graph, answers from the prepared graph, and
caches it on the graph for later calls on any device.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.cpu.distances.predecessors import tight_predecessors
from nearfar.errors import GraphError, OutOfMemoryError
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import may_saturate, widest
from nearfar.graph.slots import Slot
from nearfar.prepared.guess import Guess, guess
from nearfar.prepared.order.tree import Preparation
from nearfar.prepared.prepare import prepare
from nearfar.prepared.prepared import Prepared, Sums, weighed
from nearfar.registry import CHOICES, Answer, Declined, Estimate, Request, Solver, Workspace
from nearfar.system.devices import runtime
from nearfar.system.threads import on_threads

#: Graphs that a call prepared, cached on the plain graph; structures, for a graph of another dtype.
_READY: Slot[Prepared] = Slot("prepared")
_STRUCTURE: Slot[Preparation] = Slot("preparation")
#: Reason why preparing a graph does not pay off, once the exact figures are known.
_UNFIT: Slot[str] = Slot("not worth preparing")
#: Safety factor on the estimated cost of preparing, which may be a third too low.
_MARGIN = 1.5


@dataclass(frozen=True, slots=True)
class FirstOptions:
    """Options of ``prepare_first``.

    Parameters
    ----------
    sums : {"fixed", "search"}
        As for ``elimination_tree@cpu``.
    force : bool
        Prepare even a graph without small separators, which takes far longer than searches.
    """

    sums: Sums = "fixed"
    force: bool = False


def fits_arcs(graph: Graph, request: Request) -> Literal[True] | str:
    """Return whether a graph is prepared and its sums fit the arcs: True, or the reason."""
    if not isinstance(graph, Prepared):
        return "the graph is not prepared: nearfar.prepare(graph) makes one that is"
    if graph.beyond_arcs:
        return "negative weights may add up to more than 2^60, half of what arcs can hold"
    return True


def can_be_prepared(graph: Graph, request: Request) -> Literal[True] | str:
    """Return whether a graph can be prepared: True, or the reason in words."""
    if isinstance(graph, Prepared):
        return True
    if max(graph.n_vertices, graph.n_edges) >= 2**31:
        return "a prepared graph has fewer than 2^31 vertices and edges"
    return True


def is_ready(graph: Graph) -> bool:
    """Return whether an earlier call prepared this graph, or it is prepared."""
    return isinstance(graph, Prepared) or _READY.filled(graph)


def cost_of_preparing(
    facts: Facts,
    request: Request,
    searches: float,
    rows: Callable[[Facts, Request, Prepared], float],
    guessed: Callable[[Facts, Request, Guess], tuple[float, float]],
    *,
    pairs: bool = False,
) -> Estimate | None:
    """Estimate a call that prepares the graph first, for rows or for pairs."""
    graph, k = facts.graph, request.n_sources
    if isinstance(graph, Prepared) or graph.on_device:
        return None
    if facts.dtype.kind == "f" and request.comes_back and not pairs:
        return Estimate(math.inf, "rows of floats have the sums of a search, not in fixed point")
    ready = _READY.get(graph)
    if ready is not None:
        return Estimate(rows(facts, request, ready), "prepared by an earlier call")
    if (why := _UNFIT.get(graph)) is not None:
        return Estimate(math.inf, why)
    if searches < max(2e-3, 1e-6 * facts.n):
        return Estimate(math.inf, f"too few sources ({k:,}) to repay preparing the graph")
    found = guess(facts)
    if isinstance(found, str):
        return Estimate(math.inf, found)
    weights, after = guessed(facts, request, found)
    return Estimate(
        _MARGIN * (2e-3 + found.order + weights + after),
        f"an order {found.order:.2g} s, about {found.n_arcs:,.0f} arcs with their weights "
        f"{weights:.2g} s, then {after / k * 1e3:.2g} ms per source; "
        f"times {_MARGIN} since this is a guess",
    )


def _add_trees(
    prepared: Prepared, sources: NDArray[np.int64], answer: Answer, workspace: Workspace
) -> None:
    """Add predecessors to an answer if only the prepared graph can determine them.

    Rows in fixed point have no tight edges in floats, so a pass over the plain graph finds none.
    """
    rows = answer.distances
    if not workspace.predecessors or prepared.fixed is None or workspace.columns is not None:
        return
    found = np.empty(rows.shape, dtype=prepared.vertex_dtype)

    def one(i: int) -> None:
        row = runtime.download(rows[i]) if runtime.is_device_array(rows) else rows[i]
        found[i] = tight_predecessors(prepared, int(sources[i]), np.ascontiguousarray(row))

    on_threads(one, len(sources), workspace.threads, prepared.n_vertices + prepared.n_edges)
    answer.predecessors = runtime.upload(found) if runtime.is_device_array(rows) else found


def of_prepared(
    graph: Graph,
    sources: NDArray[np.int64],
    options: FirstOptions,
    workspace: Workspace,
    solve: Solver,
    tree: type[Any],
) -> Answer:
    """Return the answer of a variant for prepared graphs, preparing the graph if none is cached."""
    prepared, seconds = made_ready(graph, options.force, workspace.threads)
    found = solve(prepared, sources, tree(sums=options.sums), workspace)
    _add_trees(prepared.summing(options.sums), sources, found, workspace)
    if seconds:
        found.stats["prepare_seconds"] = seconds
    return found


def made_ready(graph: Graph, force: bool, threads: int) -> tuple[Prepared, float]:
    """Return the prepared graph, cached if possible, and the seconds spent on preparing."""
    seconds = 0.0

    def make() -> Prepared:
        nonlocal seconds
        CHOICES.drop(graph)  # cached choices were made without the exact figures
        made = _prepare(graph, force, threads)
        seconds = sum(made.seconds.values())
        return made

    prepared = graph if isinstance(graph, Prepared) else _READY.of(graph, make)
    return prepared, seconds


def _prepare(graph: Graph, force: bool, threads: int) -> Prepared:
    """Prepare the graph; raise Declined if the exact figures show that it does not pay off."""
    structure = _STRUCTURE.get(graph)
    if structure is not None:
        return weighed(graph, structure, True, threads)
    try:
        made = prepare(graph, force=force, threads=threads)
    except (GraphError, OutOfMemoryError) as error:
        _UNFIT.put(graph, str(error))
        raise Declined(str(error)) from error
    if may_saturate(graph) and (wide := widest(graph)) is not graph:
        _STRUCTURE.put(wide, made.preparation)  # for the repeat in 64 bits
    return made
