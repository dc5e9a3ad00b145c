"""Prepare a graph for many queries and write it to a file that the other commands read as a graph.

Takes seconds once; queries on the file then take microseconds. Pays for roads, grids, meshes and
most planar or geometric graphs; others are refused with the figures. A prepared file gets other
weights by --reweight, in milliseconds.
"""

from __future__ import annotations

import dataclasses
import os
import time
from typing import TYPE_CHECKING

from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_graph, byte_count, device_name, read_graph, with_turns
from nearfar.cli.console import Exit, duration, emit, rows
from nearfar.cli.parser import in_flags
from nearfar.cli.tables import read_numbers
from nearfar.errors import GraphError, OptionError, OutOfMemoryError

if TYPE_CHECKING:
    import argparse

    from nearfar.graph.graph import Graph
    from nearfar.graph.turns import TurnGraph
    from nearfar.prepared.prepared import Prepared
    from nearfar.prepared.turns import PreparedTurns

NAME = "prepare"
HELP = "prepare a graph for many queries"
EXAMPLES = """\
nearfar prepare roads.gr.gz -o roads.nfp
nearfar prepare roads.gr.gz --dry-run
nearfar prepare town.osm.pbf --turns -o town-turns.nfp
nearfar prepare roads.gr.gz -o roads.nfp --order levels
nearfar prepare roads.nfp --reweight evening.npy -o evening.nfp"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)
    parser.set_defaults(parser=parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write; ends in .nfp")
    parser.add_argument(
        "--order",
        default="auto",
        choices=["auto", "metis", "inertial", "levels"],
        help="how to find the elimination order (default: the best that is here)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the order")
    parser.add_argument(
        "--reweight",
        metavar="FILE",
        help="other weights for a prepared GRAPH: a number per edge in the graph's order, .npy or "
        "text with one per line",
    )
    parser.add_argument(
        "--turns", action="store_true", help="obey the turn restrictions of an OpenStreetMap file"
    )
    parser.add_argument(
        "--keep-all",
        action="store_true",
        help="keep arcs that no shortest path needs: prepares faster, answers slower",
    )
    parser.add_argument(
        "--force", action="store_true", help="prepare even where searches will be faster"
    )
    parser.add_argument(
        "--memory",
        type=byte_count,
        metavar="N",
        help="memory that it may take, such as 500M or 4G",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="CPU workers (default: all cores)")
    parser.add_argument(
        "--device",
        default="cpu",
        type=device_name,
        choices=["cpu", "cuda"],
        help="where to find the weights of shortcuts (default: cpu)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only say what preparing would take, and whether it would be refused",
    )


def run(args: argparse.Namespace) -> int:
    """Prepare, write, report."""
    from nearfar.prepared.order.tree import check_worth
    from nearfar.prepared.prepare import foreseen
    from nearfar.prepared.turns import PreparedTurns

    if not args.dry_run and args.output is None:
        raise OptionError("prepare needs -o FILE.nfp, or --dry-run")
    if args.dry_run and args.output is not None:
        raise OptionError("--dry-run writes nothing: leave out -o")
    if args.reweight is not None:
        _refuse_with_reweight(args)
    if args.output is not None:
        if not args.output.endswith(".nfp"):
            raise OptionError(f"-o {args.output}: the name of a prepared graph's file ends in .nfp")
        check_folder(args.output)
    graph, read_seconds = read_graph(args)
    given = with_turns(args, graph) if args.turns else graph
    refused = None
    if args.dry_run:
        began = time.perf_counter()
        figures = foreseen(given, args.order, seed=args.seed, perfect=not args.keep_all)
        seconds = {"order and analysis": time.perf_counter() - began}
        try:
            check_worth(figures, args.memory, args.force)
        except (GraphError, OutOfMemoryError) as error:
            refused = in_flags(str(error), args.parser)
    else:
        prepared = _prepared(args, given) if args.reweight is None else _reweighted(args, graph)
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
    return Exit.OK


def _prepared(args: argparse.Namespace, graph: Graph | TurnGraph) -> Prepared | PreparedTurns:
    import nearfar

    return nearfar.prepare(
        graph,
        args.order,
        seed=args.seed,
        perfect=not args.keep_all,
        force=args.force,
        memory=args.memory,
        threads=args.threads,
        device=args.device,
    )


def _refuse_with_reweight(args: argparse.Namespace) -> None:
    """Refuse what only preparing goes by."""
    given = {
        "--dry-run": args.dry_run,
        "--turns": args.turns,
        "--order": args.order != "auto",
        "--seed": args.seed != 0,
        "--force": args.force,
        "--memory": args.memory is not None,
    }
    for flag, used in given.items():
        if used:
            raise OptionError(f"--reweight keeps the order and its shortcuts: leave out {flag}")


def _reweighted(args: argparse.Namespace, graph: Graph) -> Prepared:
    """The prepared graph with the weights of the file that --reweight names."""
    from nearfar.prepared.prepared import Prepared
    from nearfar.system.devices import runtime

    if not isinstance(graph, Prepared):
        raise OptionError(f"--reweight is for a prepared graph: {args.graph} is none, prepare it")
    weights = read_numbers(args.reweight)
    if args.device == "cuda":
        weights = runtime.upload(weights)
    return graph.reweight(weights, args.threads, perfect=not args.keep_all)
