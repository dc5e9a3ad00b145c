"""Edge lists as SNAP, LDBC, KONECT-like collections and people's scripts write them.

One edge per line: two ends and maybe a weight, between blanks, commas or semicolons; lines that
start with ``#`` or ``%`` are comments; a header line is recognised. The first data line fixes how
many fields a line has and whether ends are integers or names.

Integer ids are kept as they are while that wastes at most half of the vertices (``n`` is then the
largest id plus one, or SNAP's ``# Nodes:`` if larger). Wider gaps, negative ids and names are
numbered in order of appearance, and the graph's ``vertex_names`` hold what the file said.

SNAP's comments count: ``# Nodes: n Edges: m`` is checked against the lines, which is the only way
to see that such a file was cut short, and ``# Undirected graph`` makes the graph undirected.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphFormatError, OptionError, quoted
from nearfar.formats.files import Sink, Source, array_of_names
from nearfar.formats.specs import Format, register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

_COUNTS = re.compile(rb"Nodes:\s*(\d+)(?:\s+Edges:\s*(\d+))?")
_UNDIRECTED = re.compile(rb"^#\s*Undirected graph")
_LINE = re.compile(rb"^\s*-?\d+(\s+|\s*[,;]\s*)-?\d+((\s+|\s*[,;]\s*)\S+)*\s*$")
_VERTEX_LIMIT = 1 << 24
_NONE, _THIRD_IF_ANY = -1, -2  # columns of weights, as the parser has them


def looks_like_edges(head: bytes) -> bool:
    """Whether the first line that is not a comment starts with two integers."""
    for line in head.split(b"\n"):
        if line.strip() and line.lstrip()[:1] not in (b"#", b"%"):
            return _LINE.match(line) is not None
    return False


def read(
    source: Source,
    *,
    directed: bool | None = None,
    columns: Sequence[int] | str | None = None,
    weighted: bool | None = None,
    names: bool | None = None,
    header: bool | None = None,
    base: int | None = None,
    renumber: bool | None = None,
    comments: str = "#%",
    skip_lines: int = 0,
    check_counts: bool = True,
) -> Graph:
    """Read an edge list.

    Parameters
    ----------
    directed : bool or None
        False enters every line in both directions. None: directed, unless a comment says
        ``# Undirected graph``.
    columns : (source, target) or (source, target, weight), or None
        0-based columns, also as text such as "0,2"; None takes the first two, and the third as
        weight if there is one.
    weighted : bool or None
        False ignores the third column.
    names : bool or None
        True takes the ends as text, False as integers; None looks at the first data line.
    header : bool or None
        Whether the first data line is a header; None looks.
    base : int or None
        Smallest id of the file; subtracted. None subtracts nothing.
    renumber : bool or None
        True always numbers ids in order of appearance, False never; None when ids waste over half.
    comments : str
        Characters that open a comment line.
    skip_lines : int
        Lines to skip at the top, for files that open with a line of counts.
    check_counts : bool
        Whether SNAP's ``# Nodes: Edges:`` comment must agree with the lines.
    """
    from nearfar import _cpu
    from nearfar.graph.graph import Graph

    first, second, weight = _columns(columns)
    if skip_lines < 0:
        raise OptionError(f"skip_lines is {skip_lines}: give 0 or more")
    found = _cpu.parse_edge_list(
        source.data,
        comments.encode(),
        first,
        second,
        _NONE if weighted is False else weight,
        None if names is None else bool(names),
        None if header is None else bool(header),
        int(skip_lines),
        source.progress(),
    )
    if weighted and found["weights"] is None:
        raise source.fail("the edges have no third field for a weight")
    n_said, m_said = _snap_counts(found["comments"])
    m = len(found["sources"])
    if m == 0 and n_said is None:
        raise source.fail("there is no edge in the file", found["lines"])
    if check_counts and m_said is not None and m_said != m:
        raise source.fail(
            f"a comment promises {m_said} edges, but the file has {m}: it may be cut short; "
            "check_counts=False reads it anyway",
            found["lines"],
        )
    if directed is None:
        directed = not any(_UNDIRECTED.match(note) for note in found["comments"])
    if found["names"] is not None:
        ends, n = (found["sources"], found["targets"]), None
        labels: NDArray[Any] | None = array_of_names(found["names"])
    else:
        ids = found["sources"], found["targets"]
        ends, n, labels = settle_ids(
            *ids, base=base, renumber=renumber, at_least=n_said, source=source
        )
    graph: Graph = Graph.from_edges(
        *ends,
        found["weights"],
        n_vertices=len(labels) if labels is not None else n,
        directed=directed,
        vertex_names=labels,
    )
    return graph


def _columns(given: Sequence[int] | str | None) -> tuple[int, int, int]:
    """Columns of source and target, and of the weight, as asked for."""
    if given is None:
        return 0, 1, _THIRD_IF_ANY
    try:
        parts = given.split(",") if isinstance(given, str) else map(operator.index, given)
        chosen = [int(part) for part in parts]
    except (TypeError, ValueError):
        chosen = []
    if len(chosen) not in (2, 3) or min(chosen) < 0 or len(set(chosen)) != len(chosen):
        raise OptionError(
            f"columns is {quoted(given)}: give two or three different columns from 0 on"
        )
    return chosen[0], chosen[1], chosen[2] if len(chosen) == 3 else _NONE


def _snap_counts(comments: list[bytes]) -> tuple[int | None, int | None]:
    for note in comments:
        match = _COUNTS.search(note)
        if match:
            return int(match[1]), None if match[2] is None else int(match[2])
    return None, None


def settle_ids(
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    *,
    base: int | None,
    renumber: bool | None,
    at_least: int | None,
    source: Source,
) -> tuple[tuple[NDArray[Any], NDArray[Any]], int | None, NDArray[np.int64] | None]:
    """Decide between ids as vertices and ids as names; see the module's text.

    Returns
    -------
    ends : pair of arrays
        0-based sources and targets.
    n : int or None
        Number of vertices when ids were kept.
    names : int64 array or None
        The ids by vertex when they were numbered anew.
    """
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


def encoded_names(
    graph: Graph, forbidden: str, path: str
) -> tuple[NDArray[np.int64], NDArray[np.uint8]] | None:
    """Vertex names as UTF-8 with offsets, for the C++ writers; None when the graph has none.

    Raises
    ------
    GraphFormatError
        If a name is empty, or holds a character that separates fields.
    """
    if graph.vertex_names is None:
        return None
    texts = [str(name) for name in graph.vertex_names.tolist()]
    for at, text in enumerate(texts):
        if not text or any(c in forbidden for c in text) or text[0] in "#%":
            raise GraphFormatError(
                f"vertex name {quoted(text)} of vertex {at} does not fit this format", path
            )
    pieces = [text.encode() for text in texts]
    offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(pieces) or b"\0", dtype=np.uint8)


def write(graph: Graph, sink: Sink, *, weights: bool = True, header: bool = True) -> None:
    """Write tab-separated edges, an undirected edge once, under SNAP's comment lines.

    Parameters
    ----------
    weights : bool
        False writes only the ends.
    header : bool
        False leaves the comments out; isolated vertices at the end and undirectedness are then
        lost.
    """
    from nearfar.formats.dimacs import write_arcs

    weights = weights and graph.is_weighted
    m = graph.n_edges if graph.directed else count_undirected(graph)
    if header:
        kind = "Directed" if graph.directed else "Undirected"
        fields = "FromNodeId\tToNodeId" + ("\tWeight" if weights else "")
        sink.write(f"# {kind} graph\n# Nodes: {graph.n_vertices} Edges: {m}\n# {fields}\n".encode())
    write_arcs(
        graph,
        sink,
        separator="\t",
        keep=0 if graph.directed else 1,
        weights=weights,
        names=encoded_names(graph, " \t\r\n,;", sink.path),
    )


def count_undirected(graph: Graph) -> int:
    """Edges of an undirected graph, each counted once."""
    rows = graph.tails()
    return int(np.count_nonzero(rows <= graph.indices))


register(
    Format(
        name="edges",
        title="Edge lists: SNAP, LDBC and others; blanks, commas or semicolons; comments # and %",
        suffixes=(".txt", ".edges", ".edgelist", ".e", ".snap"),
        read=read,
        write=write,
        keeps="weights, vertex names, directedness",
    )
)
