"""Compute distances from every origin to every destination of two tables of coordinates.

Columns called lon and lat (or longitude, lng, latitude; x and y) are recognised, and a column
called id or name names the places. A place is snapped to the nearest street, and the parts of the
first and the last street count. With -o the same command resumes after an interruption; otherwise a
line per pair is printed. Pairs without a path are missing.
"""

from __future__ import annotations

import csv
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cli.arguments import add_graph, at_least_one, number, read_graph
from nearfar.cli.console import Exit, Progress, duration, emit, note
from nearfar.cli.flags import add_solver
from nearfar.cli.places import add_snapping, read_places, remarks, snapping
from nearfar.cli.queries.distances import kept_text
from nearfar.errors import OptionError
from nearfar.system.output import replacing

if TYPE_CHECKING:
    import argparse

__all__ = ["write_csv"]

NAME = "table"
CALLS = ("nearfar.table", "nearfar.nearest_places")
HELP = "distances between places, coordinates in two tables"
EXAMPLES = """\
nearfar table roads.nfp origins.csv destinations.csv -o table.parquet
nearfar table roads.nfp homes.csv clinics.csv --nearest 3 -o nearest.csv
nearfar table town.osm.pbf homes.csv homes.csv --limit 900 --id street"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.places.table import table

    add_graph(parser)
    parser.add_argument("origins", metavar="ORIGINS", help="table of places, .csv or .parquet")
    parser.add_argument("destinations", metavar="DESTINATIONS", help="likewise")
    parser.add_argument("--id", metavar="COLUMN", help="column that names the places in both")
    parser.add_argument("--nearest", type=at_least_one, metavar="K", help="only the K nearest")
    parser.add_argument("--limit", type=number, metavar="D", help="leave out pairs farther apart")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=".csv, .npy, .zarr or .parquet; all but .csv resume"
    )
    add_snapping(parser)
    add_solver(parser, table)


def run(args: argparse.Namespace) -> int:
    """Compute the table."""
    import nearfar

    to_csv = args.output is not None and args.output.lower().endswith(".csv")
    if args.nearest and args.output and not to_csv:
        raise OptionError("with --nearest the output ends in .csv, or is left out")
    graph, _ = read_graph(args)
    origins, _ = read_places(args, graph, args.origins, "origins")
    destinations, _ = read_places(args, graph, args.destinations, "destinations")
    if args.option:
        raise OptionError("a table of places takes no options of methods: leave them out")
    given = {name: getattr(args, name) for name in ("limit", "method", "device", "threads")}
    call: dict[str, Any] = {**given, **snapping(args)}
    began = time.perf_counter()
    with remarks(args, graph), Progress("solving", enabled=not args.quiet) as progress:
        if args.nearest:
            near = nearfar.nearest_places(
                graph, origins, destinations, args.nearest, progress=progress, **call
            )
            heads = ["origin", "rank", "destination", "distance"]
            row, rank = np.nonzero(near.destinations >= 0)
            cells = [
                origins.labels[row].tolist(),
                (rank + 1).tolist(),
                destinations.labels[near.destinations[row, rank]].tolist(),
                near.distances[row, rank].tolist(),
            ]
            lines = [list(line) for line in zip(*cells, strict=True)]
        else:
            out = None if to_csv else args.output
            try:
                found = nearfar.table(
                    graph, origins, destinations, out=out or "numpy", progress=progress, **call
                )
            except KeyboardInterrupt:
                raise KeyboardInterrupt(kept_text(out)) from None
            heads = ["origin", *map(str, destinations.labels.tolist())]
            lines = [] if out else _rows(origins.labels, found)
    seconds = duration(time.perf_counter() - began)
    size = f"{len(origins.labels):,} x {len(destinations.labels):,}"
    note(args, f"{size} places in {seconds}")
    if args.output:
        if to_csv:
            write_csv(args.output, heads, lines)
        facts = {"output": args.output, "origins": len(origins.labels)}
        emit(args, facts, [f"{size} places in {args.output}"], summary=True)
        return Exit.OK
    if args.nearest:
        records = [dict(zip(heads, line, strict=True)) for line in lines]
        emit(args, records, ["\t".join(map(str, line)) for line in lines])
        return Exit.OK
    named = destinations.labels.tolist()
    facts = {"origins": origins.labels, "destinations": named, "distances": found}
    facts["distances"] = [[_cell(value, None) for value in row[1:]] for row in lines]
    emit(
        args,
        facts,
        (f"{row[0]}\t{name}\t{value}" for row in lines
         for name, value in zip(named, row[1:], strict=True)),
    )  # fmt: skip
    return Exit.OK


def _rows(labels: Any, found: Any) -> list[list[Any]]:
    """Return lines of the table with their names, empty for pairs without a path."""
    return [
        [name, *(_cell(value, "") for value in row)]
        for name, row in zip(labels.tolist(), found.tolist(), strict=True)
    ]


def _cell(value: Any, missing: Any) -> Any:
    """Return a distance, or the text of a missing one."""
    return missing if value == "" or value is None or value != value else value


def write_csv(path: str, heads: list[str], lines: list[list[Any]]) -> None:
    """Write a table with a heading, atomically."""
    with replacing(path) as place, place.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads)
        writer.writerows(lines)
