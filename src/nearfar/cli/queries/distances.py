"""Compute distances from many sources, to a resumable file or as a number per row.

Every vertex is a source unless some are named. With -o rows are written block by block, and the
same command resumes after an interruption; --reduce prints a number (or a few) per row; --pair and
--pairs print the distance of single pairs. Unreached vertices are inf (null with --json); in a file
of integers they are the largest value of the dtype. nearest:K is padded with "-" (null).
"""

from __future__ import annotations

import argparse
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np

from nearfar.cli.arguments import add_graph, read_graph, vertex_list
from nearfar.cli.console import emit
from nearfar.cli.explanation import add_explain, check_explain, show_explanation
from nearfar.cli.flags import add_flags, add_solver, call_of, refuse_others
from nearfar.cli.parser import flag
from nearfar.cli.tables import FileTable, vertices_of
from nearfar.errors import OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.system.output import replacing
from nearfar.system.progress import Progress

NAME = "distances"
HELP = "distances from many sources, all pairs, reductions"
CALLS = ("nearfar.distances", "nearfar.scale.distances", "nearfar.explain")
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
#: Arguments that may be combined with pairs.
_WITH_PAIRS = ("method", "device", "devices", "threads", "limit", "option", "memory")
_MOST_PRINTED = 1_000_000  # numbers on the terminal without an explicit --source


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.many import distances

    add_graph(parser)
    rows = parser.add_argument_group("rows and columns")
    texts = {"sources": "rows (default: every vertex)", "targets": "columns (default: every one)"}
    add_flags(rows, distances, texts, help=texts)
    flag(rows, "--pair VERTEX", "source and target; repeatable", nargs=2, action="append")
    flag(rows, "--pairs FILE", "table with columns source and target, .csv or .parquet")
    add_flags(rows, distances, ["limit"])
    text = "count, sum, mean, max, summary, harmonic, nearest:K or histogram:E0,E1,..."
    flag(rows, "--reduce KIND", text)
    flag(parser, "-o --output FILE", ".npy, .zarr or .parquet, resumable", dest="out")
    parser.add_argument("--out", dest="out", help=argparse.SUPPRESS)  # name in version 0.1
    flag(
        parser,
        "--predecessors-output FILE",
        "also write predecessors, as indices, -1 for none; .npy. Both matrices are held in "
        "memory, and -o must end in .npy",
    )
    add_explain(parser)
    add_solver(parser, distances)
    memory = (
        "memory limit of the run, without the graph's own file, such as 500M or 4G "
        "(default: all that is free)"
    )
    add_flags(parser, distances, ["memory"], help={"memory": memory})
    add_flags(parser, distances, ["devices"])
    text = "solve on the workers of a Dask cluster, such as tcp://10.0.0.1:8786; -o is .zarr"
    flag(parser, "--cluster ADDRESS", text)


def _with_predecessors(args: argparse.Namespace, graph: Graph, call: dict[str, Any]) -> Any:
    """Return distances, after writing both matrices."""
    from nearfar.solve.many import distances

    if args.targets or args.reduce:
        raise OptionError("--predecessors-output cannot be combined with --target or --reduce")
    with Progress("solving", enabled=not args.quiet) as progress:
        call |= {"out": None, "predecessors": True}
        found, before = distances(graph, progress=progress, **call)
    for path, matrix in ((args.predecessors_output, before), (args.out, found)):
        if path is not None:
            with replacing(path) as place, place.open("wb") as file:
                np.save(file, matrix)
    return found


def _check_files(args: argparse.Namespace) -> None:
    """Refuse unwritable files before solving."""
    if args.out and args.reduce:
        raise OptionError("--reduce prints its numbers: leave out -o, or redirect the output")
    for path in (args.out, args.predecessors_output):
        if path is None:
            continue
        if not Path(path).resolve().parent.is_dir():
            raise OptionError(f"output {path!r}: its folder does not exist")
        if args.predecessors_output is not None and not path.endswith(".npy"):
            raise OptionError(f"{path}: with --predecessors-output both files end in .npy")
        if args.predecessors_output is not None and Path(path).is_dir():
            raise OptionError(f"output {path!r} is a folder: name a file")
    files = [
        Path(path).resolve() for path in (args.out, args.predecessors_output) if path is not None
    ]
    if len(set(files)) < len(files):
        raise OptionError(f"-o and --predecessors-output are both {args.out}: give two files")


