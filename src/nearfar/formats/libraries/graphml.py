"""GraphML, through NetworkX, which reads and writes it.

Vertex ids that are all integers are read as numbers. Vertex attributes ``x`` and ``y`` of all
vertices become the coordinates, and the attributes of the graph become its ``attributes``; other
attributes of vertices and edges, except for the weight, are skipped.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, MissingDependencyError, quoted
from nearfar.formats.files import Sink, Source, library_errors
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph


def sniff(head: bytes) -> bool:
    """Return whether the content has the root element."""
    return b"<graphml" in head[:4096]


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingDependencyError(
            "GraphML needs NetworkX: pip install 'nearfar[networkx]'"
        ) from None
    return networkx


def read(source: Source, *, weight: str | None = "weight") -> Graph:
    """Read a GraphML file."""
    networkx = _networkx()
    with library_errors(source.path, "GraphML"):
        found = networkx.read_graphml(io.BytesIO(source.data.data))
    try:
        graph = Graph.from_networkx(found, weight)
    except GraphError as error:
        raise source.fail(str(error)) from None
    numbers = _whole(list(found))
    as_is = numbers is not None and np.array_equal(numbers, np.arange(len(numbers)))
    names = graph.vertex_names if numbers is None else None if as_is else numbers
    made: Graph = Graph.from_csr(
        graph.indptr,
        graph.indices,
        graph.weights,
        directed=graph.directed,
        vertex_names=names,
        coordinates=_coordinates(found, source),
        attributes=graph.attributes,
        copy=False,
    )
    return made


def _whole(names: list[str]) -> NDArray[np.int64] | None:
    """Return names as numbers if every one is an integer as Python writes it."""
    try:
        numbers = [int(name) for name in names]
        if [str(number) for number in numbers] == names:
            return np.array(numbers, dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    return None


def _coordinates(graph: Any, source: Source) -> NDArray[np.float64] | None:
    xs, ys = ([data.get(key) for _, data in graph.nodes(data=True)] for key in ("x", "y"))
    if None in xs or None in ys or not xs:
        return None
    try:
        return np.column_stack((np.array(xs, np.float64), np.array(ys, np.float64)))
    except ValueError as error:
        raise source.fail(f"x and y of a vertex are not numbers: {error}") from None


def write(graph: Graph, sink: Sink, *, weight: str = "weight") -> None:
    """Write vertices under their names, coordinates as ``x`` and ``y``, and weights."""
    networkx = _networkx()
    found = graph.to_networkx(weight)
    texts = [str(name) for name in found]
    if len(set(texts)) < len(texts):
        twice = next(text for at, text in enumerate(texts) if text in texts[:at])
        raise sink.fail(
            f"two vertices would be called {quoted(twice)}: GraphML stores names as text"
        )
    kept = {
        key: value
        for key, value in found.graph.items()
        if isinstance(value, (str, int, float, bool)) and key not in ("source_file", "format")
    }
    found.graph.clear()
    found.graph.update(kept)
    buffer = io.BytesIO()
    networkx.write_graphml_xml(found, buffer)
    sink.write(buffer.getvalue())


register(
    Format(
        name="graphml",
        title="GraphML",
        suffixes=(".graphml",),
        read=read,
        write=write,
        sniff=sniff,
        extra="networkx",
        keeps="names, coordinates, weights, direction, attributes of the graph",
    )
)
