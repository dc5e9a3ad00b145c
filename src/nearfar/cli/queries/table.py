"""Compute distances from every origin to every destination of two tables of coordinates.

Columns called lon and lat (or longitude, lng, latitude; x and y) are recognised, and a column
called id or name names the places. A place is snapped to the nearest street, and the parts of the
first and the last street count. With -o the same command resumes after an interruption; otherwise a
line per pair is printed. Pairs without a path are missing.
"""

from __future__ import annotations

import argparse
import csv
import time
from typing import Any

import numpy as np

import nearfar
from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_graph, read_with_turns
from nearfar.cli.console import duration, emit, note
from nearfar.cli.flags import add_flags, call_of
from nearfar.cli.parser import flag
from nearfar.cli.places import add_snapping, add_tables, read_places, remarks
from nearfar.cli.queries.distances import kept_text
from nearfar.errors import OptionError
from nearfar.system.output import replacing
from nearfar.system.progress import Progress

NAME = "table"
CALLS = ("nearfar.table", "nearfar.nearest_places")
HELP = "distances between places, coordinates in two tables"
EXAMPLES = """\
nearfar table roads.nfp origins.csv destinations.csv -o table.parquet
nearfar table roads.nfp homes.csv clinics.csv --nearest 3 -o nearest.csv
nearfar table town.osm.pbf homes.csv homes.csv --limit 900 --id street"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.places.nearest import nearest_places
    from nearfar.solve.places.table import table

    add_graph(parser)
    add_tables(parser, table)
    texts = {
        "k": "only the K nearest (default: all)",
        "limit": "leave out pairs beyond this distance",
    }
    add_flags(parser, nearest_places, texts, flags={"k": "--nearest"}, help=texts)
    parser.set_defaults(k=None)
    text = ".csv, .npy, .zarr or .parquet; all but .csv resume"
    flag(parser, "-o --output FILE", text, dest="out")
    add_snapping(parser, table)
    add_flags(parser.add_argument_group("method"), table, ["method", "device", "threads"])


def run(args: argparse.Namespace) -> None:
    """Compute the table."""
    to_csv = args.out is not None and args.out.lower().endswith(".csv")
    nearest = args.k is not None
    if nearest and args.out and not to_csv:
        raise OptionError("with --nearest the output ends in .csv, or is left out")
    if to_csv:
        check_folder(args.out)
    elif args.out and not args.out.lower().endswith((".npy", ".zarr", ".parquet")):
        raise OptionError(f"output {args.out!r}: end it in .csv, .npy, .zarr or .parquet")
    graph, searched = read_with_turns(args)
    origins, _ = read_places(args, graph, args.origins, "origins")
    destinations, _ = read_places(args, graph, args.destinations, "destinations")
    call = call_of(args, graph, nearfar.nearest_places if nearest else nearfar.table)
    call |= {"origins": origins, "destinations": destinations}
    call["out"] = "numpy" if nearest or to_csv or args.out is None else args.out
    began = time.perf_counter()
    with remarks(args, graph), Progress("solving", enabled=not args.quiet) as progress:
        if nearest:
            near = nearfar.nearest_places(searched, **call, progress=progress)
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
            out = None if to_csv else args.out
            try:
                found = nearfar.table(searched, **call, progress=progress)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(kept_text(out)) from None
            heads = ["origin", *map(str, destinations.labels.tolist())]
            lines = [] if out else _rows(origins.labels, found)
    seconds = duration(time.perf_counter() - began)
    size = f"{len(origins.labels):,} x {len(destinations.labels):,}"
    note(args, f"{size} places in {seconds}")
    if args.out:
        if to_csv:
            write_csv(args.out, heads, lines)
        facts = {"output": args.out, "origins": len(origins.labels)}
        emit(args, facts, [f"{size} places in {args.out}"], summary=True)
        return
    if nearest:
        records = [dict(zip(heads, line, strict=True)) for line in lines]
        emit(args, records, ["\t".join(map(str, line)) for line in lines])
        return
    named = destinations.labels.tolist()
    shown = [[_cell(value, None) for value in row[1:]] for row in lines]
    facts = {"origins": origins.labels, "destinations": named, "distances": shown}
    emit(
        args,
        facts,
        (f"{row[0]}\t{name}\t{value}" for row in lines
         for name, value in zip(named, row[1:], strict=True)),
    )  # fmt: skip


def _rows(labels: Any, found: Any) -> list[list[Any]]:
    """Return the lines of the table with their names, with empty cells for pairs without a path."""
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
