"""Find the k shortest paths between two vertices that visit no vertex twice.

Prints one path per line, shortest first: its length, its number of edges, and its vertices. Uses
Yen's method; weights may have either sign.
"""

from __future__ import annotations

import argparse
import time

from nearfar.cli.arguments import add_graph, at_least_one, read_graph
from nearfar.cli.console import duration, emit, note
from nearfar.cli.flags import add_flags, call_of
from nearfar.cli.parser import flag
from nearfar.cli.queries.sssp import distance_text
from nearfar.errors import not_reached

NAME = "paths"
HELP = "the k shortest paths"
CALLS = ("nearfar.k_shortest_paths",)
EXAMPLES = """\
nearfar paths roads.gr.gz 1 42
nearfar paths roads.gr.gz 1 42 -k 10 --json
nearfar paths town.osm.pbf 25291537 25291564 -k 5 --read-option mode=walk"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.k_shortest import k_shortest_paths

    add_graph(parser)
    texts = {"limit": "leave out paths longer than D"}
    add_flags(parser, k_shortest_paths, ["source", "target", "limit"], help=texts)
    flag(parser, "-k K", "maximum number of paths (default: 3)", at_least_one, default=3)


def run(args: argparse.Namespace) -> None:
    """Find the paths and print them."""
    from nearfar.solve.k_shortest import k_shortest_paths

    graph, _ = read_graph(args)
    call = call_of(args, graph, k_shortest_paths)
    source, target = call["source"], call["target"]
    began = time.perf_counter()
    found = k_shortest_paths(graph, **call)
    seconds = time.perf_counter() - began
    if not found:
        raise not_reached(source, target, args.limit)
    unit = graph.attributes.get("unit")
    facts = {
        "source": source,
        "target": target,
        "k": args.k,
        "unit": unit,
        "paths": [{"length": length, "vertices": path} for path, length in found],
        "seconds": seconds,
    }
    lines = [f"{length}\t{len(path) - 1}\t{' '.join(map(str, path))}" for path, length in found]
    emit(args, facts, lines)
    shortest, longest = (distance_text(found[at][1], unit) for at in (0, -1))
    count = f"{len(found)} path{'s' * (len(found) > 1)}"
    all_of_them = "" if len(found) == args.k else f": there are only {len(found)}"
    note(args, f"{count}, {shortest} to {longest}, {duration(seconds)}{all_of_them}")
