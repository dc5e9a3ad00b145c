"""Distances from many sources at once: to a file that resumes, or a number per row on the terminal.

Every vertex is a source unless some are named. With -o the rows are written block by block, and
the same command after an interruption goes on where it stopped; --reduce prints a number (or a
few) per row without keeping the matrix; --pair and --pairs print the distance of single pairs. inf
(null with --json) says that a vertex is not reached, and nearest:K fills up with "-" (null). In the
file of -o, where whole numbers have no inf, an unreached vertex has the greatest number of the
dtype: 2147483647 in int32, 9223372036854775807 in int64; in floats inf.
"""

from __future__ import annotations

import argparse
import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cli.arguments import (
    add_graph,
    add_solver,
    byte_count,
    number,
    read_graph,
    solver_options,
    vertex_list,
)
from nearfar.cli.console import Exit, Progress, emit
from nearfar.cli.explanation import explain
from nearfar.cli.tables import read_columns, vertices_of
from nearfar.errors import OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.system.output import replacing

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

NAME = "distances"
HELP = "distances from many sources, all pairs, reductions"
EXAMPLES = """\
nearfar distances graph.gr -o rows.npy
nearfar distances graph.gr --source 17 99 --target 4 8
nearfar distances graph.gr --pair 17 4 --pair 99 3
nearfar distances graph.gr --pairs trips.csv
nearfar distances graph.gr --method floyd_warshall -o rows.npy --predecessors-output before.npy
nearfar distances graph.gr --limit 900 --reduce count
nearfar distances graph.gr --reduce mean --explain
nearfar distances graph.nfg --cluster tcp://10.0.0.1:8786 -o rows.zarr"""

_ENDS = ("source", "target")
#: Flags, and others that mean nothing beside them.
_WITHOUT_PAIRS = (
    *("source", "target", "reduce", "output", "predecessors_output", "explain", "cluster"),
)
_MOST_PRINTED = 1_000_000  # numbers on the terminal that nobody asked for by --source
_ALONE = {
    "pair": _WITHOUT_PAIRS,
    "pairs": ("pair", *_WITHOUT_PAIRS),
    "cluster": ("predecessors_output", "explain", "memory"),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)
    rows = parser.add_argument_group("rows and columns")
    rows.add_argument("--source", nargs="+", metavar="VERTEX", help="rows (default: every vertex)")
    rows.add_argument("--target", nargs="+", metavar="VERTEX", help="columns (default: every one)")
    rows.add_argument(
        "--pair", nargs=2, action="append", metavar="VERTEX", help="source and target; repeatable"
    )
    rows.add_argument(
        "--pairs", metavar="FILE", help="table with columns source and target, .csv or .parquet"
    )
    rows.add_argument("--limit", type=number, metavar="D", help="leave out what is farther than D")
    rows.add_argument(
        "--reduce",
        metavar="KIND",
        help="count, sum, mean, max, summary, harmonic, nearest:K or histogram:E0,E1,...",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help=".npy, .zarr or .parquet, resumable")
    parser.add_argument("--out", dest="output", help=argparse.SUPPRESS)  # of 0.1
    parser.add_argument(
        "--predecessors-output",
        metavar="FILE",
        help="also write the vertex before each on its path, as indices, -1 for none; .npy. "
        "Both matrices are held in memory, and -o is .npy then",
    )
    parser.add_argument(
        "--explain", action="store_true", help="rank the methods for this request instead"
    )
    add_solver(parser)
    parser.add_argument(
        "--memory",
        type=byte_count,
        metavar="BYTES",
        help="what the run may take besides the graph's own file, such as 500M or 4G "
        "(default: what is free)",
    )
    parser.add_argument(
        "--devices",
        metavar="LIST",
        help="CUDA devices that share the rows: all, or their numbers, such as 0,1",
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="solve on the workers of a Dask cluster, such as tcp://10.0.0.1:8786; -o is .zarr",
    )


def _reduction(text: str | None) -> Any:
    kind, _, rest = (text or "").partition(":")
    if kind != "histogram":
        return text
    try:
        edges = [float(edge) for edge in rest.split(",")]
    except ValueError:
        edges = []
    if len(edges) < 2 or not all(a < b for a, b in pairwise(edges)):
        raise OptionError(f"--reduce {text}: give rising edges, as in histogram:0,10,20")
    return kind, edges


