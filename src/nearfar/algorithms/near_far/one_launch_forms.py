"""Which form of the one-launch engine a solve takes, and what a graph's solves have taught.

The plain form needs nothing but the graph, so the first solve takes it. It leaves behind how long
it took and how far it reached, and with that the next solves of the same graph may take a form that
pays only when a graph is solved again (docs/explanation/gpu-engine.md has the measurements):

- *sorted*: rows sorted by weight once, for graphs with many edges a vertex. The sort is done when
  the plain solves have together taken as long as it will, so it never doubles the time spent;
- *packed*: distances in 8 or 16 bits while solving, for large sparse graphs whose distances fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nearfar.cuda import runtime

if TYPE_CHECKING:
    from nearfar.algorithms.near_far.one_launch import OneLaunchOptions
    from nearfar.graph import Graph
    from nearfar.registry import Workspace

__all__ = ["Form", "form_of", "learn", "too_narrow"]

_SORT_SECONDS = 75e-12  # an edge of 8 bytes; measured 65 to 86 on an H100
_MANY_EDGES = 12.0  # mean degree from which sorted rows pay
_ROAD_LIKE = 5.0
_LARGE = 1 << 24  # bytes of distances beyond which packing them pays
_HEADROOM = 2  # times the farthest distance seen so far


@dataclass(frozen=True, slots=True)
class Form:
    """``kind`` is "plain", "sorted" or "packed"; ``bits`` a distance in the packed form."""

    kind: str
    bits: int = 0


@dataclass(slots=True)
class _History:
    """Of one graph on one device."""

    seconds: float = 0.0  # of plain solves
    reach: float = 0.0  # past the farthest distance of whole solves; 0 before one
    scans: int = 0  # splits of the last whole solve
    least_bits: int = 8


def _history(graph: Graph) -> _History:
    held = graph.cache.setdefault("near_far_history", {})
    return held.setdefault(runtime.device().ordinal, _History())  # type: ignore[no-any-return]


def form_of(graph: Graph, options: OneLaunchOptions) -> Form:
    """The form that the options ask for, or that pays by what is known of the graph."""
    if not graph.is_weighted:
        return Form("plain")
    if options.sort_rows:
        return Form("sorted")
    if options.distance_bits:
        whole = graph.weight_dtype.kind == "i"
        return Form("packed", options.distance_bits) if whole else Form("plain")
    if options.tuned:
        return Form("plain")
    if options.sort_rows is None and graph.mean_degree >= _MANY_EDGES:
        sort = _SORT_SECONDS * graph.n_edges * graph.weight_dtype.itemsize / 4
        return Form("sorted" if _history(graph).seconds >= sort else "plain")
    return _packed(graph) if options.distance_bits is None else Form("plain")


def _packed(graph: Graph) -> Form:
    large = graph.n_vertices * graph.weight_dtype.itemsize >= _LARGE
    if graph.weight_dtype.kind != "i" or graph.mean_degree <= _ROAD_LIKE or not large:
        return Form("plain")
    history = _history(graph)
    # Each split looks at all vertices: few splits, or the far pile is cheaper.
    if not history.reach or history.scans * graph.n_vertices > 2 * graph.n_edges:
        return Form("plain")
    for bits in (8, 16):
        if bits >= history.least_bits and _HEADROOM * history.reach < 2**bits - 1:
            return Form("packed", bits)
    return Form("plain")


def learn(graph: Graph, form: Form, stats: dict[str, Any], workspace: Workspace) -> None:
    """Keep what a finished solve says about the graph."""
    history = _history(graph)
    if form.kind == "plain":
        history.seconds += stats["device_seconds"]
    if workspace.limit is None and workspace.targets is None and form.kind != "sorted":
        history.reach = max(history.reach, stats["last_threshold"])
        if form.kind == "plain":
            history.scans = stats["splits"]


def too_narrow(graph: Graph, form: Form) -> None:
    """Distances of this graph do not fit the form's bits: try more from now on."""
    _history(graph).least_bits = 2 * form.bits if form.bits < 16 else 64
