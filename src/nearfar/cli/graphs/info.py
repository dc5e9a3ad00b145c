"""Describe a graph by the figures that determine the choice of a method.

Shows size, degrees, weights, components, the reach of a source, a lower bound on the diameter, and
the method that 'auto' would choose.
"""

from __future__ import annotations

import argparse
from typing import Any

from nearfar.cli.arguments import add_graph, read_graph, read_vertex
from nearfar.cli.console import duration, emit, rows
from nearfar.cli.parser import flag
from nearfar.graph.graph import Graph
from nearfar.system.threads import default_threads

NAME = "info"
HELP = "describe a graph"
CALLS = ("nearfar.measures.describe",)
EXAMPLES = """\
nearfar info roads.gr.gz
nearfar info roads.gr.gz --source 17
nearfar info wiki-Vote.txt --read-option directed=false --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)
    flag(parser, "--source V", "vertex to start from (default: drawn from the largest part)")


def run(args: argparse.Namespace) -> None:
    """Measure and print."""
    from nearfar.prepared.prepared import Prepared

    graph, seconds = read_graph(args)
    source = None if args.source is None else read_vertex(args, graph, args.source, "source")
    facts, lines = describe(graph, source)
    facts["read_seconds"] = seconds
    facts["attributes"] = dict(graph.attributes)
    form = graph.attributes.get("format", "unknown")
    origin = [("format", f"prepared, made from {form}" if isinstance(graph, Prepared) else form)]
    origin.append(("read in", duration(seconds)))
    if "attribution" in graph.attributes:
        origin.append(("attribution", graph.attributes["attribution"]))
    emit(args, facts, rows([*origin, *lines]))


def describe(graph: Graph, source: Any = None) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the figures of a graph as plain data, and as labels and values to print."""
    from nearfar.measures import describe as measure
    from nearfar.registry import Request
    from nearfar.solve.steps.plan import select

    found = measure(graph, source)
    facts: dict[str, Any] = found.to_dict()
    lines = found.rows()
    if graph.n_vertices:
        start = 0 if found.reach is None else graph.index_of(found.reach.source)
        request = Request(sources=(start,), threads=default_threads())
        method, reason = select(graph, request, "auto")
        facts["auto"] = {"method": method.id, "reason": reason}
        lines.append(("method", f"{method.id} ({reason})"))
    return facts, lines
