"""Measure this library and its peers on this machine, side by side, with every answer checked.

`peers` times one-source solves on the benchmark graphs and prints a table with ratios; -o also
writes all samples, the table and a picture. `graphs` lists the graphs. Peers that are not installed
are named and left out: pip install 'nearfar[peers]'.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar.cli.arguments import at_least_one, at_least_zero
from nearfar.cli.console import Exit, emit, note, rows
from nearfar.cli.parser import flag
from nearfar.errors import MissingDependencyError, OptionError, by_name
from nearfar.system.output import replacing
from nearfar.system.progress import Progress

if TYPE_CHECKING:
    from nearfar.lab.bench.peers import Peer
    from nearfar.lab.bench.result import Run

NAME = "bench"
HELP = "measure this library and its peers side by side"
EXAMPLES = """\
nearfar bench graphs
nearfar bench peers --graphs grid small --threads 1 2 -o results
nearfar bench peers --peers scipy --methods dijkstra_binary_heap --rounds 5
nearfar bench peers --shrink 100 --rounds 3"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    parser.add_argument("what", choices=["peers", "graphs"], help="task")
    flag(parser, "--graphs NAME...", "benchmark graphs (default: all available)")
    flag(parser, "--peers NAME", "peers to compare with (default: all)", nargs="*")
    flag(parser, "--methods METHOD...", "methods of this library (default: auto)", default=["auto"])
    flag(parser, "--threads N...", "workers (default: 1 2)", at_least_one, default=[1, 2])
    flag(parser, "--rounds N", "timed rounds (default: 7)", at_least_one, default=7)
    text = "sources per graph, taken in turn (default: 3)"
    flag(parser, "--sources N", text, at_least_one, default=3)
    text = "leave out a contender whose solve takes longer (default: 10)"
    flag(parser, "--patience SECONDS", text, at_least_zero, default=10.0)
    text = "generated graphs with 1/K of the vertices, for a quick try"
    flag(parser, "--shrink K", text, at_least_one, default=1)
    flag(parser, "-o --output DIR", "write peers.json, peers.md and peers.png to this folder", Path)


def run(args: argparse.Namespace) -> int:
    """List the graphs, or measure."""
    return _graphs(args) if args.what == "graphs" else _peers(args)


def _graphs(args: argparse.Namespace) -> int:
    from nearfar.lab.bench.suite import SUITE

    found = [
        {
            "name": graph.name,
            "summary": graph.summary,
            "available": graph.available() is True,
            "reason": "" if graph.available() is True else graph.available(),
        }
        for graph in SUITE.values()
    ]
    lines = rows(
        (str(g["name"]), g["summary"] if g["available"] else f"{g['summary']} [{g['reason']}]")
        for g in found
    )
    emit(args, found, lines)
    return Exit.OK


def _contenders(args: argparse.Namespace) -> list[Peer]:
    """Return the peers, SciPy first because ratios are relative to it, then nearfar's methods."""
    from nearfar.lab.bench.peers import PEERS, Nearfar, contenders
    from nearfar.registry import find

    names = list(PEERS) if args.peers is None else args.peers
    for name in names:
        by_name(PEERS, name, "peer")
    for method in args.methods:
        if method != "auto":
            find(method, "cpu")
    threads = list(dict.fromkeys(args.threads))
    own = [Nearfar(t, method) for method in args.methods for t in threads]
    return [*contenders(names, threads), *own]


def _chosen_graphs(args: argparse.Namespace) -> list[str]:
    from nearfar.lab.bench.suite import SUITE, named

    if args.graphs:
        for name in args.graphs:  # refuse a wrong name before the first measurement
            named(name)
        return list(dict.fromkeys(args.graphs))
    chosen = []
    for graph in SUITE.values():
        here = graph.available()
        if here is True:
            chosen.append(graph.name)
        else:
            note(args, f"{graph.name}: left out: {here}")
    return chosen


def _peers(args: argparse.Namespace) -> int:
    from nearfar.lab.bench.environment import environment
    from nearfar.lab.bench.measure import measure
    from nearfar.lab.bench.report import document, markdown, write_json
    from nearfar.lab.bench.suite import SUITE, draw_sources, load

    _contenders(args)  # refuse a wrong name before the first graph is built
    graphs = _chosen_graphs(args)
    if args.output is not None:
        if args.output.exists() and not args.output.is_dir():
            raise OptionError(f"-o {args.output} is a file: give a folder for the results")
        args.output.mkdir(parents=True, exist_ok=True)
    surroundings = environment()
    settings: dict[str, Any] = {
        "rounds": args.rounds,
        "sources": args.sources,
        "threads": args.threads,
        "methods": args.methods,
        "patience_seconds": args.patience,
        "shrink": args.shrink,
    }
    runs: list[Run] = []
    for name in graphs:
        note(args, f"{name}: making the graph, then {args.rounds} rounds")
        graph = load(name, args.shrink)
        sources = draw_sources(graph, args.sources, SUITE[name].source)
        summary = SUITE[name].summary
        if args.shrink > 1 and graph.attributes.get("source", "generated") == "generated":
            summary += f" (shrunk {args.shrink}-fold)"
        with Progress(f"{name}: measuring", enabled=not args.quiet) as progress:
            runs.append(
                measure(
                    graph,
                    _contenders(args),
                    sources,
                    rounds=args.rounds,
                    patience=args.patience,
                    name=name,
                    summary=summary,
                    progress=progress,
                )
            )
        del graph
        if args.output is not None:  # after every graph, since a run may be interrupted
            write_json(args.output / "peers.json", document(runs, surroundings, settings))
    report = markdown(runs, surroundings)
    if args.output is not None:
        with replacing(args.output / "peers.md") as place:
            place.write_text("\n".join(report) + "\n")
        _plot(args, runs)
    found = document(runs, surroundings, settings)
    emit(args, found, report, summary=args.output is not None)
    wrong = [
        f"{result.contender} on {run.graph}"
        for run in runs
        for result in run.results
        if result.answer == "wrong"
    ]
    if wrong:
        note(args, f"wrong answers: {', '.join(wrong)}")
    return Exit.FAILED_PROOF if wrong else Exit.OK


def _plot(args: argparse.Namespace, runs: list[Run]) -> None:
    from nearfar.lab.bench.report import plot

    if any(run.find("scipy") for run in runs):
        try:
            plot(runs, args.output / "peers.png")
        except MissingDependencyError as error:
            note(args, f"no plot: {error}")
