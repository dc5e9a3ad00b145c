"""GraphML.

Vertex ids that are all integers are read as numbers. Vertex attributes ``x`` and ``y`` of all
vertices become the coordinates, and the attributes of the graph become its ``attributes``; other
attributes of vertices and edges, except for the weight, are skipped. Weights and coordinates may be
of type string, as OSMnx writes them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import quoted
from nearfar.formats.files import (
    Sink,
    Source,
    array_of_names,
    distinct_texts,
    library_errors,
)
from nearfar.formats.specs import Format, register
from nearfar.graph.convert import as_numbers, refuse_missing_weight
from nearfar.graph.graph import Graph
from nearfar.graph.libraries import edges_once

_STEP = 1 << 18  # bytes or lines that are read or written at a time
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FRACTION = re.compile(r"-?\d+\.\d+(e-?\d+)?")  # text of a number that is not just an id


def sniff(head: bytes) -> bool:
    """Return whether the content has the root element."""
    return b"<graphml" in head[:4096]


def _truth(text: str) -> bool | str:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)


_TYPES: dict[str | None, Callable[[str], Any]] = {
    "int": int, "integer": int, "long": int, "float": float, "double": float, "boolean": _truth,
}  # fmt: skip


class _Key(NamedTuple):
    name: str
    convert: Callable[[str], Any]
    use: str  # "keep" the value, "look" whether it is a number, or "skip"


class _Content:
    """Vertices, edges and attributes of the first graph of a file, as expat finds them."""

    def __init__(self, source: Source, weight: str | None) -> None:
        self._source = source
        self._kept = {"node": ("x", "y"), "edge": (weight,)}
        self._keys: dict[str, dict[str, _Key]] = {"graph": {}, "node": {}, "edge": {}}
        self._last: dict[str, str] = {}  # attributes of the last key
        self._defaults: dict[str, dict[str, Any]] = {"graph": {}, "node": {}, "edge": {}}
        self._open: list[tuple[str, dict[str, Any]]] = [("", {})]  # open elements and their values
        self._group = False  # whether the last vertex is a group of yEd
        self._key: _Key | None = None  # of the open data
        self._text: list[str] = []
        self.directed: bool | None = None  # None before the graph begins
        self.attributes = self._defaults["graph"]
        self.vertices: dict[str, dict[str, Any]] = {}
        self.ends: list[str] = []  # sources and targets in turn
        self.edges: list[dict[str, Any]] = []
        self.numeric: dict[str, bool] = {}  # whether skipped attributes of edges are numbers
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        data, tell = source.data, source.progress()
        with library_errors(source.path, "GraphML"):
            for start in range(0, data.size, _STEP):
                parser.Parse(data[start : start + _STEP].tobytes())
                if tell is not None:
                    tell(min(start + _STEP, data.size), data.size)
            parser.Parse(b"", True)
        if self.directed is None:
            raise source.fail("the file has no graph")

    def _fail(self, message: str) -> NoReturn:
        raise self._source.fail(message, self._parser.CurrentLineNumber)

    def _start(self, tag: str, given: dict[str, str]) -> None:
        if ":" in tag:
            tag = tag.rpartition(":")[2]
        scope, store = self._open[-1]
        try:
            if tag == "data" and scope in self._keys:
                if (key := self._keys[scope][given["key"]])[2] != "skip":
                    self._collect(key)
            elif scope in ("data", "default"):  # elements of other programs, as yEd's places
                if tag == "Geometry":
                    for name in given.keys() & {"x", "y"}:
                        store[name] = self._value("node", _Key(name, float, "keep"), given[name])
                tag = scope
            elif tag == "edge":
                self.ends += given["source"], given["target"]
                store = self._defaults["edge"].copy()
                self.edges.append(store)
                if given.get("directed") == ("false" if self.directed else "true"):
                    self._fail("some edges are directed and some not: write the latter twice")
            elif tag == "node":
                store = self.vertices.setdefault(given["id"], self._defaults["node"].copy())
                self._group = given.get("yfiles.foldertype") == "group"
            elif tag == "graph":
                if self.directed is None:
                    self.directed = given.get("edgedefault") == "directed"
                elif not (scope == "node" and self._group):
                    self._fail("graphs inside vertices or edges are not supported")
                store = self.attributes
            elif tag == "hyperedge":
                self._fail("hyperedges are not supported")
            elif tag == "key":
                self._declare(given)
            elif tag == "default" and scope == "key":
                self._collect(self._keys["graph"][self._last["id"]])
        except KeyError as error:
            missing = error.args[0]
            if missing in given.values():
                self._fail(f"no key {quoted(missing)}")
            self._fail(f"an element {quoted(tag)} has no {missing}")
        self._open.append((tag, store))

    def _declare(self, given: dict[str, str]) -> None:
        self._last = given
        name, convert = given.get("attr.name", given["id"]), _TYPES.get(given.get("attr.type"))
        for owner, of_text in ("graph", str), ("node", float), ("edge", _number):
            kept = owner == "graph" or name in self._kept[owner]
            use = "keep" if kept else "look" if owner == "edge" else "skip"
            self._keys[owner][given["id"]] = _Key(name, convert or of_text, use)

    def _collect(self, key: _Key) -> None:
        self._key, self._text = key, []
        self._parser.CharacterDataHandler = self._text.append

    def _end(self, _: str) -> None:
        scope = self._open.pop()[0]
        owner, store = self._open[-1]
        if self._key is None:
            if scope == "graph" and owner != "node":  # further graphs are skipped
                self._parser.StartElementHandler = self._parser.EndElementHandler = None
        elif owner != scope:
            key, text = self._key, "".join(self._text)
            self._key = self._parser.CharacterDataHandler = None
            if scope == "default":
                self._set_defaults(text)
            elif key.use == "keep":
                store[key.name] = self._value(owner, key, text)
            else:
                number = key.convert in (int, float) or _FRACTION.fullmatch(text)
                self.numeric[key.name] = bool(number)
                seen = (at for at, other in self._keys["edge"].items() if other is key)
                self._keys["edge"][next(seen)] = key._replace(use="skip")

    def _set_defaults(self, text: str) -> None:
        for owner, keys in self._keys.items():
            key = keys[self._last["id"]]
            if key.use == "keep" and self._last.get("for", "all") in (owner, "all"):
                self._defaults[owner][key.name] = self._value(owner, key, text)

    def _value(self, owner: str, key: _Key, text: str) -> Any:
        try:
            return key.convert(text)
        except ValueError:
            what = "vertex" if owner == "node" else owner
            self._fail(
                f"{what} attribute {quoted(key.name)} is not a number everywhere: one is "
                f"{quoted(text)}"
            )


def read(source: Source, *, weight: str | None = "weight") -> Graph:
    """Read a GraphML file; edges without the weight have its default, or 1."""
    found = _Content(source, weight)
    weights = None
    if any(found.edges):
        values = [edge.get(str(weight), 1) for edge in found.edges]
        weights = as_numbers(values, f"edge attribute {quoted(weight)}")
    elif weight is not None and found.edges:
        numeric = [name for name, number in found.numeric.items() if number]
        refuse_missing_weight(weight, list(found.numeric), numeric, "edge attribute")
    place = {name: at for at, name in enumerate(found.vertices)}
    ends = np.array([place.setdefault(end, len(place)) for end in found.ends], dtype=np.int64)
    numbers = _whole(list(place))
    as_is = numbers is not None and np.array_equal(numbers, np.arange(len(numbers)))
    xy: list[Any] = [[data.get(axis) for data in found.vertices.values()] for axis in ("x", "y")]
    complete = 0 < len(xy[0]) == len(place) and not any(None in axis for axis in xy)
    graph: Graph = Graph.from_edges(
        ends[::2],
        ends[1::2],
        weights,
        n_vertices=len(place),
        directed=bool(found.directed),
        vertex_names=None if as_is else array_of_names(list(place)) if numbers is None else numbers,
        names=False,
        coordinates=np.column_stack(xy) if complete else None,
        attributes=found.attributes,
    )
    return graph


def _whole(names: list[str]) -> NDArray[np.int64] | None:
    """Return names as numbers if every one is an integer as Python writes it."""
    try:
        numbers = [int(name) for name in names]
        if [str(number) for number in numbers] == names:
            return np.array(numbers, dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    return None


def write(graph: Graph, sink: Sink, *, weight: str = "weight") -> None:
    """Write vertices under their names, coordinates as ``x`` and ``y``, and weights."""
    names = distinct_texts(graph, sink)
    attributes = {
        str(name): value
        for name, value in graph.attributes.items()
        if isinstance(value, (str, int, float)) and name not in ("source_file", "format")
    }
    for text in itertools.chain(names, attributes, map(str, attributes.values()), (weight,)):
        if _NOT_XML.search(text):
            raise sink.fail(f"XML does not allow a character of {quoted(text)}")
    lines = _lines(graph, names, attributes, weight)
    while part := list(itertools.islice(lines, _STEP)):
        sink.write("".join(part).encode())


def _lines(
    graph: Graph, names: list[str], attributes: dict[str, Any], weight: str
) -> Iterator[str]:
    sources, targets, weights = edges_once(graph)
    keys = [("graph", name, _type_of(value)) for name, value in attributes.items()]
    if graph.coordinates is not None:
        keys += ("node", "x", "double"), ("node", "y", "double")
    if weights is not None:
        keys.append(("edge", weight, "double" if weights.dtype.kind == "f" else "long"))
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for at, (owner, name, kind) in enumerate(keys):
        named = f'attr.name={quoteattr(name)} attr.type="{kind}"'
        yield f'<key id="d{at}" for="{owner}" {named}/>\n'
    yield f'<graph edgedefault="{"directed" if graph.directed else "undirected"}">\n'
    for at, value in enumerate(attributes.values()):
        text = escape(str(value), {"\r": "&#13;"})
        yield f'<data key="d{at}">{text}</data>\n'
    ids = list(map(quoteattr, names))
    if graph.coordinates is None:
        yield from (f"<node id={name}/>\n" for name in ids)
    else:
        x, y = (f'<data key="d{len(attributes) + axis}">' for axis in range(2))
        for name, (a, b) in zip(ids, graph.coordinates.tolist(), strict=True):
            yield f"<node id={name}>{x}{a}</data>{y}{b}</data></node>\n"
    ends = zip(sources.tolist(), targets.tolist(), strict=True)
    if weights is None:
        yield from (f"<edge source={ids[u]} target={ids[v]}/>\n" for u, v in ends)
    else:
        data = f'<data key="d{len(keys) - 1}">'
        for (u, v), w in zip(ends, weights.tolist(), strict=True):
            yield f"<edge source={ids[u]} target={ids[v]}>{data}{w}</data></edge>\n"
    yield "</graph>\n</graphml>\n"


def _type_of(value: str | float) -> str:
    names = {str: "string", bool: "boolean", int: "long", float: "double"}
    return next(name for kind, name in names.items() if isinstance(value, kind))


register(
    Format(
        name="graphml",
        title="GraphML",
        suffixes=(".graphml",),
        read=read,
        write=write,
        sniff=sniff,
        keeps="names, coordinates, weights, direction, attributes of the graph",
    )
)
