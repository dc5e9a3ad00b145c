"""Johnson's method on CUDA: potentials, then a batch method on the reweighted graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.johnson.cpu import fits_shifted, potentials_seconds, shifted, solve_shifted
from nearfar.cuda.graph import longer_edges
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, Request, Workspace, find, variant

# Methods for the reweighted graph; the first that fits is used.
_INSIDE = ("block_per_source", "block_per_source_global", "lanes")


def _cost(facts: Facts, request: Request) -> Estimate | None:
    """Estimate negative weights; shifting the rows back adds half the time of the searches."""
    inner = find(_INSIDE[1], "cuda")[0].estimate(facts, request)
    if not facts.negative or inner is None:
        return None
    seconds = potentials_seconds(facts) + 1.5 * inner.seconds
    return Estimate(seconds, "negative weights: potentials first")


@variant(
    "johnson",
    device="cuda",
    problems={"batch", "all_pairs"},
    weights="any",
    options=NoOptions,
    requires=fits_shifted,
    paper="johnson-cuda",
    section="4, with a block per source inside (beyond the paper)",
    summary="potentials and reweighting, then a thread block per source on the reweighted graph",
    complexity="O(n m + k n m) at worst, a few scans per edge in practice",
    cost=_cost,
)
def johnson(
    graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
) -> Answer:
    """Run Johnson's method with the first batch method that fits the reweighted graph."""
    inside = shifted(graph).graph
    request = Request(problem="batch", n_sources=len(sources), device="cuda")
    for idea in _INSIDE:
        inner = find(idea, "cuda")[0]
        if inner.fits(inside, request) is True:
            break
    estimate = inner.estimate(Facts(inside), request)
    inside = longer_edges.for_next(inside, None, 0.0 if estimate is None else estimate.seconds)
    return solve_shifted(graph, sources, inner, workspace, inside)
