"""Networks as a table of nodes and a table of edges, as in OSMnx, pandana and momepy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, OptionError, listed, quoted
from nearfar.graph.build import from_edges
from nearfar.graph.geography import lines_of_rows, rows_of_edges
from nearfar.graph.names import as_names, numbered
from nearfar.graph.snapping.lines import EDGE_LINES

#: Columns or index levels with the ends of edges, in OSMnx, pandana, other libraries and momepy.
_ENDS = (("u", "v"), ("from", "to"), ("source", "target"), ("node_start", "node_end"))
#: Columns with the ids of nodes if the index does not have them: momepy, other libraries.
_IDS = ("nodeID", "node_id", "id")
#: Columns with coordinates, in lower case; the first pair that a table has counts.
_COORDINATES = (("x", "y"), ("lon", "lat"), ("longitude", "latitude"))
_UNITS = {"length": "m", "travel_time": "s"}


def from_frames(
    nodes: Any,
    edges: Any,
    weight: str | None,
    ends: tuple[str, str] | None,
    ids: str | None,
    columns: Sequence[str],
    directed: bool,
) -> dict[str, Any]:
    """Convert as :meth:`nearfar.Graph.from_frames` describes."""
    for name, table in (("nodes", nodes), ("edges", edges)):
        if not hasattr(table, "columns") or not hasattr(table, "index"):
            raise GraphError(f"{name} is a {type(table).__name__}: give a pandas DataFrame")
    sides, osmnx = _ends(edges, ends)
    names = as_names(_ids(nodes, ids, sides, osmnx))
    if len(np.unique(names)) < len(names):
        raise GraphError(
            "two nodes have the same id: make them distinct, or name a column with ids="
        )
    codes, _ = numbered([as_names(side) for side in sides], names)
    xy = _coordinates(nodes)
    wanted = {name: _numbers(edges, name) for name in columns}
    values = None if weight is None else _numbers(edges, weight)
    made = from_edges(codes[0], codes[1], values, n_vertices=len(names), directed=directed)
    rows, _ = rows_of_edges(np.stack(codes), len(names), directed)
    attributes: dict[str, Any] = {"edge_rows": rows}
    if osmnx and weight in _UNITS:
        attributes["unit"] = _UNITS[str(weight)]
    keys = getattr(edges.index, "names", ())
    if osmnx and "key" in keys:
        attributes["edge_keys"] = np.asarray(edges.index.get_level_values("key"))[rows]
    if wanted:
        attributes["edge_columns"] = {name: column[rows] for name, column in wanted.items()}
    crs = next((c for c in (_crs(nodes), _crs(edges)) if c is not None), None)
    if crs is not None:
        attributes |= {"crs": crs.to_string(), "geographic": bool(crs.is_geographic)}
    if xy is not None and hasattr(edges, "geometry") and hasattr(edges, "crs"):
        shapes = np.asarray(edges.geometry.values, dtype=object)
        lines = lines_of_rows(shapes, np.stack(codes), xy, directed)
        if lines is not None:
            attributes[EDGE_LINES] = lines
    kept = {"directed": directed, "vertex_names": names, "coordinates": xy}
    return {"arrays": made, **kept, "attributes": attributes}


def _crs(table: Any) -> Any:
    """Return the coordinate reference system of a geographic table; None for other tables."""
    return table.crs if hasattr(table, "geometry") and hasattr(table, "crs") else None


def _ends(edges: Any, ends: tuple[str, str] | None) -> tuple[list[Any], bool]:
    """Return both ends of every edge, and whether they are levels of OSMnx's index."""
    levels = list(getattr(edges.index, "names", ()))
    known = list(edges.columns)
    for pair in _ENDS if ends is None else (tuple(ends),):
        if all(name in levels for name in pair):
            return [edges.index.get_level_values(name) for name in pair], pair == ("u", "v")
        if all(name in known for name in pair):
            return [edges[name] for name in pair], False
    if ends is not None:
        raise OptionError(f"edges has no columns {ends[0]} and {ends[1]}; it has {listed(known)}")
    raise GraphError(
        "edges has no columns u and v, from and to, source and target or node_start and node_end: "
        f"name them, as in ends=('a', 'b'); it has {listed(known)}"
    )


def _ids(nodes: Any, ids: str | None, sides: list[Any], osmnx: bool) -> Any:
    """Return the ids of the nodes: a column, or the index."""
    if ids is not None:
        if ids not in nodes.columns:
            raise OptionError(f"nodes has no column {quoted(ids)}; it has {listed(nodes.columns)}")
        return nodes[ids]
    if not osmnx:
        used = np.unique(np.concatenate([np.asarray(side) for side in sides]))
        if not np.isin(used, np.asarray(nodes.index)).all():
            for name in _IDS:
                if name in nodes.columns and np.isin(used, np.asarray(nodes[name])).all():
                    return nodes[name]
    return nodes.index


def _coordinates(nodes: Any) -> NDArray[np.float64] | None:
    """Return the coordinates of the nodes from columns or points, or None."""
    for pair in _COORDINATES:
        found = [[c for c in nodes.columns if str(c).lower() == name] for name in pair]
        if not all(found):
            continue
        if any(len(columns) > 1 for columns in found):
            raise GraphError(
                f"nodes has several columns for a coordinate, {listed(found[0] + found[1])}: keep "
                "one x and one y"
            )
        return np.column_stack([_floats(nodes, columns[0]) for columns in found])
    if hasattr(nodes, "geometry") and hasattr(nodes, "crs"):
        points = nodes.geometry
        return np.column_stack([points.x.to_numpy(), points.y.to_numpy()])
    return None


def _floats(nodes: Any, name: Any) -> NDArray[np.float64]:
    """Return a column of nodes as floats."""
    try:
        return np.asarray(nodes[name].to_numpy(), np.float64)
    except (TypeError, ValueError):
        raise GraphError(f"column {quoted(name)} of nodes is not a number in every row") from None


def _numbers(edges: Any, name: str) -> NDArray[Any]:
    """Return a column of edges as numbers."""
    numeric = [c for c in edges.columns if getattr(edges[c].dtype, "kind", "O") in "iuf"]
    if name not in edges.columns:
        raise GraphError(
            f"edges has no column {quoted(name)}; numeric columns: {listed(numeric) or 'none'}; "
            "weight=None counts edges"
        )
    values = np.asarray(edges[name].to_numpy())
    if values.dtype.kind not in "iuf" or np.isnan(values.astype(np.float64)).any():
        raise GraphError(f"column {quoted(name)} of edges is not a number in every row")
    return values
