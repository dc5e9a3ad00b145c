"""Find a cycle of negative total weight anywhere in a graph.

Weights that are -log of exchange rates make such a cycle an arbitrage. Exits with 5 if there is one
and with 0 if there is none. Floats count by the exact sum of the weights.
"""

from __future__ import annotations

import argparse

from nearfar.cli.arguments import add_graph, read_graph
from nearfar.cli.console import Exit, emit

NAME = "cycle"
HELP = "find a negative cycle"
CALLS = ("nearfar.find_negative_cycle",)
EXAMPLES = """\
nearfar cycle rates.csv
nearfar cycle constraints.gr --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)


def run(args: argparse.Namespace) -> int:
    """Search and print."""
    from nearfar.solve.negative_cycles import find_negative_cycle

    graph, _ = read_graph(args)
    found = find_negative_cycle(graph)
    if found is None:
        emit(args, {"cycle": None, "total": None}, ["no negative cycle"])
        return Exit.OK
    names = found.vertices
    text = " -> ".join(str(name) for name in [*names, names[0]])
    emit(args, {"cycle": names, "total": found.total}, [text, f"total {found.total}"])
    return Exit.NEGATIVE_CYCLE
