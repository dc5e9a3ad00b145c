"""Near-Far on CUDA: one launch per source, or one solve on several devices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.algorithms.near_far.one_launch.driver import solve_in_one_launch
from nearfar.algorithms.near_far.one_launch.options import OneLaunchOptions
from nearfar.algorithms.near_far.partitioned import PartitionedOptions, solve_partitioned, splits
from nearfar.cuda.costs import chain, one_launch
from nearfar.cuda.device_rows import Rows
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.registry import Answer, Estimate, Request, Workspace, variant

_CALL = 1.5e-4  # seconds per source in addition to its search
_UNLEARNED = 5e-4  # most seconds that it takes longer than a repeated one
_COUNTED = ("iterations", "edges_relaxed")  # figures of a solve that add up


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


def _cost_of_many(facts: Facts, request: Request) -> Estimate:
    # Widths and forms are learned by repeated searches from one source, not from many.
    alone = one_launch(facts)
    seconds = request.n_sources * (alone + min(alone, _UNLEARNED) + _CALL)
    return Estimate(seconds, f"one source after another, about {chain(facts):,.0f} hops each")


@variant(
    "near_far_per_source",
    device="cuda",
    problems={"batch", "all_pairs"},
    summary="one source after another, each with the whole device",
    options=OneLaunchOptions,
    paper="davidson-2014",
    section="IV.C Near-Far Pile, beyond the paper",
    complexity="O(k n m) work at worst, near that of Dijkstra in practice",
    cost=_cost_of_many,
)
def near_far_per_source(
    graph: Graph, sources: NDArray[np.int64], options: OneLaunchOptions, workspace: Workspace
) -> Answer:
    """Launch a solve per source, for graphs that are too large for one thread block each."""
    rows = Rows(graph, sources, workspace)
    if rows.nothing is not None:
        return rows.nothing
    columns, solved = rows.columns, list[Any]()
    if columns is not None:
        columns = columns.astype(rows.device.vertex_dtype)
    alone = Workspace(limit=workspace.limit, targets=columns)
    stats: dict[str, Any] = {**dict.fromkeys(_COUNTED, 0), "last_threshold": 0.0}
    for first, last in rows.parts(graph.n_vertices * graph.weight_dtype.itemsize):
        out = rows.memory(first, last)
        for row, source in zip(out, sources[first:last].tolist(), strict=True):
            found = solve_in_one_launch(graph, source, options, alone)
            values = found.distances if columns is None else found.distances[columns]
            row.data.copy_from_device_async(values.data, values.nbytes)
            for name in _COUNTED:
                stats[name] += found.stats[name]
            threshold = found.stats.get("last_threshold", math.inf)
            stats["last_threshold"] = max(stats["last_threshold"], threshold)
        solved.append(rows.kept(out))
    rows.timer.stop()
    if stats["last_threshold"] == math.inf:
        del stats["last_threshold"]  # some solves went beyond theirs
    return rows.answer(solved, (), **stats)


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
