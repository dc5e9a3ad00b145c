"""The measures that ``nearfar measure`` has: the arguments of each, and how it is printed."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearfar.cli.arguments import at_least_one, device_name, number, read_vertex, vertex_list
from nearfar.cli.console import emit, note
from nearfar.cli.tables import read_numbers, read_table, unreached_as_inf, vertices_of
from nearfar.errors import OptionError, quoted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["KINDS", "Kind"]


class Kind(NamedTuple):
    """One measure.

    Attributes
    ----------
    summary : str
        What it is, in a line.
    example : str
        A call.
    configure : callable
        Adds its arguments to a parser.
    run : callable
        Computes it for ``(args, graph)`` and prints it.
    """

    summary: str
    example: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Graph], None]


def _add_top(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--top", type=at_least_one, metavar="N", help="only the N largest values, largest first"
    )


def _add_closed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--closed",
        nargs="+",
        metavar="VERTEX",
        help="paths do not pass through these; zones: those that a TNTP file closes",
    )


def _closed(args: argparse.Namespace, graph: Graph) -> Any:
    """The graph, with turns where vertices are closed."""
    if args.closed == ["zones"]:
        first = graph.attributes.get("first_thru_node")
        if first is None:
            raise OptionError("--closed zones is for TNTP networks: name the vertices")
        closed: Any = range(1, min(first, graph.attributes["zones"] + 1))
    else:
        closed = vertex_list(args, graph, args.closed)
    return graph.with_turns(closed=closed) if closed else graph


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        type=device_name,
        default="auto",
        choices=["auto", "cpu", "cuda"],
        help="where to run (default: auto, a GPU where it pays)",
    )


def _add_ends(parser: argparse.ArgumentParser, *, targets: bool = False) -> None:
    parser.add_argument(
        "--source", nargs="+", metavar="VERTEX", help="only paths from these (default: all)"
    )
    if targets:
        parser.add_argument(
            "--target", nargs="+", metavar="VERTEX", help="only paths to these (default: all)"
        )


def _places(values: NDArray[Any], top: int | None) -> NDArray[np.int64]:
    """Which entries to show: all in order, or the largest, lowest place first among equals."""
    if top is None:
        return np.arange(len(values))
    return np.argsort(-values, kind="stable")[:top]


def print_vertices(
    args: argparse.Namespace, graph: Graph, values: NDArray[Any], vertices: Any = None
) -> None:
    """One line per vertex: name and value."""
    places = _places(values, args.top)
    names = graph.name_of(places if vertices is None else vertices[places]).tolist()
    shown = values[places].tolist()
    emit(
        args,
        {"vertices": names, "values": shown},
        (f"{name}\t{value}" for name, value in zip(names, shown, strict=True)),
    )


def print_edges(
    args: argparse.Namespace,
    graph: Graph,
    values: NDArray[Any],
    more: dict[str, Any] | None = None,
) -> None:
    """One line per edge: both ends and value; ``more`` stands in the JSON."""
    places = _places(values, args.top)
    tails = graph.name_of(graph.tails(np.int64)[places]).tolist()
    heads = graph.name_of(graph.indices[places].astype(np.int64)).tolist()
    shown = values[places].tolist()
    emit(
        args,
        {"edges": places, "tails": tails, "heads": heads, "values": shown, **(more or {})},
        (f"{u}\t{v}\t{value}" for u, v, value in zip(tails, heads, shown, strict=True)),
    )


def _betweenness_arguments(parser: argparse.ArgumentParser) -> None:
    _add_ends(parser, targets=True)
    parser.add_argument("--edges", action="store_true", help="of edges instead of vertices")
    parser.add_argument(
        "--raw", action="store_true", help="numbers of paths, not divided by the pairs"
    )
    parser.add_argument("--endpoints", action="store_true", help="a path counts for its ends too")
    parser.add_argument("--limit", type=number, metavar="D", help="only pairs no farther apart")
    parser.add_argument("--samples", type=int, metavar="K", help="estimate from K random sources")
    parser.add_argument("--seed", type=int, metavar="N", help="of the draw")
    parser.add_argument(
        "--tolerance", type=float, metavar="X", help="relative, for ties of float weights"
    )
    parser.add_argument(
        "--devices",
        metavar="LIST",
        help="CUDA devices that share the sources: all, or their numbers, such as 0,1",
    )
    _add_device(parser)
    _add_top(parser)


def _betweenness(args: argparse.Namespace, graph: Graph) -> None:
    from nearfar.measures import betweenness

    found = betweenness(
        graph,
        vertex_list(args, graph, args.source, "source"),
        targets=vertex_list(args, graph, args.target),
        edges=args.edges,
        normalized=not args.raw,
        endpoints=args.endpoints,
        limit=args.limit,
        samples=args.samples,
        seed=args.seed,
        tolerance=args.tolerance,
        device=args.device,
        devices=args.devices,
        threads=args.threads,
    )
    (print_edges if args.edges else print_vertices)(args, graph, found)


def _per_vertex(name: str, *, facing: bool) -> Kind:
    """A measure of one number per vertex; ``facing``: it has a direction and a limit."""

    def configure(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--vertex", nargs="+", metavar="VERTEX", help="of these alone (default: all)"
        )
        if facing:
            parser.add_argument(
                "--outward", action="store_true", help="distances from the vertex, not to it"
            )
            parser.add_argument("--limit", type=number, metavar="D", help="within this distance")
        _add_device(parser)
        _add_top(parser)

    def compute(args: argparse.Namespace, graph: Graph) -> None:
        from nearfar import measures

        chosen = vertex_list(args, graph, args.vertex, "vertex")
        more = {"outward": args.outward, "limit": args.limit} if facing else {}
        found = getattr(measures, name)(
            graph, chosen, device=args.device, threads=args.threads, **more
        )
        print_vertices(args, graph, found, None if chosen is None else graph.indices_of(chosen))

    return Kind(_SUMMARIES[name], f"nearfar measure {name} graph.gr --top 10", configure, compute)


def _of_the_graph(name: str) -> Kind:
    """A measure of the whole graph."""
    shown = name.replace("_", "-")

    def compute(args: argparse.Namespace, graph: Graph) -> None:
        from nearfar import measures

        found = getattr(measures, name)(graph, device=args.device, threads=args.threads)
        lines = found if isinstance(found, list) else [found]
        emit(args, {shown: found}, map(str, lines))

    return Kind(_SUMMARIES[name], f"nearfar measure {shown} graph.gr", _add_device, compute)


_ENDS = ("source", "target")
_SUMMARIES = {
    "average_length": "mean distance of all pairs of vertices",
    "center": "vertices whose farthest vertex is as near as for any",
    "closeness": "reciprocal of the mean distance to each vertex",
    "diameter": "greatest distance between two vertices, exact",
    "eccentricity": "distance of each vertex to the vertex farthest from it",
    "efficiency": "mean of 1 / distance of all pairs of vertices",
    "harmonic": "sum of 1 / distance to each vertex",
    "periphery": "vertices at the greatest distance that there is",
    "radius": "least eccentricity",
}


def _counts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="vertex name or number, or LAT,LON")
    parser.add_argument(
        "--limit", type=number, metavar="D", help="leave out what is farther than D"
    )
    parser.add_argument("--log2", action="store_true", help="logarithms to base 2, of any size")
    _add_device(parser)
    _add_top(parser)


def _counts(args: argparse.Namespace, graph: Graph) -> None:
    from nearfar.measures import path_counts

    source = read_vertex(args, graph, args.source, "source")
    found = path_counts(graph, source, limit=args.limit, device=args.device, threads=args.threads)
    print_vertices(args, graph, found.log2() if args.log2 else found.values())


def _paths_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="vertex name or number, or LAT,LON")
    parser.add_argument("target", metavar="TARGET", help="vertex name or number, or LAT,LON")
    parser.add_argument(
        "--most", type=at_least_one, default=100, metavar="N", help="paths to print (default: 100)"
    )


def _paths(args: argparse.Namespace, graph: Graph) -> None:
    from nearfar.measures import all_shortest_paths

    found = all_shortest_paths(
        graph,
        read_vertex(args, graph, args.source, "source"),
        read_vertex(args, graph, args.target, "target"),
        threads=args.threads,
    )
    paths = list(itertools.islice(found, args.most))
    facts = {"count": found.count, "length": found.length, "paths": paths}
    emit(args, facts, (" ".join(map(str, path)) for path in paths))
    plural = "" if found.count == 1 else "s"
    note(args, f"{quoted(found.count)} shortest path{plural} of length {found.length}")


def _dag_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="vertex name or number, or LAT,LON")
    parser.add_argument(
        "--limit", type=number, metavar="D", help="leave out what is farther than D"
    )


def _dag(args: argparse.Namespace, graph: Graph) -> None:
    from nearfar.measures import shortest_path_dag

    source = read_vertex(args, graph, args.source, "source")
    found = shortest_path_dag(graph, source, limit=args.limit, threads=args.threads)
    heads = np.repeat(np.arange(graph.n_vertices), np.diff(found.indptr))
    tails, heads = (graph.name_of(ends).tolist() for ends in (found.predecessors, heads))
    facts = {"source": source, "tails": tails, "heads": heads, "edges": found.edges}
    emit(args, facts, (f"{u}\t{v}" for u, v in zip(tails, heads, strict=True)))


def _catchment_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--values",
        required=True,
        metavar="FILE",
        help="table with a column vertex and columns of numbers, .csv or .parquet",
    )
    parser.add_argument(
        "--column", nargs="+", default=["value"], metavar="NAME", help="which (default: value)"
    )
    parser.add_argument("--limit", type=number, required=True, metavar="D", help="up to here")
    parser.add_argument(
        "--aggregate",
        nargs="+",
        default=["sum"],
        metavar="KIND",
        help="sum, mean, count, min or max (default: sum)",
    )
    parser.add_argument(
        "--decay", metavar="KIND", help="linear, exponential, or exponential:SCALE (default: none)"
    )
    parser.add_argument(
        "--vertex", nargs="+", metavar="VERTEX", help="of these alone (default: all)"
    )
    parser.add_argument(
        "--out", metavar="FILE", help="write .npy, .zarr or .parquet, and resume what is there"
    )


def _catchment(args: argparse.Namespace, graph: Graph) -> None:
    import nearfar

    tables = [read_table(args.values, ("vertex", name)) for name in args.column]
    vertices = vertices_of(args, graph, tables[0][0], "vertex of values")
    chosen = vertex_list(args, graph, args.vertex, "vertex")
    decay: Any = args.decay
    if decay is not None and decay.startswith("exponential:"):
        decay = ("exponential", number(decay.removeprefix("exponential:")))
    found = nearfar.catchment(
        graph,
        (vertices, np.array([table[1] for table in tables], np.float64).T),
        limit=args.limit,
        sources=chosen,
        aggregate=args.aggregate,
        decay=decay,
        threads=args.threads,
        out=args.out,
    )
    if args.out is not None:
        note(args, f"{len(found):,} rows in {args.out}")
        return
    rows = np.arange(graph.n_vertices) if chosen is None else graph.indices_of(chosen)
    names, shown = graph.name_of(rows).tolist(), found.reshape(len(rows), -1).tolist()
    columns = [f"{column} {kind}" for column in args.column for kind in args.aggregate]
    lines = ("\t".join(map(str, [name, *row])) for name, row in zip(names, shown, strict=True))
    emit(args, {"vertices": names, "columns": columns, "values": shown}, lines)


def _loads_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demand",
        required=True,
        metavar="FILE",
        help="table with columns source, target and demand, .csv or .parquet; or a TNTP trip table",
    )
    _add_closed(parser)
    _add_device(parser)
    _add_top(parser)


def _demand(args: argparse.Namespace, graph: Graph) -> Any:
    """Sources, targets and amounts of the file that --demand names."""
    if ".tntp" in Path(args.demand).suffixes:
        from nearfar.formats import read_trips

        trips = read_trips(args.demand, graph.attributes.get("zones"))
        return trips.row + 1, trips.col + 1, trips.data
    rows = read_table(args.demand, ("source", "target", "demand"))
    ends = [
        vertices_of(args, graph, column, what) for column, what in zip(rows, _ENDS, strict=False)
    ]
    return *ends, rows[2]


def _loads(args: argparse.Namespace, graph: Graph) -> None:
    from nearfar.measures import edge_loads

    found = edge_loads(
        _closed(args, graph), _demand(args, graph), device=args.device, threads=args.threads
    )
    note(args, f"{found.carried} carried, total length {found.total_length:.10g}")
    if len(found.unreached_amounts):
        lost = zip(found.unreached_sources[:3], found.unreached_targets[:3], strict=True)
        shown = ", ".join(f"{s} to {t}" for s, t in lost)
        note(
            args,
            f"demand of {found.unreached} has no path, pairs: {len(found.unreached_amounts)}; "
            + shown
            + (" ..." if len(found.unreached_amounts) > 3 else ""),
        )
    more = {
        "carried": found.carried,
        "total_length": found.total_length,
        "unreached": found.unreached,
        "unreached_pairs": [
            list(row)
            for row in zip(
                found.unreached_sources.tolist(),
                found.unreached_targets.tolist(),
                found.unreached_amounts.tolist(),
                strict=True,
            )
        ],
    }
    print_edges(args, graph, found.loads, more)


def _skims_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--source", nargs="+", required=True, metavar="VERTEX", help="rows")
    parser.add_argument("--target", nargs="+", required=True, metavar="VERTEX", help="columns")
    parser.add_argument(
        "--quantity",
        action="append",
        default=[],
        metavar="FILE",
        help="a number per edge in the graph's order: .npy, or text with one per line; repeatable",
    )
    _add_closed(parser)


def _skims(args: argparse.Namespace, graph: Graph) -> None:
    from nearfar.measures import skims

    sources = vertex_list(args, graph, args.source, "source") or []
    targets = vertex_list(args, graph, args.target) or []
    values = {path: read_numbers(path) for path in args.quantity}
    found = skims(_closed(args, graph), sources, targets, quantities=values, threads=args.threads)
    tables = [found.distances, *found.totals.values()]
    lists = [unreached_as_inf(table) for table in tables]
    facts = {
        "sources": sources,
        "targets": targets,
        "distances": lists[0],
        "totals": dict(zip(values, lists[1:], strict=True)),
    }
    lines = (
        "\t".join(map(str, [s, t, *(rows[i][j] for rows in lists)]))
        for i, s in enumerate(sources)
        for j, t in enumerate(targets)
    )
    emit(args, facts, lines)


KINDS: dict[str, Kind] = {
    "catchment": Kind(
        "sums, means, counts and extremes of values within a limit of each vertex",
        "nearfar measure catchment roads.gr --values shops.csv --column area --limit 600",
        _catchment_arguments,
        _catchment,
    ),
    "edge-loads": Kind(
        "what each edge carries when demand takes shortest paths",
        "nearfar measure edge-loads roads.gr --demand trips.csv --top 10",
        _loads_arguments,
        _loads,
    ),
    "skims": Kind(
        "totals of further quantities of edges along shortest paths",
        "nearfar measure skims roads.gr --source 1 2 --target 8 9 --quantity metres.npy",
        _skims_arguments,
        _skims,
    ),
    "shortest-path-dag": Kind(
        "all edges that are on shortest paths from one source",
        "nearfar measure shortest-path-dag graph.gr 1 --limit 500",
        _dag_arguments,
        _dag,
    ),
    "all-shortest-paths": Kind(
        "every shortest path between two vertices, and their number",
        "nearfar measure all-shortest-paths graph.gr 1 42 --most 10",
        _paths_arguments,
        _paths,
    ),
    **{
        name.replace("_", "-"): _of_the_graph(name)
        for name in ("average_length", "efficiency", "diameter", "radius", "center", "periphery")
    },
    "closeness": _per_vertex("closeness", facing=True),
    "harmonic": _per_vertex("harmonic", facing=True),
    "eccentricity": _per_vertex("eccentricity", facing=False),
    "path-counts": Kind(
        "number of shortest paths from one source to every vertex",
        "nearfar measure path-counts graph.gr 1 --top 10",
        _counts_arguments,
        _counts,
    ),
    "betweenness": Kind(
        "share of all shortest paths that lead through each vertex or edge",
        "nearfar measure betweenness roads.gr.gz --samples 256 --top 10",
        _betweenness_arguments,
        _betweenness,
    ),
}
