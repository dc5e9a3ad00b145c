"""OpenStreetMap extracts `.osm.pbf` (and `.osm` XML) as travel graphs, through osmium; read only.

Every point of a usable way is a vertex, named by its OSM id, with longitude and latitude as
coordinates; the segment between two points is an edge in each direction that the mode allows.
Weights are metres along the great circle, or seconds at the tagged or usual speed. By default only
the largest strongly connected part is kept, so that every vertex reaches every other.

Turn restrictions between its edges are in :attr:`nearfar.Graph.forbidden_turns`; the number and
reasons of those left out are in ``attributes["restrictions_left_out"]``.

Data © OpenStreetMap contributors, under the Open Database Licence: maps and results made from it
must be attributed. The notice is in ``attributes["attribution"]``.
"""

from __future__ import annotations

from array import array
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, quoted
from nearfar.formats.compression import import_extra
from nearfar.formats.files import Source, library_errors
from nearfar.formats.roads.osm_tags import (
    COUNTRIES,
    MODES,
    RESTRICTIONS,
    directions,
    speeds,
    usable,
)
from nearfar.formats.roads.osm_turns import Restrictions
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph

ATTRIBUTION = "© OpenStreetMap contributors, ODbL"
_EARTH = 6_371_008.8  # mean radius in metres


def sniff(head: bytes) -> bool:
    """Return whether the content is OSM protobuf or XML."""
    return b"OSMHeader" in head[:64] or (head.lstrip()[:5] == b"<?xml" and b"<osm" in head[:512])


def read(
    source: Source,
    *,
    mode: Literal["drive", "cycle", "walk"] = "drive",
    weight: Literal["seconds", "metres"] = "seconds",
    country: str | None = None,
    largest_component: bool = True,
) -> Graph:
    """Read a travel graph."""
    if mode not in MODES:
        raise OptionError(f"mode is {quoted(mode)}: use one of {', '.join(MODES)}")
    if weight not in ("seconds", "metres"):
        raise OptionError(f"weight is {quoted(weight)}: use 'seconds' or 'metres'")
    if country is not None and country not in COUNTRIES:
        raise OptionError(
            f"country is {quoted(country)}: use one of {', '.join(COUNTRIES)}, or None"
        )
    ways = _Ways(mode, country)
    with library_errors(source.path, "OpenStreetMap"):
        ways.collect(source)
    if not ways.refs:
        raise source.fail(f"it contains no way for mode {quoted(mode)}")
    names, xy, sources, targets, values = ways.edges(weight)
    graph: Graph = Graph.from_edges(sources, targets, values, n_vertices=len(names))
    keep: Any = slice(None)
    if largest_component:
        graph, keep = _largest_part(graph)
    attributes: dict[str, Any] = {
        "attribution": ATTRIBUTION,
        "mode": mode,
        "unit": "s" if weight == "seconds" else "m",
    }
    turns = ways.forbidden_turns(graph, names[keep])
    if turns:
        attributes["forbidden_turns"] = turns
    if ways.restrictions.left_out:
        attributes["restrictions_left_out"] = dict(sorted(ways.restrictions.left_out.items()))
    result: Graph = Graph.from_csr(
        graph.indptr,
        graph.indices,
        graph.weights,
        vertex_names=names[keep],
        coordinates=xy[keep],
        attributes=attributes,
    )
    return result


