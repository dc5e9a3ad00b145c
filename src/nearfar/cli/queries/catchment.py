"""Score accessibility: how much of the supply at the destinations each origin reaches.

Without --demand a score is the supply within the limit, weighted by --decay; with --demand the
scores are those of two-step floating catchments. Origins and destinations are tables with columns
lon and lat, as for 'nearfar table'. Prints a line per origin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.cli.arguments import add_graph, decay_of, number, read_graph
from nearfar.cli.console import Exit, Progress, emit
from nearfar.cli.places import add_snapping, read_places, remarks, snapping
from nearfar.cli.queries.table import write_csv
from nearfar.errors import OptionError

if TYPE_CHECKING:
    import argparse

NAME = "catchment"
CALLS = ("nearfar.accessibility",)
HELP = "accessibility of places, two-step catchments"
EXAMPLES = """\
nearfar catchment roads.nfp homes.csv clinics.csv --limit 900
nearfar catchment roads.nfp homes.csv clinics.csv --supply beds --demand people --limit 900
nearfar catchment roads.nfp homes.csv jobs.csv --supply jobs --decay exponential:600 -o jobs.csv"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)
    parser.add_argument("origins", metavar="ORIGINS", help="table of places, .csv or .parquet")
    parser.add_argument("destinations", metavar="DESTINATIONS", help="likewise")
    parser.add_argument("--id", metavar="COLUMN", help="column that names the places in both")
    parser.add_argument(
        "--supply", metavar="COLUMN", help="of the destinations (default: each counts 1)"
    )
    parser.add_argument("--demand", metavar="COLUMN", help="of the origins: two-step catchments")
    parser.add_argument("--limit", type=number, metavar="D", help="greatest distance that counts")
    parser.add_argument(
        "--decay",
        metavar="KIND",
        help="linear, exponential or gaussian, with a scale: gaussian:600",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the scores; .csv")
    add_snapping(parser)
    parser.add_argument("--threads", type=int, metavar="N", help="CPU workers (default: all cores)")


def run(args: argparse.Namespace) -> int:
    """Compute and print the scores."""
    import nearfar

    if args.output is not None and not args.output.lower().endswith(".csv"):
        raise OptionError(f"output {args.output!r}: end it in .csv")
    graph, _ = read_graph(args)
    origins, demand = read_places(args, graph, args.origins, "origins", args.demand)
    destinations, supply = read_places(args, graph, args.destinations, "destinations", args.supply)
    with remarks(args, graph), Progress("solving", enabled=not args.quiet) as progress:
        found = nearfar.accessibility(
            graph,
            origins,
            destinations,
            supply,
            demand=demand,
            limit=args.limit,
            decay=decay_of(args.decay),
            threads=args.threads,
            progress=progress,
            **snapping(args),
        )
    names, scores = origins.labels.tolist(), found.tolist()
    if args.output is not None:
        lines = [list(line) for line in zip(names, scores, strict=True)]
        write_csv(args.output, ["origin", "accessibility"], lines)
        text = f"{len(names):,} scores in {args.output}"
        emit(args, {"output": args.output, "origins": len(names)}, [text], summary=True)
        return Exit.OK
    facts = {"origins": names, "accessibility": scores}
    emit(args, facts, (f"{name}\t{score}" for name, score in zip(names, scores, strict=True)))
    return Exit.OK
