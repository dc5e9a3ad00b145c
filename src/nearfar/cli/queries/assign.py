"""Assign traffic to a TNTP network: the user equilibrium, by bi-conjugate Frank-Wolfe.

Prints a line per link with tab-separated columns: from, to, flow, time. Paths do not pass through
zones that the file closes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from nearfar.cli.arguments import at_least_one, at_least_zero
from nearfar.cli.console import emit, note
from nearfar.cli.flags import add_flags, call_of
from nearfar.cli.parser import flag
from nearfar.cli.queries.measure import demand_of
from nearfar.formats import read_flows, read_traffic
from nearfar.system.progress import Progress

NAME = "assign"
HELP = "user equilibrium of traffic on a TNTP network"
CALLS = ("nearfar.measures.assign",)
EXAMPLES = """\
nearfar assign SiouxFalls_net.tntp SiouxFalls_trips.tntp --gap 1e-4 --top 3
nearfar assign Chicago_net.tntp Chicago_trips.tntp --length-factor 0.04 --toll-factor 0.02"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the files, the stopping criteria, and the costs besides time."""
    from nearfar.measures import assign

    parser.add_argument("network", metavar="NETWORK", help="TNTP network, plain or compressed")
    parser.add_argument(
        "demand",
        metavar="DEMAND",
        help="TNTP trip table, or a table with columns source, target and demand, .csv or .parquet",
    )
    flag(parser, "--gap X", "relative gap to stop at", at_least_zero, default=1e-5)
    text = "maximum number of iterations (default: 1000)"
    add_flags(parser, assign, ["iterations"], help={"iterations": text})
    text = "weight of the length, in time per unit of length"
    flag(parser, "--length-factor X", text, at_least_zero, default=0.0)
    text = "weight of the toll, in time per unit of toll"
    flag(parser, "--toll-factor X", text, at_least_zero, default=0.0)
    flag(parser, "--start FILE", "TNTP flow file to start from")
    flag(parser, "--history", "print the gap of every iteration instead of the flows")
    add_flags(parser, assign, ["device", "threads"])
    flag(parser, "--top N", "print only the N largest flows, largest first", at_least_one)


def run(args: argparse.Namespace) -> None:
    """Read the files, assign the traffic and print the flows."""
    from nearfar.measures import assign

    trips = ".tntp" in Path(args.demand).suffixes
    town = read_traffic(args.network, args.demand if trips else None)
    with Progress("assigning", enabled=not args.quiet) as progress:
        call = call_of(args, town.graph, assign)
        call["demand"] = None if trips else demand_of(args, town.graph)
        if args.start is not None:
            call["start"] = read_flows(args.start, town.graph)[0]
        found = assign(town, **call, progress=progress)
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