def _with_predecessors(
    args: argparse.Namespace, graph: Graph, sources: Any, call: dict[str, Any]
) -> Any:
    """Distances, after both matrices were written."""
    from nearfar.solve.many import distances

    if args.target or args.reduce:
        raise OptionError("--predecessors-output goes without --target and --reduce")
    with Progress("solving", enabled=not args.quiet) as progress:
        found, before = distances(graph, sources, predecessors=True, progress=progress, **call)
    for path, matrix in ((args.predecessors_output, before), (args.output, found)):
        if path is not None:
            with replacing(path) as place, place.open("wb") as file:
                np.save(file, matrix)
    return found


def _check_files(args: argparse.Namespace) -> None:
    """Refuse what cannot be written before the work is done."""
    for flag, others in _ALONE.items():
        found = [name for name in others if getattr(args, name)] if getattr(args, flag) else []
        if found:
            raise OptionError(f"--{flag} goes without --{found[0].replace('_', '-')}")
    if args.output and args.reduce:
        raise OptionError("--reduce prints its numbers: leave out -o, or redirect the output")
    for path in (args.output, args.predecessors_output):
        if path is None:
            continue
        if not Path(path).resolve().parent.is_dir():
            raise OptionError(f"output {path!r}: its folder does not exist")
        if args.predecessors_output is not None and not path.endswith(".npy"):
            raise OptionError(f"{path}: with --predecessors-output both files end in .npy")
        if args.predecessors_output is not None and Path(path).is_dir():
            raise OptionError(f"output {path!r} is a folder: name a file")
    files = [
        Path(path).resolve() for path in (args.output, args.predecessors_output) if path is not None
    ]
    if len(set(files)) < len(files):
        raise OptionError(f"-o and --predecessors-output are both {args.output}: give two files")


def _check_amount(args: argparse.Namespace, graph: Graph, targets: list[Any] | None) -> None:
    """Refuse to print the rows of every vertex of a large graph unasked."""
    if args.source is not None or args.output or args.reduce or args.predecessors_output:
        return
    numbers = graph.n_vertices * (graph.n_vertices if targets is None else len(targets))
    if numbers > _MOST_PRINTED:
        raise OptionError(
            f"without --source this prints {numbers:,} numbers, a row for each of "
            f"{graph.n_vertices:,} vertices: name sources by --source, write all by -o rows.npy, "
            "or give --reduce mean for one number per row"
        )


def kept_text(path: str | None) -> str:
    """What an interrupted run leaves behind, and how to go on; "" for nothing."""
    from nearfar.solve.files import kept_blocks

    kept = None if path is None else kept_blocks(path)
    if kept is None:
        return ""
    done, all_of_them = kept
    return (
        f"{done:,} of {all_of_them:,} blocks are kept in {path}; the same command goes on from "
        f"there (or remove {path} and {path}.manifest.json)"
    )


def _explain(
    args: argparse.Namespace, graph: Graph, sources: list[Any] | None, targets: list[Any] | None
) -> int:
    """Rank the methods for the rows and columns."""
    from nearfar.solve.request import make_request

    given = {
        "-o": args.output,
        "--predecessors-output": args.predecessors_output,
        "--option": args.option,
    }
    wrong = [flag for flag, value in given.items() if value]
    if args.method != "auto" or wrong:
        left = (wrong or ["--method"])[0]
        raise OptionError(f"--explain ranks all methods and solves nothing: leave out {left}")
    request = make_request(
        graph,
        "all_pairs" if sources is None else "batch",
        range(graph.n_vertices) if sources is None else graph.indices_of(sources, "source"),
        method="auto",
        device=args.device,
        threads=args.threads,
        limit=args.limit,
        targets=None if targets is None else graph.indices_of(targets, "target"),
        predecessors=False,
        reduced=args.reduce is not None,
    )
    return explain(args, graph, request)


