"""Edge lists as in SNAP, LDBC, KONECT-like collections and scripts.

There is one edge per line: two ends and optionally a weight, separated by blanks, commas or
semicolons; lines that start with ``#`` or ``%`` are comments; a header line is recognised. The
first data line determines the number of fields and whether ends are integers or names. Without a
header the third field is the weight; with one, weights are found by name, by default ``weight``.

Integer ids are kept unchanged if that wastes at most half of the vertices (``n`` is then the
largest id plus one, or SNAP's ``# Nodes:`` if larger). Wider gaps, negative ids and names are
numbered in order of appearance, and the graph's ``vertex_names`` hold the original ids.

``# Ids from 1`` says that vertices are numbered from 1, and they keep these numbers as names.
SNAP's comments are interpreted: ``# Nodes: n Edges: m`` is checked against the lines, which is
the only way to detect a truncated file, and ``# Undirected graph`` makes the graph undirected.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, keyword, quoted
from nearfar.formats.files import Sink, Source, array_of_names, distinct_texts, warn_of_lost
from nearfar.formats.specs import Format, register
from nearfar.graph.convert import weight_problem
from nearfar.graph.graph import Graph

_COUNTS = re.compile(rb"Nodes:\s*(\d+)(?:\s+Edges:\s*(\d+))?")
_FIRST = re.compile(rb"^#\s*Ids from (-?\d{1,18})\s*$")
_UNDIRECTED = re.compile(rb"^#\s*Undirected graph")
_LINE = re.compile(rb"^\s*-?\d+(\s+|\s*[,;]\s*)-?\d+((\s+|\s*[,;]\s*)\S+)*\s*$")
_WHOLE = re.compile(r"-?\d+$")
_VERTEX_LIMIT = 1 << 24
_NONE, _THIRD_IF_ANY = -1, -2  # special values of the parser's weight column


def looks_like_edges(head: bytes) -> bool:
    """Return whether the first line that is not a comment starts with two integers."""
    for line in head.split(b"\n"):
        if line.strip() and line.lstrip()[:1] not in (b"#", b"%"):
            return _LINE.match(line) is not None
    return False


def read(
    source: Source,
    *,
    directed: bool | None = None,
    columns: Sequence[int] | str | None = None,
    weight: str | int | None = "weight",
    names: bool | None = None,
    header: bool | None = None,
    base: int | None = None,
    renumber: bool | None = None,
    comments: str = "#%",
    skip_lines: int = 0,
    check_counts: bool = True,
) -> Graph:
    """Read an edge list."""
    from nearfar import _cpu

    chosen, third = _columns(columns)
    if skip_lines < 0:
        raise OptionError(f"skip_lines is {skip_lines}: give 0 or more")
    if weight is None:
        place = _NONE
    elif third is not None:
        place = third
    else:
        lines = _first_lines(source.head, comments, skip_lines)
        place, header = _weight_column(source, weight, columns, chosen, lines, names, header)
    found = _cpu.parse_edge_list(
        source.data,
        comments.encode(),
        *chosen,
        place,
        None if names is None else bool(names),
        None if header is None else bool(header),
        int(skip_lines),
        source.progress(),
    )
    n_said, m_said = _snap_counts(found["comments"])
    m = len(found["sources"])
    if m == 0 and n_said is None:
        raise source.fail("there is no edge in the file", found["lines"])
    if check_counts and m_said is not None and m_said != m:
        raise source.fail(
            f"a comment promises {m_said} edges, but the file has {m}: it may be cut short; "
            f"{keyword('check_counts', False)} reads it anyway",
            found["lines"],
        )
    if directed is None:
        directed = not any(_UNDIRECTED.match(note) for note in found["comments"])
    if found["names"] is not None:
        ends, n = (found["sources"], found["targets"]), None
        labels: NDArray[Any] | range | None = array_of_names(found["names"])
    else:
        ids = found["sources"], found["targets"]
        first = _first_id(found["comments"]) if base is None else None
        ends, n, labels = settle_ids(
            *ids,
            base=base if first is None else first,
            renumber=renumber,
            at_least=n_said,
            source=source,
        )
        if first is not None and n is not None:
            labels = range(first, first + n)
    graph: Graph = Graph.from_edges(
        *ends,
        found["weights"],
        n_vertices=len(labels) if labels is not None else n,
        directed=directed,
        vertex_names=labels,
        names=False,
    )
    return graph


def _first_lines(head: bytes, comments: str, skip: int) -> list[list[str]]:
    """Return the fields of the first two data lines, split as by the parser."""
    found: list[list[str]] = []
    for line in head.decode(errors="replace").splitlines()[skip:]:
        text = line.strip(" \t\r")
        if not text or text[0] in comments:
            continue
        if not found:
            separator = next((one for one in ",;" if one in text), None)
        found.append([field.strip(" \t") for field in text.split(separator)])
        if len(found) == 2:
            break
    return found


def _weight_column(
    source: Source,
    weight: str | int,
    columns: Sequence[int] | str | None,
    ends: tuple[int, int],
    lines: list[list[str]],
    names: bool | None,
    header: bool | None,
) -> tuple[int, bool | None]:
    """Return the index of the weight column, and whether the first line is a header."""
    if not isinstance(weight, str):
        return int(weight), header
    first = lines[0] if lines else []
    second = lines[1] if len(lines) > 1 and len(lines[1]) == len(first) else []
    if header is None and second and max(ends) < len(first):
        other = [i for i in range(len(first)) if i not in ends]
        turns = any(not _is_number(first[i]) and _is_number(second[i]) for i in other)
        turns = turns or (names is not True and all(_WHOLE.match(second[i]) for i in ends))
        header = turns and not all(_is_number(first[i]) for i in ends)
    data = second if header else first
    spare = [i for i in range(len(data)) if i not in ends and _is_number(data[i])]
    if not header:
        if weight != "weight":
            raise source.fail(
                f"no column {quoted(weight)}: the file has no header line; give the column's "
                f"number, such as {keyword('weight', spare[0] if spare else 2)}"
            )
        if columns is None:
            return _THIRD_IF_ANY, header
        named: list[Any] = list(range(len(data)))
    else:
        plain = [field.strip("\"'").lower() for field in first]
        if weight.lower() in plain:
            return plain.index(weight.lower()), header
        named = [field.strip("\"'") for field in first]
    problem = weight_problem(weight, named, [named[i] for i in spare], "column")
    if problem:
        raise source.fail(problem)
    return _NONE, header


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _columns(given: Sequence[int] | str | None) -> tuple[tuple[int, int], int | None]:
    """Return the columns of source and target, and of the weight if it is named with them."""
    if given is None:
        return (0, 1), None
    try:
        parts = given.split(",") if isinstance(given, str) else map(operator.index, given)
        chosen = [int(part) for part in parts]
    except (TypeError, ValueError):
        chosen = []
    if len(chosen) not in (2, 3) or min(chosen) < 0 or len(set(chosen)) != len(chosen):
        raise OptionError(
            f"columns is {quoted(given)}: give two or three different columns from 0 on"
        )
    return (chosen[0], chosen[1]), chosen[2] if len(chosen) == 3 else None


def _snap_counts(comments: list[bytes]) -> tuple[int | None, int | None]:
    for note in comments:
        match = _COUNTS.search(note)
        if match:
            return int(match[1]), None if match[2] is None else int(match[2])
    return None, None


def _first_id(comments: list[bytes]) -> int | None:
    """Return the number of the first vertex from the comment of :func:`write`."""
    found = [int(match[1]) for note in comments if (match := _FIRST.match(note))]
    return found[0] if found else None


def settle_ids(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    *,
    base: int | None,
    renumber: bool | None,
    at_least: int | None,
    source: Source,
) -> tuple[tuple[NDArray[Any], NDArray[Any]], int | None, NDArray[np.int64] | None]:
    """Decide whether ids are vertex indices or names; see the module's docstring."""
    from nearfar import _cpu

    m = len(sources)
    if m == 0:
        n = at_least or 0
        if n > _VERTEX_LIMIT:
            raise source.fail(f"a comment promises {n} vertices, but there is no edge")
        return (sources, targets), n, None
    low = int(min(sources.min(), targets.min()))
    high = int(max(sources.max(), targets.max()))
    if base is not None and low < base:
        raise source.fail(f"vertex id {low} is below base={base}")
    shift = base or 0
    n = high - shift + 1
    if at_least is not None and n < at_least <= max(_VERTEX_LIMIT, 64 * m):
        n = at_least
    keep = low >= 0 and renumber is not True
    if keep and renumber is None:
        keep = n <= 4 * m + 1 or n == at_least
        if keep and n != at_least:
            seen = np.zeros(high - shift + 1, dtype=bool)
            seen[sources - shift if shift else sources] = True
            seen[targets - shift if shift else targets] = True
            keep = high - shift + 1 <= 2 * int(np.count_nonzero(seen)) + 1
    if keep:
        if n > max(_VERTEX_LIMIT, 64 * m):
            raise source.fail(
                f"vertex id {high} would make {n} vertices from {m} edges: leave renumber at None"
            )
        return ((sources - shift, targets - shift) if shift else (sources, targets)), n, None
    if renumber is False:
        raise source.fail(f"vertex id {low} is negative: leave renumber at None")
    new_sources, new_targets, ids = _cpu.renumber(sources, targets)
    return (new_sources, new_targets), None, ids


