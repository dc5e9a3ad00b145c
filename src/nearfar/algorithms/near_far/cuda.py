"""The CUDA variants: each is a policy of the one driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearfar.algorithms.near_far.driver import Policy, run
from nearfar.algorithms.near_far.one_launch import OneLaunchOptions, solve_in_one_launch
from nearfar.algorithms.near_far.options import (
    BucketOptions,
    NearFarOptions,
    SweepOptions,
    counts_fit,
)
from nearfar.algorithms.near_far.partitioned import PartitionedOptions, solve_partitioned, splits
from nearfar.cuda.costs import chain, one_launch
from nearfar.registry import Estimate, variant

if TYPE_CHECKING:
    from nearfar.graph.facts import Facts
    from nearfar.graph.graph import Graph
    from nearfar.registry import Answer, Request, Workspace

__all__ = [
    "bucketing",
    "hybrid_sweep",
    "near_far",
    "near_far_host_loop",
    "near_far_partitioned",
    "workfront_sweep",
]


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
    """Process every vertex that was updated in the iteration before."""
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

    The paper sketches it: sweep at the beginning and at the end, where parallelism is scarce and
    wasted work costs nothing, and near-far between. The switch is taken on the device, in both
    directions.
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
    return run(graph, sources, options, workspace, Policy(far=True, buckets=options.buckets))


def _cost(facts: Facts, request: Request) -> Estimate:
    words = f"near set and far pile in one launch, about {chain(facts):,.0f} hops"
    return Estimate(one_launch(facts), words)


@variant(
    "near_far",
    device="cuda",
    summary="near set and far pile in one launch, thin frontiers advanced block by block",
    options=OneLaunchOptions,
    paper="davidson-2014",
    section="IV.C Near-Far Pile, beyond the paper",
    complexity="O(n m) work at worst, near that of Dijkstra in practice",
    cost=_cost,
)
def near_far(graph: Graph, sources: Any, options: OneLaunchOptions, workspace: Workspace) -> Answer:
    """The engine that ``auto`` runs on a GPU."""
    return solve_in_one_launch(graph, int(sources), options, workspace)


@variant(
    "near_far_partitioned",
    device="cuda",
    summary="vertices split over several GPUs, improvements fetched by their owners once per step",
    options=PartitionedOptions,
    requires=splits,
    paper="davidson-2014",
    section="IV.C Near-Far Pile, over several devices",
    complexity="O(n m) work at worst; every step looks at all vertices",
)
def near_far_partitioned(
    graph: Graph, sources: Any, options: PartitionedOptions, workspace: Workspace
) -> Answer:
    """For graphs that one device cannot hold; ``auto`` never takes it."""
    return solve_partitioned(graph, int(sources), options, workspace)
