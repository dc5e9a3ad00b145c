"""Prepare a graph for many queries and write it to a file that the other commands read as a graph.

Preparing takes seconds once; queries then take microseconds. Preparing pays off for roads, grids,
meshes and most planar graphs; others are refused with the figures.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from typing import TYPE_CHECKING

import nearfar
from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_graph, read_graph, with_turns
from nearfar.cli.console import duration, emit, rows
from nearfar.cli.flags import add_flags, call_of, refuse_others
from nearfar.cli.parser import flag
from nearfar.cli.tables import read_numbers
from nearfar.errors import GraphError, OptionError, OutOfMemoryError
from nearfar.graph.graph import Graph
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared
    from nearfar.prepared.turns import PreparedTurns

NAME = "prepare"
HELP = "prepare a graph for many queries"
CALLS = ("nearfar.prepare",)
EXAMPLES = """\
nearfar prepare roads.gr.gz -o roads.nfp
nearfar prepare roads.gr.gz --dry-run
nearfar prepare town.osm.pbf --turns -o town-turns.nfp
nearfar prepare roads.nfp --reweight evening.npy -o evening.nfp"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.prepared.prepare import prepare

    add_graph(parser)
    flag(parser, "-o --output FILE", "file to write; ends in .nfp")
    flag(
        parser,
        "--reweight FILE",
        "other weights for a prepared GRAPH: one number per edge in the graph's order, .npy or "
        "text with one per line",
    )
    flag(parser, "--turns", "obey the turn restrictions of an OpenStreetMap file")
    add_flags(
        parser,
        prepare,
        ["seed", "perfect", "force", "memory", "threads", "device"],
        flags={"perfect": "--keep-all"},
        help={
            "seed": "seed of the order",
            "perfect": "keep arcs that no shortest path needs: faster to prepare, slower to query",
            "force": "prepare even if searches will be faster",
            "memory": "memory limit, such as 500M or 4G",
            "device": "device that computes the weights of shortcuts (default: cpu)",
        },
    )
    flag(parser, "--dry-run", "only report the cost of preparing, and whether it would be refused")


def run(args: argparse.Namespace) -> None:
    """Prepare, write and report."""
    from nearfar.prepared.order.tree import check_worth
    from nearfar.prepared.prepare import foreseen
    from nearfar.prepared.turns import PreparedTurns

    if not args.dry_run and args.output is None:
        raise OptionError("prepare needs -o FILE.nfp, or --dry-run")
    if args.dry_run and args.output is not None:
        raise OptionError("--dry-run writes nothing: leave out -o")
    if args.reweight is not None:
        kept = "--reweight keeps the order and its shortcuts: leave out {flag}"
        refuse_others(args, ("reweight", "output", "threads", "perfect", "device"), kept)
    if args.output is not None:
        if not args.output.endswith(".nfp"):
            raise OptionError(f"-o {args.output}: the name of a prepared graph's file ends in .nfp")
        check_folder(args.output)
    graph, read_seconds = read_graph(args)
    given = with_turns(args, graph) if args.turns else graph
    refused = None
    if args.dry_run:
        began = time.perf_counter()
        figures = foreseen(given, seed=args.seed, perfect=args.perfect)
        seconds = {"order and analysis": time.perf_counter() - began}
        try:
            check_worth(figures, args.memory, args.force)
        except (GraphError, OutOfMemoryError) as error:
            refused = error.worded(args.parser.word)
    else:
        prepared: Prepared | PreparedTurns
        if args.reweight is None:
            prepared = nearfar.prepare(given, **call_of(args, graph, nearfar.prepare))
        else:
            prepared = _reweighted(args, graph)
        asked = prepared.graph if isinstance(prepared, PreparedTurns) else prepared
        figures, seconds = asked.preparation.figures, dict(asked.seconds)
        began = time.perf_counter()
        prepared.save(args.output)
        seconds["writing"] = time.perf_counter() - began
    facts = {
        **dataclasses.asdict(figures),
        "shortcuts": figures.n_shortcuts,
        "worth_preparing": figures.worth,
        "refused": refused,
        "read_seconds": read_seconds,
        "seconds": seconds,
        "output": args.output,
    }
    lines: list[tuple[str, object]] = [
        ("vertices", f"{figures.n_vertices:,}"),
        ("edges", f"{figures.n_edges:,} (each once)"),
        ("shortcuts", f"{figures.n_shortcuts:,}"),
        ("triangles", f"{figures.n_triangles:,}"),
        ("tree height", f"{figures.height:,}"),
        ("memory", f"{figures.nbytes / 2**20:,.1f} MiB at most"),
        ("worth it", "yes" if figures.worth else "no: there are no small separators"),
    ]
    lines += [(name, duration(value)) for name, value in seconds.items()]
    if refused is not None:
        lines.append(("refused", refused))
    if not args.dry_run:
        size = os.path.getsize(args.output) / 2**20
        lines.append(("written", f"{args.output} ({size:,.1f} MiB)"))
    emit(args, facts, rows(lines), summary=args.output is not None)


def _reweighted(args: argparse.Namespace, graph: Graph) -> Prepared:
    """Return the prepared graph with the weights of the file that --reweight names."""
    from nearfar.prepared.prepared import Prepared

    if not isinstance(graph, Prepared):
        raise OptionError(f"--reweight is for a prepared graph: prepare {args.graph} first")
    weights = read_numbers(args.reweight)
    if args.device == "cuda":
        weights = runtime.upload(weights)
    return graph.reweight(weights, args.threads, perfect=args.perfect)