def _encoded_names(graph: Graph, sink: Sink) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
    """Return vertex names as UTF-8 with offsets for C++; None for consecutive numbers."""
    if graph.vertex_numbers is not None:
        return None
    texts = distinct_texts(graph, sink)
    for at, text in enumerate(texts):
        if not text or any(c in " \t\r\n,;" for c in text) or text[0] in "#%":
            raise sink.fail(f"vertex name {quoted(text)} of vertex {at} does not fit this format")
    pieces = [text.encode() for text in texts]
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(pieces) or b"\0", dtype=np.uint8)


def write(graph: Graph, sink: Sink, *, weights: bool = True, header: bool = True) -> None:
    """Write tab-separated edges, undirected ones once, under SNAP's comment lines."""
    from nearfar.formats.roads.dimacs import write_arcs

    weights = weights and graph.is_weighted
    if graph.vertex_numbers is None or not header:
        warn_of_lost(graph, sink)
    m = graph.n_edges if graph.directed else count_undirected(graph)
    first = 0 if graph.vertex_numbers is None else graph.vertex_numbers.start
    if header:
        kind = "Directed" if graph.directed else "Undirected"
        fields = "FromNodeId\tToNodeId" + ("\tWeight" if weights else "")
        sink.write(f"# {kind} graph\n# Nodes: {graph.n_vertices} Edges: {m}\n".encode())
        if first:
            sink.write(f"# Ids from {first}\n".encode())
        sink.write(f"# {fields}\n".encode())
    write_arcs(
        graph,
        sink,
        separator="\t",
        keep=0 if graph.directed else 1,
        weights=weights,
        base=first,
        names=_encoded_names(graph, sink),
    )


def count_undirected(graph: Graph) -> int:
    """Return the number of edges of an undirected graph, counting both directions once."""
    rows = graph.tails()
    return int(np.count_nonzero(rows <= graph.indices))


register(
    Format(
        name="edges",
        title="Edge lists: SNAP, LDBC and others; blanks, commas or semicolons; comments # and %",
        suffixes=(".txt", ".edges", ".edgelist", ".e", ".snap"),
        read=read,
        write=write,
        keeps="weights, vertex names, directedness; no isolated vertices with names",
    )
)
