"""TNTP, the text files of the Transportation Networks test problems: network, trips, flows, nodes.

A network file has a heading of ``<KEY> value`` lines and a link per line: from, to, capacity,
length, free-flow time, b, power, speed, toll, type, ended by a semicolon. Vertices are numbered
from 1 and keep these numbers as names; the first ones are zones. No path may pass through a zone
below ``<FIRST THRU NODE>``, which a plain graph cannot represent: :func:`read_traffic` closes
those zones. Comments begin with ``~``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, did_you_mean, keyword, quoted
from nearfar.formats.files import Source, finish
from nearfar.formats.specs import Format, register
from nearfar.graph.graph import Graph

if TYPE_CHECKING:
    from nearfar.graph.turns import TurnGraph

#: Columns of a link's line after its two ends.
COLUMNS = (*("capacity", "length", "free_flow_time", "b", "power", "speed", "toll", "link_type"),)
_KEY = re.compile(r"\s*<([^>]+)>\s*(.*?)\s*$")


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Network with its zones, the columns of its links, and demand.

    Attributes
    ----------
    graph : Graph
        Graph whose weights are free-flow times and whose vertex names are the file's numbers.
    links : dict of float64 arrays, shape (m,)
        ``capacity``, ``length``, ``free_flow_time``, ``b``, ``power``, ``speed``, ``toll`` and
        ``link_type``, in the order of the graph's edges.
    zones : range
        Names of the vertices where trips begin and end.
    closed : range
        Zones that no path may pass through.
    demand : scipy.sparse.coo_array, shape (len(zones), len(zones)), or None
        Trips between zones, zeros left out.
    searched : Graph or TurnGraph
        Argument for :func:`nearfar.measures.edge_loads` and :func:`nearfar.measures.skims`: the
        graph, with the zones of :attr:`closed` closed.
    """

    graph: Graph
    links: dict[str, NDArray[np.float64]]
    zones: range
    closed: range
    demand: Any
    searched: Graph | TurnGraph


def sniff(head: bytes) -> bool:
    """Return whether the content begins with the heading of a network."""
    return head.lstrip().startswith(b"<") and b"<NUMBER OF LINKS>" in head


def read(
    source: Source, *, weight: str | None = "free_flow_time", through_zones: bool = False
) -> Graph:
    """Read a network as a plain graph."""
    if weight is not None and weight not in COLUMNS:
        hint = did_you_mean(weight, COLUMNS) or f": use one of {', '.join(COLUMNS)}"
        raise OptionError(f"no column {quoted(weight)}{hint}")
    graph, links, zones, first = _network(source)
    if first > 1 and not through_zones:
        raise source.fail(
            f"no path may pass through zones 1 to {first - 1} (FIRST THRU NODE {first}), which a "
            "plain graph cannot represent: use nearfar.formats.read_traffic, or "
            f"{keyword('through_zones', True)} to "
            "let them pass"
        )
    graph.attributes.update(zones=len(zones), first_thru_node=first)
    if weight == "free_flow_time":
        return graph
    found = graph.without_weights() if weight is None else graph.with_weights(links[weight])
    found.attributes.update(graph.attributes)
    return found


def read_traffic(
    network: str | os.PathLike[str],
    trips: str | os.PathLike[str] | None = None,
    nodes: str | os.PathLike[str] | None = None,
) -> Traffic:
    """Read a TNTP network, with its demand and coordinates if their files are given.

    Parameters
    ----------
    network, trips, nodes : path
        Plain or compressed.

    Returns
    -------
    Traffic

    Raises
    ------
    GraphFormatError
        If a file is missing or damaged, or the files do not match; the message names file and line.
    """
    source = Source(network)
    with finish(source.path):
        graph, links, zones, first = _network(source)
    if nodes is not None:
        graph = graph.from_csr(
            graph.indptr,
            graph.indices,
            graph.weights,
            vertex_names=graph.vertex_names,
            coordinates=_coordinates(Source(nodes), graph.n_vertices),
            copy=False,
        )
    closed = range(1, min(first, zones.stop))
    searched = graph.with_turns(closed=closed) if closed else graph
    demand = None if trips is None else read_trips(trips, len(zones))
    return Traffic(graph, links, zones, closed, demand, searched)


