"""Compute what follows from shortest paths: centralities, path counts, loads of edges, skims.

Values per vertex or edge go to stdout, one per line, as tab-separated columns; --top shows the
largest first. Weights are used where the file has them; --weight none counts edges.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nearfar.cli.arguments import add_graph, read_graph
from nearfar.cli.console import Exit, add_output, epilog
from nearfar.cli.measure_kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "measure"
HELP = "centralities, path counts, edge loads, skims"
EXAMPLES = """\
nearfar measure betweenness roads.gr.gz --samples 256 --seed 1 --top 10
nearfar measure betweenness graph.csv --weight none --edges"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add one sub-command per measure."""
    kinds = parser.add_subparsers(
        dest="measure", metavar="MEASURE", title="measures", required=True
    )
    for name, kind in sorted(KINDS.items()):
        child = kinds.add_parser(
            name,
            help=kind.summary,
            description=kind.summary,
            epilog=epilog(kind.example),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add_graph(child)
        kind.configure(child)
        child.add_argument(
            "--threads", type=int, metavar="N", help="CPU workers (default: all cores)"
        )
        add_output(child, nested=True)


def run(args: argparse.Namespace) -> int:
    """Read, measure, print."""
    graph, _ = read_graph(args)
    compute: Callable[..., None] = KINDS[args.measure].run
    compute(args, graph)
    return Exit.OK
