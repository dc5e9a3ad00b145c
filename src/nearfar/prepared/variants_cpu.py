"""Variants of ``sssp``, ``distances`` and ``all_pairs`` for prepared graphs on the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.cpu.costs import bucket_search
from nearfar.cpu.rows import answer_rows
from nearfar.errors import OptionError
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.prepared.cpu.exact import restored_rows
from nearfar.prepared.first import (
    FirstOptions,
    can_be_prepared,
    cost_of_preparing,
    fits_arcs,
    is_ready,
    of_prepared,
)
from nearfar.prepared.guess import POLISH, Guess, guess, row_seconds
from nearfar.prepared.order.tree import arc_bytes
from nearfar.prepared.prepared import Prepared, Sums
from nearfar.registry import Answer, Estimate, Request, Workspace, variant


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """Options of ``elimination_tree@cpu``.

    Parameters
    ----------
    sums : {"fixed", "search"}
        Float sums in fixed point, or bit for bit as in searches; see ``nearfar.Prepared.distance``.
    """

    sums: Sums = "fixed"


@dataclass(frozen=True, slots=True)
class TreeRowsOptions:
    """Options of ``elimination_tree_rows@cpu``.

    Parameters
    ----------
    sums : {"fixed", "search"}
        As for ``elimination_tree@cpu``.
    lanes : int
        Sources per sweep: 16 or 32 for weights of 32 bits, 8 or 16 for 64; 0 means the larger
        for tables of many sources, else the smaller.
    """

    sums: Sums = "fixed"
    lanes: int = 0


_ARC = 2.3e-9  # seconds per arc of a pass for one source


def _one(facts: Facts, request: Request) -> Estimate | None:
    if not isinstance(facts.graph, Prepared):
        return None
    seconds = 1e-5 + _ARC * facts.graph.metric.n_swept
    if facts.graph.adds_floats:
        seconds += POLISH * facts.n
    return Estimate(seconds, "prepared: one pass over the arcs for any source")


def _many(facts: Facts, request: Request) -> Estimate | None:
    if not isinstance(facts.graph, Prepared):
        return None
    reason = "prepared: sources in vector lanes, one pass over the arcs"
    return Estimate(_rows_seconds(facts, request, facts.graph), reason)


def _rows_seconds(facts: Facts, request: Request, prepared: Prepared) -> float:
    arcs = prepared.metric.n_swept
    if request.targets is not None and not prepared.adds_floats:
        # A target needs its ancestors, of which a few dozen are not shared with other targets.
        arcs = min(arcs, 200 * len(request.targets) + 20 * prepared.preparation.figures.height)
    restored = prepared.adds_floats
    return 1e-5 + _sweeps_seconds(facts, request, arcs, restored)


def _sweeps_seconds(facts: Facts, request: Request, arcs: float, restored: bool = False) -> float:
    width = None if request.targets is None else len(request.targets)
    each = row_seconds(facts, arcs, width, restored)
    return request.n_sources * each / _gain(facts, request)


def _gain(facts: Facts, request: Request) -> float:
    return 1 + (request.threads - 1) * (facts.gain - 1)


def _first(facts: Facts, request: Request) -> Estimate | None:
    searches = request.n_sources * facts.share * bucket_search(facts) / _gain(facts, request)
    return cost_of_preparing(facts, request, searches, _rows_seconds, _guessed)


def _guessed(facts: Facts, request: Request, found: Guess) -> tuple[float, float]:
    rows = _sweeps_seconds(facts, request, found.n_arcs)
    return found.weights / _gain(facts, request), rows


def _first_bytes(graph: Graph, request: Request) -> int:
    """Return the bytes of arcs and weights that are not built yet, and of the rows."""
    rows = _lane_bytes(graph, request)
    if is_ready(graph):
        return rows
    found = guess(Facts(graph))
    arcs = 0.0 if isinstance(found, str) else found.n_arcs
    return rows + arc_bytes(graph, arcs)


def _lane_bytes(graph: Graph, request: Request) -> int:
    """Return the bytes of one or two cache lines per label and worker, and of whole float rows."""
    swept, floats = graph.n_vertices, True
    if isinstance(graph, Prepared):
        floats, height = graph.adds_floats, graph.preparation.figures.height
        if request.targets is not None and not floats:
            swept = min(swept, len(request.targets) * height)  # their ancestors
    sweeps = request.threads * swept * (128 + 8)
    return sweeps + (2**29 if floats and graph.weight_dtype.kind == "f" else 0)


@variant(
    "elimination_tree",
    device="cpu",
    weights="any",
    options=TreeOptions,
    requires=fits_arcs,
    paper="dibbelt-2016",
    section="elimination tree query, then one pass over all arcs as in PHAST",
    summary="a walk to the root of the elimination tree, then one pass down (prepared graphs)",
    complexity="O(arcs)",
    cost=_one,
)
def elimination_tree(
    graph: Graph, source: int, options: TreeOptions, workspace: Workspace
) -> Answer:
    """Return the distances of one source."""
    assert isinstance(graph, Prepared)
    graph = graph.summing(options.sums)
    out = np.empty(graph.n_vertices, dtype=graph.answer_dtype)
    start = np.array([source], dtype=np.int64)
    if graph.adds_floats:
        restored_rows(graph, start, 1, out=out.reshape(1, -1))
    elif not _near(graph, start, workspace, out):
        _cpu.prepared_distances(graph.metric_view, start, None, out, 0, 1)
    stats: dict[str, Any] = {"edges_relaxed": len(graph.metric.down.weight)}
    return Answer(out, stats)


def _near(
    graph: Prepared, sources: NDArray[np.int64], workspace: Workspace, out: NDArray[Any]
) -> bool:
    """Fill whole rows within a limit, if the limit excludes most of the graph."""
    limit = workspace.limit
    if limit is None or graph.adds_floats or graph.n_negative:
        return False
    fixed, dtype = graph.fixed, graph.weight_dtype
    bound = int(limit) if fixed is None else fixed.steps_within(float(limit), dtype)
    bound = min(bound, 2**63 - 1)
    most = graph.n_vertices // 8 + 2 * graph.preparation.figures.height
    view, threads = graph.metric_view, workspace.threads
    return bool(_cpu.prepared_rows_within(view, sources, bound, most, out, threads))


@variant(
    "elimination_tree_rows",
    device="cpu",
    problems={"batch", "all_pairs"},
    weights="any",
    options=TreeRowsOptions,
    requires=fits_arcs,
    paper="dibbelt-2016",
    section="elimination tree query; sources in vector lanes",
    summary="sources in the lanes of vector registers, one pass over the arcs (prepared graphs)",
    complexity="O(k arcs)",
    cost=_many,
    scratch=_lane_bytes,
)
def elimination_tree_rows(
    graph: Graph, sources: NDArray[np.int64], options: TreeRowsOptions, workspace: Workspace
) -> Answer:
    """Solve rows, or a table of only the requested columns."""
    assert isinstance(graph, Prepared)
    graph = graph.summing(options.sums)
    narrow = 16 if graph.metric.dtype.itemsize == 4 else 8
    if options.lanes not in (0, narrow, 2 * narrow):
        raise OptionError(f"lanes is {options.lanes}: use {narrow} or {2 * narrow} here")
    columns, threads = workspace.columns, workspace.threads
    out = answer_rows(workspace, len(sources), graph.n_vertices, graph.answer_dtype)
    stats: dict[str, Any] = {"sweeps": -(-len(sources) // (options.lanes or narrow))}
    if graph.adds_floats and columns is None:
        restored_rows(graph, sources, threads, options.lanes, out)
    elif columns is None and _near(graph, sources, workspace, out):
        stats["sweeps"] = len(sources)
    elif graph.adds_floats:
        # The sums are restored in whole rows, a few at a time.
        step = max(1, min(len(sources), 2**26 // max(graph.n_vertices, 1)))
        for first in range(0, len(sources), step):
            part = slice(first, first + step)
            out[part] = restored_rows(graph, sources[part], threads, options.lanes)[:, columns]
    else:
        lanes = options.lanes
        used = _cpu.prepared_distances(graph.metric_view, sources, columns, out, lanes, threads)
        stats["sweeps"] = -(-len(sources) // used)
    return Answer(out, stats)


@variant(
    "prepare_first",
    device="cpu",
    problems={"batch", "all_pairs"},
    options=FirstOptions,
    requires=can_be_prepared,
    paper="dibbelt-2016",
    section="customizable contraction hierarchies; sources in vector lanes",
    summary="prepares the graph within the call, if there are enough sources to repay it",
    complexity="O(m log n + triangles + k arcs)",
    cost=_first,
    scratch=_first_bytes,
)
def prepare_first(
    graph: Graph, sources: NDArray[np.int64], options: FirstOptions, workspace: Workspace
) -> Answer:
    """Prepare a plain graph, cache the prepared graph on it, and solve rows."""
    solve = elimination_tree_rows
    return of_prepared(graph, sources, options, workspace, solve, TreeRowsOptions)