def _check_amount(args: argparse.Namespace, graph: Graph, targets: list[Any] | None) -> None:
    """Refuse to print the rows of every vertex of a large graph without an explicit request."""
    if args.sources is not None or args.out or args.reduce or args.predecessors_output:
        return
    numbers = graph.n_vertices * (graph.n_vertices if targets is None else len(targets))
    if numbers > _MOST_PRINTED:
        raise OptionError(
            f"without --source this prints {numbers:,} numbers, a row for each of "
            f"{graph.n_vertices:,} vertices: name sources by --source, write all by -o rows.npy, "
            "or give --reduce mean for one number per row"
        )


def kept_text(path: str | None) -> str:
    """Describe the blocks that an interrupted run kept, and how to resume; "" for none."""
    from nearfar.solve.rows.files import finished_blocks

    kept = None if path is None else finished_blocks(path)
    if kept is None:
        return ""
    done, all_of_them = kept
    return (
        f"{done:,} of {all_of_them:,} blocks are kept in {path}; the same command resumes the run "
        f"(to restart, remove {path} and {path}.manifest.json)"
    )


def _pairs(args: argparse.Namespace, graph: Graph) -> list[tuple[Any, Any]]:
    """Return sources and targets of --pair, or of the table that --pairs names."""
    columns: list[list[Any]]
    if args.pairs is None:
        columns = [list(ends) for ends in zip(*args.pair, strict=True)]
    else:
        table = FileTable(args.pairs)
        table.check(*_ENDS)
        columns = [table.columns[end] for end in _ENDS]
    sources, targets = (
        vertices_of(args, graph, column, what) for column, what in zip(columns, _ENDS, strict=True)
    )
    return list(zip(sources, targets, strict=True))


def plain_values(found: Any, graph: Graph) -> list[Any]:
    """Return the answer as lists: inf for unreached, names for vertices, None for no vertex."""
    if isinstance(found, tuple) and len(found) == 3:  # the summary
        return [plain_values(column, graph)[0] for column in found]
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
    """Return distances computed by the workers of a cluster, which open .nfg and .nfp files."""
    from nearfar.scale import distances

    own = args.graph.endswith((".nfg", ".nfp")) and args.format is None and not args.read_option
    file: Any = args.graph if own else graph
    return distances(args.cluster, file, **call)


def run(args: argparse.Namespace) -> None:
    """Solve, and print or write the distances."""
    from nearfar import scale
    from nearfar.solve.many import distances

    with_pairs = args.pair is not None or args.pairs is not None
    if with_pairs:
        flag = "pair" if args.pairs is None else "pairs"
        refuse_others(args, (flag, *_WITH_PAIRS), f"--{flag} cannot be combined with {{flag}}")
    if args.explain:
        check_explain(args, "sources")
    if args.cluster is not None:
        asked = inspect.signature(scale.distances).parameters
        refuse_others(
            args, {"cluster", "option", *asked}, "--cluster cannot be combined with {flag}"
        )
    _check_files(args)
    graph, _ = read_graph(args)
    if args.explain:
        show_explanation(args, graph, vertex_list(args, graph, args.sources, "source"))
        return
    call = call_of(args, graph, scale.distances if args.cluster is not None else distances)
    if with_pairs:
        pairs = _pairs(args, graph)
        found = distances(graph, **{**call, "pairs": pairs})
        (values,) = plain_values(found, graph)
        lines = [f"{s}\t{t}\t{d}" for (s, t), d in zip(pairs, values, strict=True)]
        emit(args, {"pairs": [list(p) for p in pairs], "distances": values}, lines)
        return
    sources, targets = call["sources"], call["targets"]
    _check_amount(args, graph, targets)
    stats: dict[str, Any] = {}
    call["stats"] = stats
    if args.predecessors_output:
        found = _with_predecessors(args, graph, call)
    else:
        with Progress("solving", enabled=not args.quiet) as progress:
            call["progress"] = progress
            try:
                if args.cluster is not None:
                    found = _on_cluster(args, graph, call)
                else:
                    found = distances(graph, **call)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(kept_text(args.out)) from None
    count = graph.n_vertices if sources is None else len(sources)
    if args.out:
        facts = {"output": args.out, "rows": count, "seconds": stats["seconds"]}
        emit(args, facts, [f"{count:,} rows in {args.out}"], summary=True)
        return
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
