"""Near-Far on CUDA: one device and one launch, or several devices."""

from __future__ import annotations

from typing import Any

from nearfar.algorithms.near_far.one_launch.driver import solve_in_one_launch
from nearfar.algorithms.near_far.one_launch.options import OneLaunchOptions
from nearfar.algorithms.near_far.partitioned import PartitionedOptions, solve_partitioned, splits
from nearfar.cuda.costs import chain, one_launch
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.registry import Answer, Estimate, Request, Workspace, variant


def _cost(facts: Facts, request: Request) -> Estimate:
    words = f"near set and far pile in one launch, about {chain(facts):,.0f} hops"
    return Estimate(one_launch(facts), words)


@variant(
    "near_far",
    device="cuda",
    summary="near set and far pile in one launch; blocks advance thin frontiers on their own",
    options=OneLaunchOptions,
    paper="davidson-2014",
    section="IV.C Near-Far Pile, beyond the paper",
    complexity="O(n m) work at worst, near that of Dijkstra in practice",
    cost=_cost,
)
def near_far(graph: Graph, sources: Any, options: OneLaunchOptions, workspace: Workspace) -> Answer:
    """Run the whole solve in one launch, which is what ``auto`` does on a GPU."""
    return solve_in_one_launch(graph, int(sources), options, workspace)


@variant(
    "near_far_partitioned",
    device="cuda",
    summary="vertices split over several GPUs, which fetch improvements once per step",
    options=PartitionedOptions,
    requires=splits,
    paper="davidson-2014",
    section="IV.C Near-Far Pile, over several devices",
    complexity="O(n m) work at worst; every step scans all vertices",
)
def near_far_partitioned(
    graph: Graph, sources: Any, options: PartitionedOptions, workspace: Workspace
) -> Answer:
    """Solve graphs that one device cannot hold; ``auto`` never chooses it."""
    return solve_partitioned(graph, int(sources), options, workspace)
