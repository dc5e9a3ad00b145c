"""CUDA variants, each a policy of the common driver."""

from __future__ import annotations

from typing import Any

from nearfar.graph.graph import Graph
from nearfar.papers.davidson_2014.near_far.buckets import Buckets
from nearfar.papers.davidson_2014.near_far.driver import Policy, run
from nearfar.papers.davidson_2014.near_far.options import (
    BucketOptions,
    NearFarOptions,
    SweepOptions,
    counts_fit,
)
from nearfar.registry import Answer, Workspace, variant


@variant(
    "workfront_sweep",
    device="cuda",
    summary="queue of updated vertices, duplicates removed by a lookup table of owners",
    options=SweepOptions,
    requires=counts_fit,
    paper="davidson-2014",
    section="IV.C Workfront Sweep",
    complexity="O(n m) work at worst, O(n) iterations",
)
def workfront_sweep(
    graph: Graph, sources: Any, options: SweepOptions, workspace: Workspace
) -> Answer:
    """Process every vertex that was updated in the previous iteration."""
    return run(graph, sources, options, workspace, Policy(far=False))


@variant(
    "near_far_host_loop",
    device="cuda",
    summary="near set and far pile, launched iteration by iteration as in the paper",
    options=NearFarOptions,
    requires=counts_fit,
    paper="davidson-2014",
    section="IV.C Near-Far Pile",
    complexity="O(n m) work at worst, near that of Dijkstra in practice",
)
def near_far_host_loop(
    graph: Graph, sources: Any, options: NearFarOptions, workspace: Workspace
) -> Answer:
    """Process updated vertices below a threshold; the others wait in the far pile."""
    return run(graph, sources, options, workspace, Policy(far=True))


@variant(
    "hybrid_sweep",
    device="cuda",
    summary="sweep while the frontier is small, near-far while it fills the GPU",
    options=NearFarOptions,
    requires=counts_fit,
    paper="davidson-2014",
    section="VII, future work",
    complexity="O(n m) work at worst",
)
def hybrid_sweep(
    graph: Graph, sources: Any, options: NearFarOptions, workspace: Workspace
) -> Answer:
    """Switch between Workfront Sweep and Near-Far by whether the frontier fills the device.

    The paper sketches it: the sweep at the beginning and at the end, where parallelism is low and
    repeated work costs nothing, and near-far in between. The device switches in both directions.
    """
    return run(graph, sources, options, workspace, Policy(far=True, hybrid=True))


@variant(
    "bucketing",
    device="cuda",
    summary="ten buckets kept in order by a radix sort, and a far pile",
    options=BucketOptions,
    requires=counts_fit,
    paper="davidson-2014",
    section="IV.C Bucketing with Far Pile",
    complexity="O(n m) work at worst; a sort of the bucket array each iteration",
)
def bucketing(graph: Graph, sources: Any, options: BucketOptions, workspace: Workspace) -> Answer:
    """Process the lowest of ten buckets; vertices beyond the tenth wait in the far pile."""
    policy = Policy(far=True, buckets=options.buckets, loop=lambda solve: Buckets(solve).loop())
    return run(graph, sources, options, workspace, policy)
