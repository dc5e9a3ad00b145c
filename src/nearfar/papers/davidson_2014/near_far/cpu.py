"""Sequential forms on one core, for reading and for counting the work of the CUDA variants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar.errors import OptionError, quoted
from nearfar.graph.delta import paper_delta
from nearfar.graph.graph import Graph
from nearfar.options import DeltaOptions, NoOptions
from nearfar.registry import Answer, Workspace, variant

_SWEEP, _NEAR_FAR = 0, 1  # policies of cpu.cpp; greater numbers are a count of buckets


@dataclass(frozen=True, slots=True)
class BucketCount(DeltaOptions):
    """Options of sequential Bucketing.

    Parameters
    ----------
    delta : float or None
        Width of a bucket in units of the weights. None means 32 * mean weight / mean degree.
    buckets : int
        Buckets before the far pile, at least 2.
    """

    buckets: int = 10

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        if isinstance(self.buckets, bool) or not 2 <= self.buckets <= 10**6:
            raise OptionError(
                f"buckets is {quoted(self.buckets)}: give an integer from 2 to 1000000"
            )


def _run(
    graph: Graph, source: int, workspace: Workspace, policy: int, delta: float | None
) -> Answer:
    from nearfar import _cpu

    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    width = paper_delta(graph, delta)
    full = workspace.stats == "full"
    stats = _cpu.near_far_sweep(
        graph.view, source, distances, float(width), policy, workspace.limit, full
    )
    stats["average_parallelism"] = stats["vertices_processed"] / max(stats["iterations"], 1)
    if policy == _SWEEP:
        del stats["splits"]
    else:
        stats["delta"] = width
    return Answer(distances, stats)


@variant(
    "workfront_sweep",
    device="cpu",
    summary="queue of updated vertices, each at most once (sequential)",
    options=NoOptions,
    paper="davidson-2014",
    section="IV.C Workfront Sweep",
    complexity="O(n m)",
)
def workfront_sweep(graph: Graph, source: int, options: NoOptions, workspace: Workspace) -> Answer:
    """Process every vertex that was updated in the previous iteration."""
    return _run(graph, source, workspace, _SWEEP, None)


@variant(
    "near_far",
    device="cpu",
    summary="near set and far pile (sequential)",
    options=DeltaOptions,
    paper="davidson-2014",
    section="IV.C Near-Far Pile",
    complexity="O(n m) at worst, near that of Dijkstra in practice",
)
def near_far(graph: Graph, source: int, options: DeltaOptions, workspace: Workspace) -> Answer:
    """Process updated vertices below a threshold; the others wait in the far pile."""
    return _run(graph, source, workspace, _NEAR_FAR, options.delta)


@variant(
    "bucketing",
    device="cpu",
    summary="ten buckets and a far pile (sequential)",
    options=BucketCount,
    paper="davidson-2014",
    section="IV.C Bucketing with Far Pile",
    complexity="O(n m) at worst, near that of Dijkstra in practice",
)
def bucketing(graph: Graph, source: int, options: BucketCount, workspace: Workspace) -> Answer:
    """Process the lowest of a few buckets; vertices beyond the last wait in the far pile."""
    return _run(graph, source, workspace, options.buckets, options.delta)
