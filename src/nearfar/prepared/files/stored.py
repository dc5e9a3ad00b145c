"""Convert a prepared graph to named arrays and values of a file, and back.

The C++ loops index by these arrays without checks, so a file is validated before use; a checksum
only shows that it is unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import GraphError, quoted
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.edge_arrays import edge_arrays, with_edge_arrays
from nearfar.graph.snapping.lines import EDGE_LINES, EdgeLines, edge_lines
from nearfar.prepared.metric.arc_weights import Metric, QueryArcs, value_dtype
from nearfar.prepared.metric.fixed_point import FixedPoint
from nearfar.prepared.order.tree import Arcs, Figures, Preparation, Tree
from nearfar.system.threads import default_threads

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
    fixed = prepared.fixed
    numbers = None if prepared.vertex_names is None else prepared.vertex_numbers
    return {
        **graph_values(prepared),
        "first_number": None if numbers is None else numbers.start,  # of consecutive names
        "perfect": prepared.perfect,
        "fixed": None if fixed is None else [fixed.exponent, fixed.exact, fixed.bound],
        "sides": prepared.metric.sides,
        "method": prepared.preparation.method,
        "figures": asdict(prepared.preparation.figures),
    }


def graph_values(graph: Graph) -> dict[str, Any]:
    """Return the values of a graph that a file stores besides arrays."""
    plain = (str, int, float, bool)
    attributes = {k: v for k, v in graph.attributes.items() if isinstance(v, plain)}
    return {"directed": graph.directed, "attributes": attributes}


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
        found |= {f"{prefix}.{name}": array for name, array in part._asdict().items()}
    found["metric.weights"] = metric.weights
    if prepared.fixed is not None:
        found["fixed.weights"] = prepared.fixed.graph.weights
    for side in ("up", "down")[: metric.sides]:
        found |= {
            f"{side}.{name}": array for name, array in getattr(metric, side)._asdict().items()
        }
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
    graph = graph_of(found, arrays, names)
    edge_lines(graph)  # checks that the lines belong to the edges
    tree = Tree(*(arrays[f"tree.{name}"] for name in Tree._fields))
    arcs = Arcs(*(arrays[f"arcs.{name}"] for name in Arcs._fields))
    up = QueryArcs(*(arrays[f"up.{name}"] for name in QueryArcs._fields))
    down = up
    if found["sides"] == 2:
        down = QueryArcs(*(arrays[f"down.{name}"] for name in QueryArcs._fields))
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


def graph_of(
    found: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], vertex_names: Any
) -> Graph:
    """Return the graph of a file with these values and arrays."""
    n, m = len(arrays["indptr"]) - 1, len(arrays["indices"])
    attributes = with_edge_arrays(found["attributes"], arrays, n, m)
    if "lines.first" in arrays:
        attributes[EDGE_LINES] = EdgeLines(arrays["lines.first"], arrays["lines.xy"])
    return Graph(
        arrays["indptr"],
        arrays["indices"],
        arrays.get("weights"),
        directed=found["directed"],
        vertex_names=vertex_names,
        coordinates=arrays.get("coordinates"),
        attributes=attributes,
        copy=False,
    )


def check_kinds(found: Mapping[str, Any], kinds: Mapping[str, tuple[type, ...]]) -> None:
    """Refuse values of unexpected types; a boolean is not a number."""
    for name, allowed in kinds.items():
        if type(found[name]) not in allowed:
            raise GraphError(f"{name} is {quoted(found[name])}")


def check_contents(prepared: Prepared) -> None:
    """Refuse arrays whose entries do not belong together.

    O(arcs + edges) for the structure and O(triangles) for the weights, on all cores: about as long
    as computing the checksums.
    """
    preparation, metric = prepared.preparation, prepared.metric.on_host()
    if prepared.fixed is not None and not prepared.fixed.stands_for(prepared):
        raise GraphError("fixed.weights is not that of this graph")
    graph = prepared.summed
    threads, view = default_threads(), preparation.view
    tree, arcs, figures = preparation.tree, preparation.arcs, preparation.figures
    wrong = _cpu.prepared_check_arcs(view, tree.arcs, graph.indptr, graph.indices, threads)
    if not wrong and (figures.n_arcs != arcs.n_arcs or figures.height != tree.height):
        wrong = "figures"
    if not wrong and metric.weights.dtype != value_dtype(graph):
        wrong = "metric.weights"
    if not wrong:
        weights = graph.effective_weights
        again = np.empty_like(metric.weights)
        if metric.sides == 1 and not _cpu.prepared_symmetric(view, weights, None, threads):
            wrong = "metric.weights"
        else:
            _cpu.prepared_customize(view, weights, again, metric.sides, threads)
            wrong = "" if _same_weights(again, metric.weights) else "metric.weights"
    queries = (("up", 0, metric.up), ("down", metric.sides - 1, metric.down))
    for name, side, part in queries[: metric.sides]:
        if not wrong and not _cpu.prepared_check_queries(
            view, metric.weights, metric.sides, side,
            part.first, part.head_depth, part.weight, threads,
        ):  # fmt: skip
            wrong = name
    if wrong:
        raise GraphError(f"{wrong} is not that of this graph and order")


def _same_weights(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether arcs have equal weights, where all values for "no path" are equal."""
    if one.dtype != np.int64:
        return np.array_equal(one, other)
    # With negative weights any value beyond "no path" means that too (value.hpp).
    far = np.iinfo(np.int64).max // 2
    none = far // 2
    return int(other.max(initial=0)) <= far and np.array_equal(
        np.minimum(one, none), np.minimum(other, none)
    )
