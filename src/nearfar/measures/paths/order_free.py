"""Float weights in fixed point, so that lengths of paths do not depend on summation order."""

from __future__ import annotations

from nearfar.graph.graph import Graph
from nearfar.graph.slots import Slot
from nearfar.prepared.metric.fixed_point import FixedPoint, fixed_point
from nearfar.prepared.prepared import Prepared

_STEPS: Slot[tuple[Graph, FixedPoint | None]] = Slot("weights in fixed point")


def in_steps(graph: Graph) -> tuple[Graph, FixedPoint | None]:
    """Return the graph with float weights in fixed point, if they fit.

    Sums of floats from left to right depend on the order of the edges, so that two paths over the
    same weights may differ in length. In fixed point they do not.
    """
    if graph.weight_dtype.kind != "f" or not graph.is_weighted or graph.n_negative:
        return graph, None
    return _STEPS.of(graph, lambda: _convert(graph))


def _convert(graph: Graph) -> tuple[Graph, FixedPoint | None]:
    fixed = graph.fixed if isinstance(graph, Prepared) else fixed_point(graph)
    if fixed is None:
        return graph, None
    counted = graph.with_weights(fixed.graph.effective_weights)
    if isinstance(graph, Prepared):
        counted = Prepared(counted, graph.preparation, graph.metric, graph.perfect)
    return counted, fixed
