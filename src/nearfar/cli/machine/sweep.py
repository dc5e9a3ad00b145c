"""Try many bucket widths with a bucketed method.

Solves with multiples of the paper's delta (32 times the mean weight over the mean degree) and
reports work, vertices per iteration, and time: Figure 7 of Davidson et al. (2014).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_graph, number, read_graph, read_vertex
from nearfar.cli.console import duration, emit
from nearfar.cli.parser import flag
from nearfar.errors import OptionError

NAME = "sweep"
CALLS = ("nearfar.lab.profile.delta_sweep",)
HELP = "work and parallelism of a method over delta"
EXAMPLES = """\
nearfar sweep roads.gr.gz 1
nearfar sweep roads.gr.gz 1 --method near_far_host_loop@cuda -o sweep.json
nearfar sweep roads.gr.gz 1 --factors 0.5 1 2"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)
    parser.add_argument("source", metavar="SOURCE", help="vertex name or number, or LAT,LON")
    text = "a method with the option delta (default: the near set and far pile on one core)"
    flag(parser, "--method NAME", text)
    flag(parser, "--factors F...", "multiples of the paper's delta", number)
    flag(parser, "-o --output FILE", "write as JSON", Path)


def run(args: argparse.Namespace) -> None:
    """Sweep, print the table and write it."""
    from nearfar.lab.profile import delta_sweep, write_profile

    if args.output is not None:
        check_folder(str(args.output))

    graph, _ = read_graph(args)
    source = read_vertex(args, graph, args.source, "source")
    for factor in args.factors or ():
        if not 0 < factor < float("inf"):
            raise OptionError(f"--factors {factor}: give numbers greater than 0")
    given = {"factors": args.factors, "method": args.method}
    chosen = {name: value for name, value in given.items() if value}
    found = delta_sweep(graph, source, **chosen)
    if args.output is not None:
        write_profile(found, args.output)
    lines = [f"{'delta':>12} {'work':>8} {'parallelism':>12} {'iterations':>10} {'time':>10}"]
    for row in found["rows"]:
        mark = "  paper's delta" if row["factor"] == 1 else ""
        lines.append(
            f"{row['delta']:12,.6g} {row['work']:8.3f} {row['average_parallelism']:12,.1f} "
            f"{row['iterations']:10,} {duration(row['seconds']):>10}{mark}"
        )
    emit(args, found, lines, summary=args.output is not None)
