"""Score accessibility: how much of the supply at the destinations each origin reaches.

Without --demand a score is the supply within the limit, weighted by --decay; with --demand the
scores are those of two-step floating catchments. Origins and destinations are tables with columns
lon and lat, as for 'nearfar table'. Prints a line per origin.
"""

from __future__ import annotations

import argparse

import nearfar
from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_graph, read_with_turns
from nearfar.cli.console import emit
from nearfar.cli.flags import add_flags, call_of
from nearfar.cli.parser import flag
from nearfar.cli.places import add_snapping, add_tables, read_places, remarks
from nearfar.cli.queries.table import write_csv
from nearfar.errors import OptionError
from nearfar.system.progress import Progress

NAME = "catchment"
CALLS = ("nearfar.accessibility",)
HELP = "accessibility of places, two-step catchments"
EXAMPLES = """\
nearfar catchment roads.nfp homes.csv clinics.csv --limit 900
nearfar catchment roads.nfp homes.csv clinics.csv --supply beds --demand people --limit 900
nearfar catchment roads.nfp homes.csv jobs.csv --supply jobs --decay exponential:600 -o jobs.csv"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.measures.accessibility import accessibility

    add_graph(parser)
    add_tables(parser, accessibility)
    texts = {
        "supply": "column of the destinations with their supply (default: 1 each)",
        "demand": "column of the origins with their demand, for two-step catchments",
        "limit": "targets beyond this distance do not count",
    }
    add_flags(parser, accessibility, [*texts, "decay"], help=texts)
    flag(parser, "-o --output FILE", "write the scores; .csv")
    add_snapping(parser, accessibility)
    add_flags(parser, accessibility, ["method", "device", "threads"])


def run(args: argparse.Namespace) -> None:
    """Compute and print the scores."""
    if args.output is not None and not args.output.lower().endswith(".csv"):
        raise OptionError(f"output {args.output!r}: end it in .csv")
    if args.output is not None:
        check_folder(args.output)
    graph, searched = read_with_turns(args)
    origins, demand = read_places(args, graph, args.origins, "origins", args.demand)
    destinations, supply = read_places(args, graph, args.destinations, "destinations", args.supply)
    call = call_of(args, graph, nearfar.accessibility) | {"supply": supply, "demand": demand}
    call |= {"origins": origins, "destinations": destinations}
    with remarks(args, graph), Progress("solving", enabled=not args.quiet) as progress:
        found = nearfar.accessibility(searched, **call, progress=progress)
    names, scores = origins.labels.tolist(), found.tolist()
    if args.output is not None:
        lines = [list(line) for line in zip(names, scores, strict=True)]
        write_csv(args.output, ["origin", "accessibility"], lines)
        text = f"{len(names):,} scores in {args.output}"
        emit(args, {"output": args.output, "origins": len(names)}, [text], summary=True)
        return
    facts = {"origins": names, "accessibility": scores}
    emit(args, facts, (f"{name}\t{score}" for name, score in zip(names, scores, strict=True)))
