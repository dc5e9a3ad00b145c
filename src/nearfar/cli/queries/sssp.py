"""Compute exact shortest distances from one source.

Without -o the command prints a summary. With -o it also writes a table with one row per vertex:
.csv, .csv.gz, .parquet, .npz or .json; '-o -' prints CSV.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nearfar
from nearfar.cli import answers
from nearfar.cli.arguments import add_graph, load_methods, read_graph
from nearfar.cli.console import duration, emit, rows
from nearfar.cli.explanation import add_explain, check_explain, show_explanation
from nearfar.cli.flags import add_flags, add_solver, call_of
from nearfar.cli.parser import flag
from nearfar.errors import OptionError
from nearfar.graph.graph import Graph
from nearfar.system.progress import Progress

if TYPE_CHECKING:
    from nearfar.answer.paths import Paths

NAME = "sssp"
HELP = "distances from one source"
CALLS = ("nearfar.sssp", "nearfar.explain")
EXAMPLES = """\
nearfar sssp roads.gr.gz 1
nearfar sssp roads.gr.gz 1 --predecessors --prove -o distances.parquet
nearfar sssp roads.gr.gz 1 --limit 60000 -o near.csv
nearfar sssp roads.gr.gz 1 --target 17 42
nearfar sssp roads.gr.gz 1 --method near_far --option delta=500 --threads 2
nearfar sssp roads.gr.gz 1 --method near_far --profile run.json
nearfar sssp roads.gr.gz 1 --method near_far_host_loop@cuda --kernels
nearfar sssp roads.gr.gz 1 --method near_far_partitioned@cuda --devices 0,1
nearfar sssp roads.gr.gz 1 --explain"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.one import sssp

    add_graph(parser)
    texts = {"targets": "stop once these vertices have their distance"}
    texts["predecessors"] = "find predecessors too"
    add_flags(parser, sssp, ["source", "limit", *texts], help=texts)
    # name in version 0.1
    parser.add_argument("--targets", nargs="+", dest="targets", help=argparse.SUPPRESS)
    flag(parser, "--prove", "prove the answer (exit 6 if it fails)")
    flag(parser, "-o --output FILE", "write the distance table")
    text = "print the run's counters; 'full' adds one entry per iteration if supported"
    flag(parser, "--stats", text, dest="counters", choices=["basic", "full"])
    text = "record the run iteration by iteration as JSON, for `nearfar plot`"
    flag(parser, "--profile FILE", text)
    text = "solve once more and print the device time of each kernel; GPU methods"
    flag(parser, "--kernels", text)
    add_explain(parser)
    add_solver(parser, sssp)
    flag(
        parser,
        "--devices LIST",
        "CUDA devices that share the graph, by a method that takes several: all, or their "
        "numbers, such as 0,1",
    )


def run(args: argparse.Namespace) -> None:
    """Solve, prove, save and summarise."""
    answers.check_output(args.output)
    if args.profile is not None:
        answers.check_folder(args.profile)
    if args.explain:
        check_explain(args)
    graph, read_seconds = read_graph(args)
    if args.explain:
        show_explanation(args, graph)
        return
    call = call_of(args, graph, nearfar.sssp)
    targets = call["targets"]
    if args.json and args.output == "-":
        raise OptionError("--json and -o - both write to stdout: give -o a file name")
    load_methods()
    began = time.perf_counter()
    trace = bool(args.profile) or args.counters == "full"
    paths = nearfar.sssp(graph, **call, trace=trace)
    seconds = time.perf_counter() - began
    facts = {**summary(paths), "seconds": seconds, "read_seconds": read_seconds}
    if targets is not None:
        facts["targets"] = {str(t): paths.distance_to(t) for t in targets}
    if args.prove:
        began = time.perf_counter()
        nearfar.verify(graph, paths)
        facts["proved"], facts["proof_seconds"] = True, time.perf_counter() - began
    if args.output is not None:
        with Progress(f"writing {args.output}", enabled=not args.quiet) as progress:
            answers.save_answer(
                args.output, paths, predecessors=args.predecessors, progress=progress
            )
        facts["output"] = args.output
    if args.counters:
        facts["stats"] = paths.stats
    if args.profile:
        from nearfar.lab.profile import profile, write_profile

        write_profile(profile(graph, paths), Path(args.profile))
        facts["profile"] = args.profile
    if args.kernels:
        facts["kernels"] = kernels(graph, paths.engine, {**call, "predecessors": False})
    if args.output == "-":
        if not args.quiet:
            print("\n".join(report(facts)), file=sys.stderr)
        return
    if args.quiet and targets is not None:  # these lines are the data
        emit(args, facts, [f"{target}\t{d}" for target, d in facts["targets"].items()])
    else:
        emit(args, facts, report(facts), summary=True)


