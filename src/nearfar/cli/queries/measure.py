"""Compute measures from shortest paths: centralities, path counts, loads of edges, skims.

Prints one line per vertex or edge, as tab-separated columns; --top shows the largest values
first. Weights are used if the file has them; --weight none counts edges.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import nearfar
from nearfar.cli.arguments import add_graph, at_least_one, number, read_graph, vertex_list
from nearfar.cli.console import add_output, emit, epilog, note
from nearfar.cli.flags import add_flags, call_of
from nearfar.cli.parser import flag
from nearfar.cli.tables import read_numbers, read_table, unreached_as_inf, vertices_of
from nearfar.errors import OptionError, quoted
from nearfar.graph.graph import Graph
from nearfar.system.progress import Progress

NAME = "measure"
HELP = "centralities, path counts, edge loads, skims"
EXAMPLES = """\
nearfar measure betweenness roads.gr.gz --samples 256 --seed 1 --top 10
nearfar measure betweenness graph.csv --weight none --edges"""


class Kind(NamedTuple):
    """Measure: a function of :mod:`nearfar.measures`, and how its result is printed."""

    summary: str  # one-line description
    example: str  # further arguments of a call
    show: Callable[[argparse.Namespace, Graph, Any, dict[str, Any]], None]  # result of the function
    own: tuple[str, ...] = ()  # flags without a parameter of the function


# ---- output --------------------------------------------------------------------------------------


def _print(
    args: argparse.Namespace,
    values: NDArray[Any],
    columns: dict[str, Callable[[NDArray[np.int64]], Any]],
    more: dict[str, Any] | None = None,
) -> None:
    """Print a line per entry with its names and value: all in order, or the largest ones first."""
    top = args.top
    places = np.arange(len(values)) if top is None else np.argsort(-values, kind="stable")[:top]
    named = {name: np.asarray(names(places)).tolist() for name, names in columns.items()}
    named["values"] = values[places].tolist()
    shown = [column for name, column in named.items() if name != "edges"]
    lines = ("\t".join(map(str, row)) for row in zip(*shown, strict=True))
    emit(args, {**named, **(more or {})}, lines)


def _vertices(
    args: argparse.Namespace, graph: Graph, found: NDArray[Any], call: dict[str, Any]
) -> None:
    chosen = call.get("vertices")
    at = None if chosen is None else graph.indices_of(chosen)
    names = {"vertices": lambda places: graph.name_of(places if at is None else at[places])}
    _print(args, found, names)


def _edges(
    args: argparse.Namespace, graph: Graph, found: NDArray[Any], more: dict[str, Any] | None = None
) -> None:
    columns = {
        "edges": lambda places: places,
        "tails": lambda places: graph.name_of(graph.tails(np.int64)[places]),
        "heads": lambda places: graph.name_of(graph.indices[places].astype(np.int64)),
    }
    _print(args, found, columns, more)


def _shares(args: argparse.Namespace, graph: Graph, found: Any, call: dict[str, Any]) -> None:
    if args.edges:
        _edges(args, graph, found)
    else:
        _vertices(args, graph, found, call)


def _of_the_graph(args: argparse.Namespace, graph: Graph, found: Any, call: Any) -> None:
    lines = found if isinstance(found, list) else [found]
    emit(args, {args.measure: found}, map(str, lines))


def _counts(args: argparse.Namespace, graph: Graph, found: Any, call: dict[str, Any]) -> None:
    _vertices(args, graph, found.log2() if args.log2 else found.values(), call)


def _paths(args: argparse.Namespace, graph: Graph, found: Any, call: dict[str, Any]) -> None:
    paths = list(itertools.islice(found, args.most))
    facts = {"count": found.count, "length": found.length, "paths": paths}
    emit(args, facts, (" ".join(map(str, path)) for path in paths))
    plural = "" if found.count == 1 else "s"
    note(args, f"{quoted(found.count)} shortest path{plural} of length {found.length}")


def _dag(args: argparse.Namespace, graph: Graph, found: Any, call: dict[str, Any]) -> None:
    heads = np.repeat(np.arange(graph.n_vertices), np.diff(found.indptr))
    tails, heads = (graph.name_of(ends).tolist() for ends in (found.predecessors, heads))
    facts = {"source": call["source"], "tails": tails, "heads": heads, "edges": found.edges}
    emit(args, facts, (f"{u}\t{v}" for u, v in zip(tails, heads, strict=True)))


def _loads(args: argparse.Namespace, graph: Graph, found: Any, call: dict[str, Any]) -> None:
    note(args, f"{found.carried} carried, total length {found.total_length:.10g}")
    lost = [found.unreached_sources, found.unreached_targets, found.unreached_amounts]
    pairs = [list(row) for row in zip(*(column.tolist() for column in lost), strict=True)]
    if pairs:
        shown = ", ".join(f"{source} to {target}" for source, target, _ in pairs[:3])
        more = " ..." if len(pairs) > 3 else ""
        text = f"demand of {found.unreached} has no path, pairs: {len(pairs)}; {shown}{more}"
        note(args, text)
    facts = {
        "carried": found.carried,
        "total_length": found.total_length,
        "unreached": found.unreached,
        "unreached_pairs": pairs,
    }
    _edges(args, graph, found.loads, facts)


def _skims(args: argparse.Namespace, graph: Graph, found: Any, call: dict[str, Any]) -> None:
    sources, targets = call["sources"], call["targets"]
    lists = [unreached_as_inf(table) for table in (found.distances, *found.totals.values())]
    facts = {
        "sources": sources,
        "targets": targets,
        "distances": lists[0],
        "totals": dict(zip(call["quantities"], lists[1:], strict=True)),
    }
    lines = (
        "\t".join(map(str, [s, t, *(rows[i][j] for rows in lists)]))
        for i, s in enumerate(sources)
        for j, t in enumerate(targets)
    )
    emit(args, facts, lines)


def _catchment(args: argparse.Namespace, graph: Graph, found: Any, call: dict[str, Any]) -> None:
    if args.out is not None:
        note(args, f"{len(found):,} rows in {args.out}")
        return
    at = np.arange(graph.n_vertices) if args.sources is None else graph.indices_of(call["sources"])
    names, shown = graph.name_of(at).tolist(), found.reshape(len(at), -1).tolist()
    columns = [f"{column} {kind}" for column in args.column for kind in args.aggregate]
    lines = ("\t".join(map(str, [name, *row])) for name, row in zip(names, shown, strict=True))
    emit(args, {"vertices": names, "columns": columns, "values": shown}, lines)


KINDS: dict[str, Kind] = {
    "all_shortest_paths": Kind(
        "every shortest path between two vertices, and their number",
        *("1 42 --most 10", _paths, ("most",)),
    ),
    "average_length": Kind("mean distance of all pairs of vertices", "", _of_the_graph),
    "betweenness": Kind(
        "share of all shortest paths that lead through each vertex or edge",
        *("--samples 256 --top 10", _shares, ("top",)),
    ),
    "catchment": Kind(
        "sums, means, counts and extremes of values within a limit of each vertex",
        *("--values shops.csv --column area --limit 600", _catchment),
        ("values", "column", "limit", "aggregate", "out"),
    ),
    "center": Kind("vertices of least eccentricity", "", _of_the_graph),
    "closeness": Kind(
        "reciprocal of the mean distance to each vertex", "--top 10", _vertices, ("top",)
    ),
    "diameter": Kind("greatest distance between two vertices, exact", "", _of_the_graph),
    "eccentricity": Kind(
        "distance of each vertex to the vertex farthest from it", "--top 10", _vertices, ("top",)
    ),
    "edge_loads": Kind(
        "load of each edge when demand takes shortest paths",
        *("--demand trips.csv --top 10", _loads, ("demand", "closed", "top")),
    ),
    "efficiency": Kind("mean of 1 / distance of all pairs of vertices", "", _of_the_graph),
    "harmonic": Kind("sum of 1 / distance to each vertex", "--top 10", _vertices, ("top",)),
    "path_counts": Kind(
        "number of shortest paths from one source to every vertex",
        *("1 --top 10", _counts, ("log2", "top")),
    ),
    "periphery": Kind("vertices of greatest eccentricity", "", _of_the_graph),
    "radius": Kind("least eccentricity", "", _of_the_graph),
    "shortest_path_dag": Kind(
        "all edges that are on shortest paths from one source", "1 --limit 500", _dag
    ),
    "skims": Kind(
        "totals of further quantities of edges along shortest paths",
        *("--source 1 2 --target 8 9 --quantity metres.npy", _skims, ("quantities", "closed")),
    ),
}

# ---- input ---------------------------------------------------------------------------------------

#: Flags without a parameter: files, and options of printing.
_OWN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "top": ("--top N", "print only the N largest, largest first", {"type": at_least_one}),
    "most": (
        *("--most N", "paths to print (default: 100)"),
        {"type": at_least_one, "default": 100},
    ),
    "log2": ("--log2", "print base-2 logarithms, of any size", {}),
    "values": (
        *("--values FILE", "table with a column vertex and columns of numbers, .csv or .parquet"),
        {"required": True},
    ),
    "column": ("--column NAME...", "columns (default: value)", {"default": ["value"]}),
    "limit": ("--limit D", "greatest distance", {"type": number, "required": True}),
    "aggregate": (
        *("--aggregate KIND...", "sum, mean, count, min or max (default: sum)"),
        {"default": ["sum"]},
    ),
    "out": ("--out FILE", "write .npy, .zarr or .parquet; resumes an unfinished file", {}),
    "closed": (
        "--closed VERTEX...",
        "vertices that no path passes through; zones: those that a TNTP file closes",
        {},
    ),
    "demand": (
        "--demand FILE",
        "table with columns source, target and demand, .csv or .parquet; or a TNTP trip table",
        {"required": True},
    ),
    "quantities": (
        "--quantity FILE",
        "one number per edge in the graph's order: .npy, or text with one per line; repeatable",
        {"dest": "quantities", "action": "append", "default": []},
    ),
}
_HELP = {
    "edges": "measure edges instead of vertices",
    "normalized": "do not divide by the number of pairs",
    "endpoints": "count the ends of each path as well",
    "samples": "estimate from K random sources",
    "outward": "use distances from the vertex, not to it",
    "wf_improved": "do not multiply by the share of the graph that is reached",
}


def function_of(name: str) -> Callable[..., Any]:
    """Return the function that a measure calls."""
    found: Callable[..., Any] = (
        nearfar.catchment if name == "catchment" else getattr(nearfar.measures, name)
    )
    return found


_ENDS = {"sources": "rows", "targets": "columns"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add one sub-command per measure, with flags from the function's signature."""
    kinds = parser.add_subparsers(
        dest="measure", metavar="MEASURE", title="measures", required=True
    )
    for name, kind in KINDS.items():
        shown, function = name.replace("_", "-"), function_of(name)
        child = kinds.add_parser(
            shown,
            help=kind.summary,
            description=kind.summary,
            epilog=epilog(f"nearfar measure {shown} graph.gr {kind.example}".rstrip()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        child.set_defaults(parser=child)
        add_graph(child)
        add_flags(
            child,
            function,
            leave_out=(*kind.own, "zones"),
            flags={"normalized": "--raw"},
            help={**_HELP, **_ENDS} if name == "skims" else _HELP,
        )
        for own in kind.own:
            spelling, text, more = _OWN[own]
            flag(child, spelling, text, **more)
        add_output(child, nested=True)


def run(args: argparse.Namespace) -> None:
    """Read, measure and print."""
    graph, _ = read_graph(args)
    name = args.measure.replace("-", "_")
    function = function_of(name)
    call = call_of(args, graph, function)
    if "demand" in call:
        call["demand"] = demand_of(args, graph)
    if "values" in call:
        call["values"] = _values_of(args, graph)
    if "quantities" in call:
        call["quantities"] = {path: read_numbers(path) for path in args.quantities}
    searched = _closed(args, graph) if getattr(args, "closed", None) else graph
    with Progress("measuring", enabled=not args.quiet) as progress:
        follows = "progress" in inspect.signature(function).parameters
        found = function(searched, **call, **({"progress": progress} if follows else {}))
    KINDS[name].show(args, graph, found, call)


def _values_of(args: argparse.Namespace, graph: Graph) -> Any:
    """Return vertices and their values from the columns of the table."""
    tables = [read_table(args.values, ("vertex", name)) for name in args.column]
    vertices = vertices_of(args, graph, tables[0][0], "vertex of values")
    return vertices, np.array([table[1] for table in tables], np.float64).T


def _closed(args: argparse.Namespace, graph: Graph) -> Any:
    """Return the graph with turns that close vertices."""
    closed: Iterable[Any] | None
    if args.closed == ["zones"]:
        first = graph.attributes.get("first_thru_node")
        if first is None:
            raise OptionError("--closed zones is for TNTP networks: name the vertices")
        closed = range(1, min(first, graph.attributes["zones"] + 1))
    else:
        closed = vertex_list(args, graph, args.closed)
    return graph.with_turns(closed=closed) if closed else graph


def demand_of(args: argparse.Namespace, graph: Graph) -> Any:
    """Return sources, targets and amounts from the file that --demand names."""
    if ".tntp" in Path(args.demand).suffixes:
        from nearfar.formats import read_trips

        trips = read_trips(args.demand, graph.attributes.get("zones"))
        return trips.row + 1, trips.col + 1, trips.data
    sources, targets, amounts = read_table(args.demand, ("source", "target", "demand"))
    return (
        vertices_of(args, graph, sources, "source"),
        vertices_of(args, graph, targets, "target"),
        amounts,
    )
