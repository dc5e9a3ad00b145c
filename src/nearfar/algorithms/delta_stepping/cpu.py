"""Delta-stepping on CPU cores: one worker, or several that share each bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.graph.graph import NARROW_VIEW
from nearfar.options import DeltaOptions
from nearfar.registry import Answer, variant
from nearfar.system.memory import empty_on_huge_pages

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph
    from nearfar.registry import Workspace


#: With so many edges per vertex, weights of a byte or two are read beside the targets.
_LONG_ROWS = 16


def _view(graph: Graph) -> Any:
    """Long rows with small weights in a byte or two each, cached; else the graph as it is."""
    if graph.mean_degree < _LONG_ROWS or graph.weights is None:
        return graph.view
    arrays = graph.indptr, graph.indices, graph.weights

    def make() -> _cpu.NarrowView | None:
        fits = graph.weight_dtype == np.int32 and graph.index_dtype == np.int32
        fits = fits and graph.max_weight <= np.iinfo(np.uint16).max
        return _cpu.NarrowView.make(*arrays) if fits else None

    narrow = NARROW_VIEW.of(graph, make)
    return graph.view if narrow is None else narrow


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
    distances = empty_on_huge_pages(graph.n_vertices, graph.weight_dtype)
    stats = _cpu.delta_stepping(
        _view(graph),
        source,
        distances,
        options.delta,
        workspace.limit,
        workspace.targets,
        workspace.stats == "full",
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
    distances = empty_on_huge_pages(graph.n_vertices, graph.weight_dtype)
    stats = _cpu.delta_stepping_parallel(
        _view(graph),
        source,
        distances,
        workspace.threads,
        float(graph.max_weight),
        options.delta,
        workspace.limit,
        workspace.targets,
    )
    return Answer(distances, stats)
