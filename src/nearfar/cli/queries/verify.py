"""Prove a saved distance table against its graph, in one pass over the edges.

The proof checks that the source is at distance 0, that no edge can still be relaxed, that reached
and unreached vertices agree across every edge, and that the predecessors form a tree of tight
edges. The table may come from any program.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from nearfar.cli.arguments import add_graph, number, read_graph, read_vertex
from nearfar.cli.console import duration, emit, rows
from nearfar.cli.parser import flag
from nearfar.cli.saved_answers import SavedAnswer, load_answer
from nearfar.errors import GraphFormatError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph

NAME = "verify"
HELP = "prove a saved distance table"
CALLS = ("nearfar.answer.certify",)
EXAMPLES = """\
nearfar verify roads.gr.gz distances.csv
nearfar verify roads.gr.gz near.csv --source 1 --limit 60000"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)
    parser.add_argument(
        "answer", metavar="ANSWER", help="table: .csv, .csv.gz, .parquet, .npz or .json"
    )
    flag(parser, "--source V", "source, if the table does not identify it")
    flag(parser, "--limit D", "the limit of the run (CSV does not carry it)", number)


def run(args: argparse.Namespace) -> None:
    """Load, prove and report."""
    from nearfar.answer.proof import certify

    graph, _ = read_graph(args)
    saved = load_answer(args.answer, graph)
    if args.source is not None:
        source = read_vertex(args, graph, args.source, "source")
    else:
        source = _source_of(args, saved, graph)
    limit = args.limit if args.limit is not None else saved.limit
    began = time.perf_counter()
    certify(graph, source, saved.distances, saved.predecessors, limit)
    reached = int((saved.distances != unreached_value(saved.distances.dtype)).sum())
    facts: dict[str, Any] = {
        "proved": True,
        "source": source,
        "limit": limit,
        "n_vertices": graph.n_vertices,
        "n_edges": graph.n_edges,
        "reached": reached,
        "predecessors": saved.predecessors is not None,
        "seconds": time.perf_counter() - began,
    }
    tree = "given" if saved.predecessors is not None else "found from tight edges"
    emit(
        args,
        facts,
        rows(
            [
                ("proof", f"passed in {duration(facts['seconds'])}"),
                ("source", facts["source"]),
                ("reached", f"{reached:,} of {graph.n_vertices:,} vertices"),
                ("tree", f"predecessors {tree}"),
            ]
        ),
    )


def _source_of(args: argparse.Namespace, saved: SavedAnswer, graph: Graph) -> Any:
    """Return the source of the table, or the only vertex that can be it."""
    if saved.source is not None:
        return read_vertex(args, graph, str(saved.source), "source")
    at_zero = saved.distances == 0
    if saved.predecessors is not None:
        at_zero &= saved.predecessors < 0
    found = np.flatnonzero(at_zero)
    if len(found) != 1:
        count = "no vertex is" if len(found) == 0 else f"{len(found):,} vertices are"
        raise GraphFormatError(
            f"cannot tell the source: {count} at distance 0 without predecessor; give --source",
            saved.path,
        )
    return graph.name_of(int(found[0]))
