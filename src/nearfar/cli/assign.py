"""Assign traffic to a TNTP network: the user equilibrium, by bi-conjugate Frank-Wolfe.

One line per link goes to stdout, as tab-separated columns: from, to, flow, time; --top shows the
largest flows first. Zones that the file closes are closed to paths.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cli.arguments import at_least_one, at_least_zero, device_name
from nearfar.cli.console import Exit, Progress, emit, note
from nearfar.cli.tables import read_table, vertices_of

if TYPE_CHECKING:
    import argparse

    from nearfar.graph.graph import Graph

NAME = "assign"
HELP = "user equilibrium of traffic on a TNTP network"
EXAMPLES = """\
nearfar assign SiouxFalls_net.tntp SiouxFalls_trips.tntp --gap 1e-4 --top 3
nearfar assign Chicago_net.tntp Chicago_trips.tntp --length-factor 0.04 --toll-factor 0.02"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the files, when to stop, and the costs beside time."""
    parser.add_argument("network", metavar="NETWORK", help="TNTP network, plain or compressed")
    parser.add_argument(
        "demand",
        metavar="DEMAND",
        help="TNTP trip table, or a table with columns source, target and demand, .csv or .parquet",
    )
    parser.add_argument(
        "--gap", type=at_least_zero, default=1e-5, metavar="X", help="relative gap to stop at"
    )
    parser.add_argument(
        "--iterations", type=int, default=1000, metavar="N", help="at most (default: 1000)"
    )
    parser.add_argument(
        "--length-factor", type=at_least_zero, default=0.0, metavar="X", help="time per length"
    )
    parser.add_argument(
        "--toll-factor", type=at_least_zero, default=0.0, metavar="X", help="time per toll"
    )
    parser.add_argument("--start", metavar="FILE", help="TNTP flow file to begin with")
    parser.add_argument("--history", action="store_true", help="gap of every iteration instead")
    parser.add_argument(
        "--device",
        type=device_name,
        default="auto",
        choices=["auto", "cpu", "cuda"],
        help="where to search (default: auto, a GPU where it pays)",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="CPU workers (default: all cores)")
    parser.add_argument(
        "--top", type=at_least_one, metavar="N", help="only the N largest flows, largest first"
    )


def _demand(args: argparse.Namespace, graph: Graph) -> Any:
    """Sources, targets and amounts of a table."""
    rows = read_table(args.demand, ("source", "target", "demand"))
    ends = [
        vertices_of(args, graph, column, what)
        for column, what in zip(rows, ("source", "target"), strict=False)
    ]
    return *ends, rows[2]


def run(args: argparse.Namespace) -> int:
    """Read, assign, print."""
    from nearfar.formats import read_flows, read_traffic
    from nearfar.measures import assign

    trips = ".tntp" in Path(args.demand).suffixes
    town = read_traffic(args.network, args.demand if trips else None)
    with Progress("assigning", enabled=not args.quiet) as progress:
        found = assign(
            town,
            None if trips else _demand(args, town.graph),
            gap=args.gap,
            iterations=args.iterations,
            length_factor=args.length_factor,
            toll_factor=args.toll_factor,
            start=None if args.start is None else read_flows(args.start, town.graph)[0],
            device=args.device,
            threads=args.threads,
            progress=progress,
        )
    last = found.history[-1]
    note(
        args,
        f"relative gap {found.gap:.3g} after {len(found.history) - 1} iterations"
        f"{'' if found.converged else f', not {args.gap:g}'}, total cost {last.total_cost:.10g}",
    )
    lost = sum(found.unreached.values())
    if lost:
        note(args, f"demand of {lost} has no path")
    places = np.arange(len(found.flows))
    if args.top is not None:
        places = np.argsort(-found.flows, kind="stable")[: args.top]
    tails = town.graph.name_of(town.graph.tails(np.int64)[places]).tolist()
    heads = town.graph.name_of(town.graph.indices[places].astype(np.int64)).tolist()
    flows, times = found.flows[places].tolist(), found.times[places].tolist()
    lines = (
        (f"{k}\t{s.gap}\t{s.total_cost}\t{s.step}" for k, s in enumerate(found.history))
        if args.history
        else (f"{u}\t{v}\t{x}\t{t}" for u, v, x, t in zip(tails, heads, flows, times, strict=True))
    )
    data = {
        "gap": found.gap,
        "converged": found.converged,
        "total_cost": last.total_cost,
        "unreached": lost,
        "history": [step._asdict() for step in found.history],
        "edges": places,
        "tails": tails,
        "heads": heads,
        "flows": flows,
        "times": times,
    }
    emit(args, data, lines)
    return Exit.OK