def read_trips(path: str | os.PathLike[str], n_zones: int | None = None) -> Any:
    """Read a TNTP trip table.

    Parameters
    ----------
    path : path
        Plain or compressed.
    n_zones : int or None
        Expected number of zones; None uses that of the file.

    Returns
    -------
    scipy.sparse.coo_array, shape (zones, zones)
        Row and column i are zone i + 1; zeros are left out.

    Raises
    ------
    GraphFormatError
        If the file is missing or damaged, or its trips do not agree with its heading.
    """
    from scipy.sparse import coo_array

    source = Source(path)
    with finish(source.path):
        heading, lines = _split(source)
        zones = _whole(source, heading, "NUMBER OF ZONES")
        source.check_vertices(zones)
        if n_zones is not None and zones != n_zones:
            raise source.fail(f"it has {zones} zones, but the network has {n_zones}")
        origin, rows, columns, amounts = 0, [], [], []
        for number, line in lines:
            if line.lower().startswith("origin"):
                origin = _end(source, number, line[6:].strip(), zones, "zone")
                continue
            for entry in filter(None, map(str.strip, line.split(";"))):
                name, colon, amount = entry.partition(":")
                if not colon or not origin:
                    raise source.fail(
                        f"{quoted(entry)}: expected 'Origin' and then 'zone : trips;'", number
                    )
                rows.append(origin - 1)
                columns.append(_end(source, number, name.strip(), zones, "zone") - 1)
                amounts.append(_number(source, number, amount.strip()))
                if amounts[-1] < 0:
                    raise source.fail(f"{amount.strip()} trips: give at least 0", number)
        promised = heading.get("TOTAL OD FLOW")
        if promised is not None:
            total = _number(source, promised[1], promised[0])
            found = math.fsum(amounts)
            if abs(found - total) > 1e-3 * abs(total):
                raise source.fail(
                    f"its trips add up to {found:.10g}, but its heading says {total:.10g}"
                )
    values = np.array(amounts, dtype=np.float64)
    kept = np.flatnonzero(values)
    places = (np.array(rows, np.int64)[kept], np.array(columns, np.int64)[kept])
    return coo_array((values[kept], places), shape=(zones, zones))