def kernels(graph: Graph, engine: str, call: dict[str, Any]) -> dict[str, Any]:
    """Run once more and return launches and device seconds of each kernel."""
    if not engine.endswith("@cuda"):
        raise OptionError(f"--kernels: {engine} ran, which launches no kernels: give --device cuda")
    from nearfar.cuda.kernel_times import kernel_times

    with kernel_times() as times:
        nearfar.sssp(graph, **call)
    return {
        name: {"launches": one.launches, "seconds": one.seconds}
        for name, one in times.found.items()
    }


def summary(paths: Paths) -> dict[str, Any]:
    """Return a summary of an answer as plain data."""
    graph = paths.graph
    farthest = paths.farthest
    return {
        "n_vertices": graph.n_vertices,
        "n_edges": graph.n_edges,
        "weights": str(graph.weights.dtype) if graph.weights is not None else None,
        "unit": graph.attributes.get("unit"),
        "source": paths.source,
        "reached": paths.n_reached,
        "farthest": farthest,
        "farthest_distance": paths.distance_to(farthest),
        "dtype": str(paths.distances.dtype),
        "limit": paths.limit,
        "engine": paths.engine,
        "reason": paths.reason,
    }


def distance_text(value: Any, unit: str | None) -> str:
    """Return a distance as text; integers in full."""
    if value == float("inf"):
        return "not reached"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return f"{shown} {unit}" if unit else shown


def report(facts: dict[str, Any]) -> list[str]:
    """Return the lines of the summary as text."""
    unit = facts["unit"]
    kind = f"{facts['weights']} weights" if facts["weights"] else "no weights: every edge counts 1"
    pairs: list[tuple[str, object]] = [
        ("graph", f"{facts['n_vertices']:,} vertices, {facts['n_edges']:,} edges, {kind}"),
        ("source", facts["source"]),
        ("reached", f"{facts['reached']:,} vertices"),
        ("farthest", f"{facts['farthest']} at {distance_text(facts['farthest_distance'], unit)}"),
    ]
    if facts["limit"] is not None:
        pairs.append(("limit", distance_text(facts["limit"], unit)))
    for target, distance in facts.get("targets", {}).items():
        pairs.append((f"to {target}", distance_text(distance, unit)))
    pairs += [
        ("time", f"{duration(facts['seconds'])} (reading {duration(facts['read_seconds'])})"),
        ("method", f"{facts['engine']} ({facts['reason']})"),
    ]
    if facts.get("proved"):
        pairs.append(("proof", f"passed in {duration(facts['proof_seconds'])}"))
    if "output" in facts and facts["output"] != "-":
        pairs.append(("table", facts["output"]))
    if "profile" in facts:
        pairs.append(("profile", facts["profile"]))
    for name, one in facts.get("kernels", {}).items():
        pairs.append((f"kernel {name}", f"{duration(one['seconds'])} in {one['launches']:,}"))
    lines = rows(pairs)
    for name, value in facts.get("stats", {}).items():
        lines.append(f"  {name} = {_short(value)}")
    return lines


def _short(value: Any) -> str:
    shape = getattr(value, "shape", ())
    if shape:
        head = ", ".join(f"{item:.4g}" for item in value.ravel()[:6].tolist())
        return f"[{head}{', ...' if value.size > 6 else ''}] ({value.size:,} entries)"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
