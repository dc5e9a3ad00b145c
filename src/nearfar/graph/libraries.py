"""Conversion from and to igraph, rustworkx, PyTorch Geometric, NetworkX and pandas.

The constructors call :func:`nearfar.graph.build.from_edges` and return the arguments of
``Graph.from_checked``. They are documented by the methods of the same names.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, MissingDependencyError, quoted
from nearfar.graph import on_device
from nearfar.graph.build import HostArrays, from_edges
from nearfar.graph.convert import (
    as_numbers,
    check_library,
    coordinates_of,
    is_number,
    refuse_missing_weight,
)
from nearfar.graph.given import as_indices, as_numpy
from nearfar.graph.names import as_names
from nearfar.graph.on_device import DeviceArrays
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import is_device_array

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph


def needed(name: str, what: str, extra: str | None = None) -> Any:
    """Import a library that a conversion needs."""
    try:
        return importlib.import_module(name)
    except ImportError:
        wanted = f"'nearfar[{extra}]'" if extra else name
        raise MissingDependencyError(f"{what} needs {name}: pip install {wanted}") from None


# ---- constructors ------------------------------------------------------------------------------


def from_igraph(graph: Any, weight: str | None) -> dict[str, Any]:
    """Convert as :meth:`nearfar.Graph.from_igraph` describes."""
    check_library(graph, "igraph", "get_edgelist", "es")
    n, directed = graph.vcount(), graph.is_directed()
    pairs = itertools.chain.from_iterable(graph.get_edgelist())
    # Several times as fast as NumPy's conversion of a list of pairs.
    ends = np.fromiter(pairs, np.int64, 2 * graph.ecount()).reshape(-1, 2)
    weights = None
    held = list(graph.es.attributes())
    if weight is not None and weight in held:
        weights = as_numbers(graph.es[weight], f"edge attribute {quoted(weight)}")
    elif weight is not None and len(ends):
        numeric = [name for name in held if is_number(graph.es[0][name])]
        refuse_missing_weight(weight, held, numeric, "edge attribute")
    kept: dict[str, Any] = {"directed": directed}
    of_vertices = graph.vs.attributes()
    if "name" in of_vertices:
        kept["vertex_names"] = as_names(graph.vs["name"])
    if {"x", "y"} <= set(of_vertices):
        kept["coordinates"] = coordinates_of(zip(graph.vs["x"], graph.vs["y"], strict=True))
    arrays = from_edges(ends[:, 0], ends[:, 1], weights, n_vertices=n, directed=directed)
    return {"arrays": arrays, **kept}


def from_rustworkx(graph: Any, weight: str | Callable[[Any], Any] | None) -> dict[str, Any]:
    """Convert as :meth:`nearfar.Graph.from_rustworkx` describes."""
    check_library(graph, "rustworkx", "weighted_edge_list")
    directed = hasattr(graph, "successors")
    vertices = np.array(list(graph.node_indices()), dtype=np.int64)
    ends = np.asarray(graph.edge_list()).astype(np.int64).reshape(-1, 2)
    whole = np.array_equal(vertices, np.arange(len(vertices)))
    if not whole:  # vertices were removed: use the indices of the others as names
        ends = np.searchsorted(vertices, ends)
    weights = _payloads(graph.edges(), weight)
    made = from_edges(ends[:, 0], ends[:, 1], weights, n_vertices=len(vertices), directed=directed)
    return {"arrays": made, "directed": directed, "vertex_names": None if whole else vertices}


def _payloads(payloads: list[Any], weight: str | Callable[[Any], Any] | None) -> Any:
    """Return the weights from the data of rustworkx edges."""
    if weight is None or not payloads:
        return None
    if callable(weight):
        return as_numbers([weight(payload) for payload in payloads], "the weight function")
    if all(isinstance(payload, dict) for payload in payloads):
        if any(weight in payload for payload in payloads):
            lacking = [at for at, payload in enumerate(payloads) if weight not in payload]
            if lacking:
                raise GraphError(f"edge {lacking[0]} has no {quoted(weight)}")
            return as_numbers([payload[weight] for payload in payloads], quoted(weight))
        held = dict.fromkeys(key for payload in payloads for key in payload)
        numeric = [key for key in held if any(is_number(p.get(key)) for p in payloads)]
        refuse_missing_weight(weight, list(held), numeric, "key of the edges' data")
        return None
    if all(payload is None for payload in payloads) and weight == "weight":
        return None
    if weight != "weight" or not all(is_number(payload) for payload in payloads):
        wrong = next((p for p in payloads if not is_number(p)), payloads[0])
        raise GraphError(
            f"the data of an edge is {quoted(wrong)}: give weight=a function that converts it to a "
            "number, or weight=None to count edges"
        )
    return as_numbers(payloads, "the data of an edge")


def from_edge_index(
    edge_index: Any, weights: Any, n_vertices: int | None, directed: bool
) -> HostArrays | DeviceArrays:
    """Convert as :meth:`nearfar.Graph.from_edge_index` describes."""
    given = [detached(array) for array in (edge_index, weights) if array is not None]
    by_device = all(map(is_device_array, given))
    if by_device:
        given = [runtime.upload(array) for array in given]
    else:
        names = ("edge_index", "edge weights")
        given = [as_numpy(array, name) for array, name in zip(given, names, strict=False)]
    ends, values = given[0], None if weights is None else given[1]
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise GraphError(f"edge_index has shape {ends.shape}: give (2, number of edges)")
    if values is not None and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]  # edge_attr of one column
    call: dict[str, Any] = {"n_vertices": n_vertices, "directed": directed}
    if by_device:
        return on_device.from_edges(ends[0], ends[1], values, **call)
    sources, targets = (as_indices(row, "edge_index") for row in ends)
    return from_edges(sources, targets, values, **call)


def detached(tensor: Any) -> Any:
    """Return a tensor without its gradient history, which other libraries would refuse."""
    return tensor.detach() if hasattr(tensor, "detach") else tensor


# ---- conversions ------------------------------------------------------------------------------


def edges_once(graph: Graph) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]:
    """Return sources, targets and weights of the edges, with each undirected edge once."""
    sources, targets = graph.tails(np.int64), graph.indices.astype(np.int64)
    weights = graph.weights
    if graph.directed:
        return sources, targets, weights
    once = sources <= targets
    return sources[once], targets[once], None if weights is None else weights[once]


def to_networkx(graph: Graph, weight: str) -> Any:
    """Convert as :meth:`nearfar.Graph.to_networkx` describes."""
    nx = needed("networkx", "to_networkx", "networkx")
    graph._check_distinct_names("NetworkX")
    sources, targets, weights = edges_once(graph)
    pairs = sources * max(graph.n_vertices, 1) + targets
    several = len(np.unique(pairs)) < len(pairs)
    kind = ("Multi" if several else "") + ("DiGraph" if graph.directed else "Graph")
    made = getattr(nx, kind)(**graph.attributes)
    names = _names(graph)
    if graph.coordinates is None:
        made.add_nodes_from(names)
    else:
        xy = graph.coordinates.tolist()
        made.add_nodes_from((v, {"x": x, "y": y}) for v, (x, y) in zip(names, xy, strict=True))
    ends = ((names[u], names[v]) for u, v in zip(sources.tolist(), targets.tolist(), strict=True))
    if weights is None:
        made.add_edges_from(ends)
    else:
        values = weights.tolist()
        made.add_edges_from((u, v, {weight: w}) for (u, v), w in zip(ends, values, strict=True))
    return made


def _names(graph: Graph) -> list[Any]:
    names: list[Any] = np.asarray(graph.name_of(np.arange(graph.n_vertices))).tolist()
    return names


def to_igraph(graph: Graph, weight: str) -> Any:
    """Convert as :meth:`nearfar.Graph.to_igraph` describes."""
    igraph = needed("igraph", "to_igraph")
    sources, targets, weights = edges_once(graph)
    made = igraph.Graph(
        n=graph.n_vertices,
        edges=zip(sources.tolist(), targets.tolist(), strict=True),  # 5 times as fast as an array
        directed=graph.directed,
        edge_attrs={} if weights is None else {weight: weights.tolist()},
    )
    if graph.vertex_names is not None:
        made.vs["name"] = _names(graph)
    if graph.coordinates is not None:
        made.vs["x"], made.vs["y"] = graph.coordinates.T.tolist()
    for key, value in graph.attributes.items():
        made[key] = value
    return made


def to_pandas(graph: Graph) -> Any:
    """Convert as :meth:`nearfar.Graph.to_pandas` describes."""
    pandas = needed("pandas", "to_pandas")
    graph._check_distinct_names("a table of edges")
    sources, targets, weights = edges_once(graph)
    columns = {"source": graph.name_of(sources), "target": graph.name_of(targets)}
    if weights is not None:
        columns["weight"] = weights
    return pandas.DataFrame(columns)