class _Ways:
    """Usable ways in flat arrays, collected in one pass over the file; 24 bytes per point."""

    def __init__(self, mode: Literal["drive", "cycle", "walk"], country: str | None) -> None:
        self.mode, self.country = mode, country
        self.restrictions = Restrictions(mode)
        self.refs = array("q")
        self.ids = array("q")  # way of each run of points
        self.lon, self.lat = array("d"), array("d")
        self.lengths = array("q")
        self.ahead, self.back = array("d"), array("d")  # km/h; 0 where that is not allowed

    def collect(self, source: Source) -> None:
        osmium = import_extra("osmium", "osm", "reading OpenStreetMap files")
        binary = source.suffix == ".pbf" or b"OSMHeader" in source.head[:64]
        kind = "pbf" if binary else "osm"
        if source.mapped:  # osmium reads the file piece by piece
            file = osmium.io.File(str(source.path), kind)
        else:
            file = osmium.io.FileBuffer(source.data.tobytes(), kind)
        processor = osmium.FileProcessor(file).with_locations()
        keys = [key for plain in RESTRICTIONS[self.mode] for key in (plain, f"{plain}:conditional")]
        for item in processor.with_filter(osmium.filter.KeyFilter("highway", *keys)):
            if item.is_way():
                tags = dict(item.tags)
                if usable(tags, self.mode):
                    self._add(item.id, tags, item.nodes)
            elif item.is_relation():
                members = [(member.type, member.ref, member.role) for member in item.members]
                self.restrictions.add(dict(item.tags), members)

    def forbidden_turns(self, graph: Graph, names: NDArray[np.int64]) -> list[list[int]]:
        """Return the turns between edges of the graph that restrictions forbid, by vertex names."""
        wanted = self.restrictions.ways
        if not wanted:
            return []
        pieces: dict[int, list[tuple[list[int], bool, bool]]] = {}
        end = 0
        for way, length, ahead, back in zip(
            self.ids, self.lengths, self.ahead, self.back, strict=True
        ):
            begin, end = end, end + length
            if way in wanted:
                run = self.refs[begin:end].tolist(), ahead > 0, back > 0
                pieces.setdefault(way, []).append(run)
        onward: dict[int, set[int]] = {}
        touched = np.isin(names, [ref for runs in pieces.values() for r in runs for ref in r[0]])
        tails = graph.tails(np.int64)
        near = touched[tails]
        ends = names[tails[near]].tolist(), names[graph.indices[near]].tolist()
        for u, v in zip(*ends, strict=True):
            onward.setdefault(u, set()).add(v)
        return self.restrictions.turns(pieces, onward)

    def _add(self, way: int, tags: dict[str, str], points: Any) -> None:
        forth, against = directions(tags, self.mode)
        ahead, back = speeds(tags, self.mode, self.country)
        # Extracts cut ways at their border: points without a location split the way.
        run: list[tuple[int, float, float]] = []
        for point in [*points, None]:
            if point is not None and point.location.valid():
                run.append((point.ref, point.location.lon, point.location.lat))
                continue
            if len(run) > 1:
                self.refs.extend(p[0] for p in run)
                self.lon.extend(p[1] for p in run)
                self.lat.extend(p[2] for p in run)
                self.ids.append(way)
                self.lengths.append(len(run))
                self.ahead.append(ahead if forth else 0.0)
                self.back.append(back if against else 0.0)
            run = []

    def edges(
        self, weight: str
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return names, coordinates, sources, targets and weights."""
        refs = np.array(self.refs, dtype=np.int64)
        names, first, vertex = np.unique(refs, return_index=True, return_inverse=True)
        xy = np.column_stack([self.lon, self.lat])
        # The last point of a way starts no segment.
        lengths = np.array(self.lengths)
        begins = np.ones(len(refs), dtype=bool)
        begins[np.cumsum(lengths) - 1] = False
        at = np.flatnonzero(begins)
        way = np.repeat(np.arange(len(lengths)), lengths)[at]
        metres = great_circle(xy[at], xy[at + 1])
        parts = []
        for speed, tail, head in (
            (np.array(self.ahead)[way], vertex[at], vertex[at + 1]),
            (np.array(self.back)[way], vertex[at + 1], vertex[at]),
        ):
            open_ = speed > 0
            value = metres[open_]
            if weight == "seconds":
                value = value * 3.6 / speed[open_]
            parts.append((tail[open_], head[open_], value))
        sources, targets, values = (np.concatenate(group) for group in zip(*parts, strict=True))
        return names, xy[first], sources, targets, values


def great_circle(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return metres between (longitude, latitude) in degrees, shape (k, 2), by haversine."""
    lon1, lat1, lon2, lat2 = (np.radians(part) for part in (*a.T, *b.T))
    s = np.sin((lat2 - lat1) / 2) ** 2
    s += np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    result: NDArray[np.float64] = 2 * _EARTH * np.arcsin(np.sqrt(np.minimum(s, 1.0)))
    return result


def _largest_part(graph: Graph) -> tuple[Graph, NDArray[np.bool_]]:
    """Return the largest strongly connected part, and which vertices are in it."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    n = graph.n_vertices
    # SciPy's search for strong components may not terminate on parallel edges: merge them first.
    ones = np.ones(graph.n_edges, dtype=np.float64)
    matrix = csr_matrix((ones, graph.indices.copy(), graph.indptr.copy()), shape=(n, n))
    matrix.sum_duplicates()
    _, label = connected_components(matrix, directed=True, connection="strong")
    keep: NDArray[np.bool_] = label == np.argmax(np.bincount(label))
    renamed = np.cumsum(keep) - 1
    sources = graph.tails(np.int64)
    inside = keep[sources] & keep[graph.indices]
    part: Graph = Graph.from_edges(
        renamed[sources[inside]],
        renamed[graph.indices[inside]],
        None if graph.weights is None else graph.weights[inside],
        n_vertices=int(keep.sum()),
    )
    return part, keep


register(
    Format(
        name="osm",
        title="OpenStreetMap extracts as drive, cycle or walk graphs",
        suffixes=(".pbf", ".osm"),
        read=read,
        sniff=sniff,
        extra="osm",
        keeps="travel time or length, OSM ids as names, longitude and latitude",
    )
)
