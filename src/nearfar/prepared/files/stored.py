"""Convert a prepared graph to named arrays and values of a file, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from nearfar.errors import GraphError, quoted
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.edge_arrays import edge_arrays, with_edge_arrays
from nearfar.graph.snapping.lines import EDGE_LINES, EdgeLines, edge_lines
from nearfar.prepared.metric.arc_weights import Metric, QueryArcs
from nearfar.prepared.metric.fixed_point import FixedPoint
from nearfar.prepared.order.preparation import Preparation
from nearfar.prepared.order.tree import Arcs, Figures, Tree

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

_MOST = 2**63
#: Types of the values that a file stores in addition to arrays.
_KINDS: dict[str, tuple[type, ...]] = {
    "directed": (bool,),
    "first_number": (int, type(None)),
    "perfect": (bool,),
    "fixed": (list, type(None)),
    "sides": (int,),
    "method": (str,),
    "figures": (dict,),
    "attributes": (dict,),
}


def kept_values(prepared: Prepared) -> dict[str, Any]:
    """Return the values that a file stores besides arrays."""
    plain, fixed = (str, int, float, bool), prepared.fixed
    return {
        "directed": prepared.directed,
        "first_number": None if prepared.vertex_names is None else _first_number(prepared),
        "perfect": prepared.perfect,
        "fixed": None if fixed is None else [fixed.exponent, fixed.exact, fixed.bound],
        "sides": prepared.metric.sides,
        "method": prepared.preparation.method,
        "figures": asdict(prepared.preparation.figures),
        "attributes": {k: v for k, v in prepared.attributes.items() if isinstance(v, plain)},
    }


def _first_number(prepared: Prepared) -> int | None:
    """Return the name of the first vertex if names are consecutive numbers, or None."""
    return None if prepared.vertex_numbers is None else prepared.vertex_numbers.start


def kept_arrays(prepared: Prepared) -> dict[str, NDArray[Any]]:
    """Return all arrays by name; arrays that both directions share are listed once."""
    found: dict[str, Any] = {
        "indptr": prepared.indptr,
        "indices": prepared.indices,
        "weights": prepared.weights,
        "vertex_names": None if prepared.vertex_numbers is not None else prepared.vertex_names,
        "coordinates": prepared.coordinates,
    }
    lines = edge_lines(prepared)
    if lines is not None:
        found |= {"lines.first": lines.first, "lines.xy": lines.xy}
    found |= edge_arrays(prepared)
    preparation, metric = prepared.preparation, prepared.metric
    for prefix, part in (("tree", preparation.tree), ("arcs", preparation.arcs)):
        found |= {f"{prefix}.{f.name}": getattr(part, f.name) for f in fields(part)}
    found["metric.weights"] = metric.weights
    if prepared.fixed is not None:
        found["fixed.weights"] = prepared.fixed.graph.weights
    for side in ("up", "down")[: metric.sides]:
        part = getattr(metric, side)
        found |= {f"{side}.{f.name}": getattr(part, f.name) for f in fields(part)}
    return {name: array for name, array in found.items() if array is not None}


def assembled(
    found: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> tuple[Graph, Preparation, Metric, bool, FixedPoint | None]:
    """Return the parts of a prepared graph from the content of a file."""
    check_kinds(found, _KINDS)
    kinds = {f.name: (int, float) if f.name == "seconds" else (int,) for f in fields(Figures)}
    check_kinds(found["figures"], kinds)
    names: Any = arrays.get("vertex_names")
    if (start := found["first_number"]) is not None:
        names = range(start, start + len(arrays["indptr"]) - 1)
        if names and not -_MOST <= names[0] <= names[-1] < _MOST:
            raise GraphError(f"first_number is {start}: names have 64 bits")
    n, m = len(arrays["indptr"]) - 1, len(arrays["indices"])
    attributes = with_edge_arrays(found["attributes"], arrays, n, m)
    if "lines.first" in arrays:
        attributes[EDGE_LINES] = EdgeLines(arrays["lines.first"], arrays["lines.xy"])
    graph = Graph(
        arrays["indptr"],
        arrays["indices"],
        arrays.get("weights"),
        directed=found["directed"],
        vertex_names=names,
        coordinates=arrays.get("coordinates"),
        attributes=attributes,
        copy=False,
    )
    edge_lines(graph)  # checks that the lines belong to the edges
    tree = Tree(**{f.name: arrays[f"tree.{f.name}"] for f in fields(Tree)})
    arcs = Arcs(**{f.name: arrays[f"arcs.{f.name}"] for f in fields(Arcs)})
    up = QueryArcs(**{f.name: arrays[f"up.{f.name}"] for f in fields(QueryArcs)})
    down = up
    if found["sides"] == 2:
        down = QueryArcs(**{f.name: arrays[f"down.{f.name}"] for f in fields(QueryArcs)})
    metric = Metric(arrays["metric.weights"], up, down, found["sides"])
    if tree.n_vertices != graph.n_vertices:
        raise GraphError(f"a tree of {tree.n_vertices} vertices for {graph.n_vertices}")
    preparation = Preparation(tree, arcs, Figures(**found["figures"]), found["method"])
    fixed = None
    if found["fixed"] is not None:
        exponent, exact, bound = found["fixed"]
        if (type(exponent), type(exact)) != (int, bool) or type(bound) not in (int, float):
            raise GraphError("fixed holds other values than an exponent, a flag and a bound")
        steps = Graph(arrays["indptr"], arrays["indices"], arrays["fixed.weights"], copy=False)
        fixed = FixedPoint(steps, exponent, exact, float(bound))
    return graph, preparation, metric, found["perfect"], fixed


def check_kinds(found: Mapping[str, Any], kinds: Mapping[str, tuple[type, ...]]) -> None:
    """Refuse values of unexpected types; a boolean is not a number."""
    for name, allowed in kinds.items():
        if type(found[name]) not in allowed:
            raise GraphError(f"{name} is {quoted(found[name])}")
