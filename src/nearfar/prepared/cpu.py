"""Prepared graphs as variants: what ``sssp``, ``distances`` and ``all_pairs`` run on one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from nearfar import _cpu
from nearfar.errors import OptionError
from nearfar.prepared.exact import restored_rows
from nearfar.prepared.prepared import Prepared
from nearfar.registry import Answer, Estimate, Request, Workspace, variant

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph

__all__ = ["TreeOptions", "TreeRowsOptions", "elimination_tree", "elimination_tree_rows"]


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """Options of ``elimination_tree@cpu``.

    Parameters
    ----------
    exact : bool
        For floats: whether to sweep over the edges afterwards, so that distances are bit for bit
        what searches return. Without, they may differ in the last digits, since sums over
        shortcuts are added in another order. Integers are exact either way.
    """

    exact: bool = True


@dataclass(frozen=True, slots=True)
class TreeRowsOptions:
    """Options of ``elimination_tree_rows@cpu``.

    Parameters
    ----------
    exact : bool
        As for ``elimination_tree@cpu``.
    lanes : int
        Sources per sweep: 16 or 32 for weights of 32 bits, 8 or 16 for 64; 0 takes the smaller.
    """

    exact: bool = True
    lanes: int = 0


_ARC = 2.3e-9  # seconds per arc of a pass for one source
_ARC_OF_LANE = 3.3e-10  # and for one of many
_POLISH = 1.1e-7  # seconds per vertex for the left-to-right sums of a row of floats


def _polish_seconds(facts: Facts) -> float:
    return _POLISH * facts.n if facts.dtype.kind == "f" else 0.0


def _one(facts: Facts, request: Request) -> Estimate | None:
    if not isinstance(facts.graph, Prepared):
        return None
    seconds = 1e-5 + _ARC * facts.graph.metric.n_swept + _polish_seconds(facts)
    return Estimate(seconds, "prepared: one pass over the arcs, whatever the source")


def _many(facts: Facts, request: Request) -> Estimate | None:
    if not isinstance(facts.graph, Prepared):
        return None
    prepared = facts.graph
    arcs = prepared.metric.n_swept
    floats = _polish_seconds(facts)
    if request.targets is not None and not floats:
        # A target needs its ancestors, and many share theirs: a few dozen of their own each.
        arcs = min(arcs, 200 * len(request.targets) + 20 * prepared.preparation.figures.height)
    gain = 1 + (request.threads - 1) * (facts.gain - 1)
    seconds = 1e-5 + request.n_sources * (_ARC_OF_LANE * arcs + floats) / gain
    return Estimate(seconds, "prepared: sources in vector lanes, one pass over the arcs")


def _is_prepared(graph: Graph, request: Request) -> Literal[True] | str:
    if not isinstance(graph, Prepared):
        return "the graph is not prepared: nearfar.prepare(graph) makes one that is"
    return True


def _lane_bytes(graph: Graph, request: Request) -> int:
    """A line of memory or two per vertex and worker, and whole rows of floats before the cut."""
    sweeps = request.threads * graph.n_vertices * (128 + 8)
    return sweeps + (2**29 if graph.weight_dtype.kind == "f" else 0)


@variant(
    "elimination_tree",
    device="cpu",
    weights="any",
    options=TreeOptions,
    requires=_is_prepared,
    paper="dibbelt-2016",
    section="elimination tree query, then one pass over all arcs as in PHAST",
    summary="a walk to the root of the elimination tree, then one pass down (prepared graphs)",
    complexity="O(arcs)",
    cost=_one,
)
def elimination_tree(
    graph: Graph, source: int, options: TreeOptions, workspace: Workspace
) -> Answer:
    """One row."""
    assert isinstance(graph, Prepared)
    out = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    start = np.array([source], dtype=np.int64)
    if graph.weight_dtype.kind == "f" and options.exact:
        restored_rows(graph, start, 1, out=out.reshape(1, -1))
    else:
        _cpu.prepared_distances(graph.metric_view, start, None, out, 0, 1)
    stats: dict[str, Any] = {"edges_relaxed": len(graph.metric.down.weight)}
    return Answer(out, stats)


@variant(
    "elimination_tree_rows",
    device="cpu",
    problems={"batch", "all_pairs"},
    weights="any",
    options=TreeRowsOptions,
    requires=_is_prepared,
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
    """Rows, or a table where there are columns: then only what the columns need is looked at."""
    assert isinstance(graph, Prepared)
    narrow = 16 if graph.metric.dtype.itemsize == 4 else 8
    if options.lanes not in (0, narrow, 2 * narrow):
        raise OptionError(f"lanes is {options.lanes}: use {narrow} or {2 * narrow} here")
    columns, threads = workspace.columns, workspace.threads
    exact = graph.weight_dtype.kind == "f" and options.exact
    width = graph.n_vertices if columns is None else len(columns)
    shape = (len(sources), width)
    given = workspace.out
    fits = given is not None and given.shape == shape and given.dtype == graph.weight_dtype
    out = given if fits else np.empty(shape, dtype=graph.weight_dtype)
    stats: dict[str, Any] = {"sweeps": -(-len(sources) // (options.lanes or narrow))}
    if exact and columns is None:
        restored_rows(graph, sources, threads, options.lanes, out)
    elif exact:
        # The sums are restored in whole rows, a few at a time.
        step = max(1, min(len(sources), 2**26 // max(graph.n_vertices, 1)))
        for first in range(0, len(sources), step):
            part = slice(first, first + step)
            out[part] = restored_rows(graph, sources[part], threads, options.lanes)[:, columns]
    else:
        _cpu.prepared_distances(graph.metric_view, sources, columns, out, options.lanes, threads)
    return Answer(out, stats)