def _pairs(args: argparse.Namespace, graph: Graph) -> list[tuple[Any, Any]]:
    """Sources and targets of --pair, or of the table that --pairs names."""
    columns: list[list[Any]]
    if args.pairs is None:
        columns = [list(ends) for ends in zip(*args.pair, strict=True)]
    else:
        columns, _, _ = read_columns(args.pairs, _ENDS)
    sources, targets = (
        vertices_of(args, graph, column, what) for column, what in zip(columns, _ENDS, strict=True)
    )
    return list(zip(sources, targets, strict=True))


def plain_values(found: Any, graph: Graph) -> list[Any]:
    """The answer as lists: inf for what is not reached, names for vertices, None for no vertex."""
    if isinstance(found, tuple) and len(found) == 3:  # the summary
        return [column.tolist() for column in found]
    if isinstance(found, tuple):  # the nearest: vertices and their distances
        vertices, nearest = found
        names = vertices.tolist()
        if graph.vertex_names is None:
            names = [[None if v < 0 else v for v in row] for row in names]
        return [names, plain_values(nearest, graph)[0]]
    values = found.tolist()
    if found.dtype.kind == "i":
        for place in np.argwhere(found == unreached_value(found.dtype)).tolist():
            row = values
            for i in place[:-1]:
                row = row[i]
            row[place[-1]] = math.inf
    return [values]


def _on_cluster(args: argparse.Namespace, graph: Graph, call: dict[str, Any]) -> Any:
    """Distances by the workers of a cluster, which open a file of nearfar's own themselves."""
    from nearfar.scale import distances

    own = args.graph.endswith((".nfg", ".nfp")) and args.format is None and not args.read_option
    file: Any = args.graph if own else graph
    return distances(args.cluster, file, **call)


def run(args: argparse.Namespace) -> int:
    """Solve and print or write."""
    from nearfar.solve.many import distances

    _check_files(args)
    graph, _ = read_graph(args)
    options = solver_options(args)
    if options.pop("allow_unsafe", False):
        raise OptionError("--allow-unsafe runs one source only: nearfar sssp")
    given = {name: getattr(args, name) for name in ("devices", "memory")}
    options |= {name: value for name, value in given.items() if value is not None}
    if args.pair or args.pairs is not None:
        pairs = _pairs(args, graph)
        found = distances(graph, pairs=pairs, limit=args.limit, **options)
        (values,) = plain_values(found, graph)
        lines = [f"{s}\t{t}\t{d}" for (s, t), d in zip(pairs, values, strict=True)]
        emit(args, {"pairs": [list(p) for p in pairs], "distances": values}, lines)
        return Exit.OK
    sources = vertex_list(args, graph, args.source, "source")
    targets = vertex_list(args, graph, args.target)
    if args.explain:
        return _explain(args, graph, sources, targets)
    _check_amount(args, graph, targets)
    stats: dict[str, Any] = {}
    call: dict[str, Any] = {"limit": args.limit, "stats": stats, **options}
    if args.predecessors_output:
        found = _with_predecessors(args, graph, sources, call)
    else:
        reduce = _reduction(args.reduce)
        with Progress("solving", enabled=not args.quiet) as progress:
            call |= {"targets": targets, "reduce": reduce, "out": args.output}
            try:
                if args.cluster is not None:
                    call["sources"] = sources
                    found = _on_cluster(args, graph, {"progress": progress, **call})
                else:
                    found = distances(graph, sources, progress=progress, **call)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(kept_text(args.output)) from None
    count = graph.n_vertices if sources is None else len(sources)
    if args.output:
        facts = {"output": args.output, "rows": count, "seconds": stats["seconds"]}
        emit(args, facts, [f"{count:,} rows in {args.output}"], summary=True)
        return Exit.OK
    names = [graph.name_of(v) for v in range(count)] if sources is None else sources
    values = plain_values(found, graph)
    lines = []
    for i, name in enumerate(names):
        rows = [value[i] if isinstance(value[i], list) else [value[i]] for value in values]
        cells = ["-" if cell is None else cell for row in rows for cell in row]
        lines.append("\t".join(map(str, [name, *cells])))
    facts = {"sources": names, "values": values if len(values) > 1 else values[0]}
    if targets is not None and not args.reduce:
        facts["targets"] = targets
    emit(args, facts, lines)
    return Exit.OK
