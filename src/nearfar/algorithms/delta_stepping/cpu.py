"""Delta-stepping on CPU cores: one worker, or several that share each bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfar import _cpu
from nearfar.options import DeltaOptions
from nearfar.registry import Answer, variant

if TYPE_CHECKING:
    from nearfar.graph import Graph
    from nearfar.registry import Workspace


@variant(
    "delta_stepping",
    device="cpu",
    summary="Delta-stepping on one core, with software prefetch along each bucket",
    options=DeltaOptions,
    paper="meyer-sanders-2003",
    section="sequential delta-stepping",
    complexity="O(n + m + d / delta) on average for random weights, d the greatest distance",
)
def delta_stepping(
    graph: Graph, source: int, options: DeltaOptions, workspace: Workspace
) -> Answer:
    """Buckets in place of a heap, so that memory can be read ahead of time."""
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    stats = _cpu.delta_stepping(
        graph.view, source, distances, options.delta, workspace.limit, workspace.targets
    )
    return Answer(distances, stats)


@variant(
    "delta_stepping_parallel",
    device="cpu",
    summary="Delta-stepping on several cores: a bucket ring a worker, shared segments, one barrier",
    options=DeltaOptions,
    paper="meyer-sanders-2003",
    section="parallel delta-stepping",
    complexity="O(n + m + d / delta) work on average for random weights, d the greatest distance",
)
def delta_stepping_parallel(
    graph: Graph, source: int, options: DeltaOptions, workspace: Workspace
) -> Answer:
    """Workers share every bucket; with one thread it is the same loop without company."""
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    stats = _cpu.delta_stepping_parallel(
        graph.view,
        source,
        distances,
        workspace.threads,
        float(graph.max_weight),
        options.delta,
        workspace.limit,
        workspace.targets,
    )
    return Answer(distances, stats)
