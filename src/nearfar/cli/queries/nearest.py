"""Find the nearest of some places for every vertex, or the k nearest.

Prints a line per vertex: the vertex, then each place with its distance, nearest first, padded with
"-" and inf (null with --json).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import nearfar
from nearfar.cli.arguments import add_graph, at_least_one, read_graph, vertex_list
from nearfar.cli.console import duration, emit, note
from nearfar.cli.flags import add_flags, add_solver, call_of
from nearfar.cli.parser import flag
from nearfar.cli.queries.distances import plain_values

NAME = "nearest"
HELP = "the k nearest of some places for every vertex"
CALLS = ("nearfar.nearest",)
EXAMPLES = """\
nearfar nearest roads.gr.gz --source 17 99
nearfar nearest roads.nfp --source 17 99 250 -k 2 --vertex 4 8
nearfar nearest roads.gr.gz --source 17 99 --limit 9000 --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.nearest import nearest

    add_graph(parser)
    text = "the places, from which distances are measured"
    add_flags(parser, nearest, ["sources"], help={"sources": text})
    flag(parser, "-k K", "number of places per vertex (default: 1)", at_least_one, default=1)
    flag(parser, "--vertex VERTEX...", "print only these vertices")
    add_flags(parser, nearest, ["limit"])
    add_solver(parser, nearest)


def run(args: argparse.Namespace) -> None:
    """Find the places and print them."""
    graph, _ = read_graph(args)
    call = call_of(args, graph, nearfar.nearest)
    shown = vertex_list(args, graph, args.vertex)
    stats: dict[str, Any] = {}
    began = time.perf_counter()
    found = nearfar.nearest(graph, **call, stats=stats)
    seconds = time.perf_counter() - began
    at = np.arange(graph.n_vertices) if shown is None else graph.indices_of(shown)
    names = graph.name_of(at).tolist()
    sources, distances = plain_values((found.sources[at], found.distances[at]), graph)
    lines = []
    for name, near, far in zip(names, sources, distances, strict=True):
        cells = [cell for pair in zip(near, far, strict=True) for cell in pair]
        lines.append("\t".join("-" if cell is None else str(cell) for cell in [name, *cells]))
    facts = {
        "vertices": names,
        "sources": sources,
        "distances": distances,
        "reason": stats["reason"],
        "seconds": seconds,
    }
    emit(args, facts, lines)
    note(args, f"{len(names):,} vertices, {stats['reason']}, {duration(seconds)}")