def read_flows(
    path: str | os.PathLike[str], graph: Graph
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read the volume and cost of each link from a TNTP flow file.

    Parameters
    ----------
    path : path
        Plain or compressed; lines of from, to, volume and cost below a heading.
    graph : Graph
        Network of the file, as from :func:`read_traffic`.

    Returns
    -------
    volumes, costs : float64 array, shape (m,)
        Volumes and costs in the order of the graph's edges.

    Raises
    ------
    GraphFormatError
        If the file is missing or damaged, or its links are not those of the graph.
    """
    source = Source(path)
    with finish(source.path):
        tails, heads, values, where = [], [], [], []
        for number, line in _lines(source):
            cells = line.replace(";", " ").replace(":", " ").split()
            if cells and cells[0].lower() == "from":
                continue
            if len(cells) != 4:
                raise source.fail(f"{len(cells)} columns: expected from, to, volume, cost", number)
            ends = [_end(source, number, cell, graph.n_vertices, "vertex") for cell in cells[:2]]
            tails.append(ends[0] - 1)
            heads.append(ends[1] - 1)
            values.append([_number(source, number, cell) for cell in cells[2:]])
            where.append(number)
        n = graph.n_vertices
        here = np.array(tails, dtype=np.int64) * n + np.array(heads, dtype=np.int64)
        there = graph.tails(np.int64) * n + graph.indices
        strange = np.flatnonzero(~np.isin(here, there))
        if len(strange):
            i = int(strange[0])
            raise source.fail(
                f"link {tails[i] + 1} to {heads[i] + 1} is not in the network", where[i]
            )
        order, mine = np.argsort(here, kind="stable"), np.argsort(there, kind="stable")
        if len(here) != len(there) or (here[order] != there[mine]).any():
            raise source.fail(f"it has {len(here)} links, but the network has {len(there)}")
    found = np.empty((graph.n_edges, 2))
    found[mine] = np.array(values)[order]
    return found[:, 0].copy(), found[:, 1].copy()


def _network(source: Source) -> tuple[Graph, dict[str, NDArray[np.float64]], range, int]:
    """Return graph, columns, zones and the first vertex that paths may pass through."""
    heading, lines = _split(source)
    n = _whole(source, heading, "NUMBER OF NODES")
    m = _whole(source, heading, "NUMBER OF LINKS")
    zones = _whole(source, heading, "NUMBER OF ZONES")
    first = _whole(source, heading, "FIRST THRU NODE", 1)
    source.check_vertices(n)
    if zones > n:
        raise source.fail(f"{zones} zones among {n} vertices", heading["NUMBER OF ZONES"][1])
    if first > n + 1:
        raise source.fail(f"FIRST THRU NODE {first} of {n}", heading["FIRST THRU NODE"][1])
    tails, heads, rows = [], [], []
    for number, line in lines:
        cells = line.replace(";", " ").split()
        if len(cells) != 2 + len(COLUMNS):
            raise source.fail(
                f"{len(cells)} columns: expected init_node, term_node, {', '.join(COLUMNS)}", number
            )
        tails.append(_end(source, number, cells[0], n, "vertex") - 1)
        heads.append(_end(source, number, cells[1], n, "vertex") - 1)
        rows.append([_number(source, number, cell) for cell in cells[2:]])
    if len(rows) != m:
        raise source.fail(f"it has {len(rows)} links, but its heading says {m}")
    table = np.array(rows, dtype=np.float64).reshape(m, len(COLUMNS))
    order = np.argsort(np.array(tails, dtype=np.int64), kind="stable")
    links = {name: table[order, i].copy() for i, name in enumerate(COLUMNS)}
    graph: Graph = Graph.from_edges(
        np.array(tails, dtype=np.int64),
        np.array(heads, dtype=np.int64),
        table[:, COLUMNS.index("free_flow_time")].copy(),
        n_vertices=n,
        vertex_names=range(1, n + 1),
        names=False,
    )
    return graph, links, range(1, zones + 1), first


def _coordinates(source: Source, n: int) -> NDArray[np.float64]:
    found = np.full((n, 2), np.nan)
    with finish(source.path):
        for number, line in _lines(source):
            cells = line.replace(";", " ").split()
            if cells[0].lower() == "node":
                continue
            if len(cells) != 3:
                raise source.fail(f"{len(cells)} columns: expected node, X, Y", number)
            at = _end(source, number, cells[0], n, "vertex") - 1
            found[at] = [_number(source, number, cell) for cell in cells[1:]]
        missing = np.flatnonzero(np.isnan(found[:, 0]))
        if len(missing):
            raise source.fail(f"it has no line for vertex {int(missing[0]) + 1}")
    return found


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """Yield numbers and texts of the non-empty lines."""
    text = source.data.tobytes().decode("latin-1")
    for number, line in enumerate(text.split("\n"), 1):
        said = line.partition("~")[0].strip()
        if said:
            yield number, said


def _split(source: Source) -> tuple[dict[str, tuple[str, int]], Iterator[tuple[int, str]]]:
    """Return the heading, with the line of each key, and the lines after it."""
    heading: dict[str, tuple[str, int]] = {}
    lines = _lines(source)
    for number, line in lines:
        match = _KEY.match(line)
        if match is None:
            raise source.fail(
                f"{quoted(line)}: expected <KEY> value, then <END OF METADATA>", number
            )
        key = " ".join(match[1].upper().split())
        if key == "END OF METADATA":
            return heading, lines
        heading[key] = (match[2], number)
    raise source.fail("there is no line <END OF METADATA>")


def _whole(
    source: Source, heading: dict[str, tuple[str, int]], key: str, default: int | None = None
) -> int:
    if key not in heading:
        if default is None:
            trips = "TOTAL OD FLOW" in heading and key != "NUMBER OF ZONES"
            what = "; it is a table of trips, not a network" if trips else ""
            raise source.fail(f"the heading has no <{key}>{what}")
        return default
    text, number = heading[key]
    if not re.fullmatch(r"\d{1,18}", text):
        raise source.fail(f"<{key}> is {quoted(text)}: expected an integer", number)
    return int(text)


def _end(source: Source, number: int, text: str, most: int, what: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text) or not 1 <= int(text) <= most:
        raise source.fail(f"{what} {quoted(text)}: expected 1 to {most}", number)
    return int(text)


def _number(source: Source, number: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise source.fail(f"{quoted(text)} is not a number", number)
    return value


register(
    Format(
        name="tntp",
        title="TNTP road networks",
        suffixes=(".tntp",),
        read=read,
        sniff=sniff,
        keeps="free-flow times; `nearfar.formats.read_traffic` keeps every column, zones and trips",
    )
)
