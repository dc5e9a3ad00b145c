"""Measure this machine for the automatic choice, or launch shapes for a graph.

Without a graph: solve generated graphs with the competitive methods and store their speeds in
machine.json of the cache folder. With a graph: measure launch shapes of the three-kernel methods on
this GPU; later runs on graphs of the same class (size, degree and weight type) use the best.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from nearfar.cli.arguments import add_device, add_graph, at_least_one, read_graph
from nearfar.cli.console import duration, emit, rows
from nearfar.cli.parser import flag
from nearfar.errors import OptionError
from nearfar.system.devices import runtime
from nearfar.system.progress import Progress

if TYPE_CHECKING:
    from nearfar.choose.machine import Machine
    from nearfar.cuda.tune import TuneResult

NAME = "tune"
HELP = "measure this machine for `auto`, or launch shapes"
CALLS = ("nearfar.choose.calibrate.calibrate", "nearfar.cuda.tune.tune")
EXAMPLES = """\
nearfar tune
nearfar tune --show
nearfar tune --reset
nearfar tune roads.gr.gz
nearfar tune graph.npz --method frontier_successors --rounds 9
nearfar tune graph.npz --no-store --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.cuda.tune import tunable, usual

    add_graph(parser, optional=True)
    text = "without a graph: device to measure (default: auto, every device of this machine)"
    add_device(parser, text, "auto", "cpu", "cuda")
    flag(parser, "--show", "print this machine's measurements, measure nothing")
    flag(parser, "--reset", "delete the measurements of this and other machines")
    text = f"method to tune, repeatable (default: {', '.join(usual())}); one of "
    flag(parser, "--method NAME", text + ", ".join(tunable()), action="append")
    flag(parser, "--rounds N", "samples per shape", at_least_one, default=5)
    text = "measure without storing the results"
    flag(parser, "--no-store", text, action="store_false", dest="store")


def run(args: argparse.Namespace) -> None:
    """Measure the machine; or read a graph, tune each method and report."""
    if args.graph is None:
        _machine(args)
        return
    if args.show or args.reset:
        raise OptionError("--show and --reset concern this machine: leave out the graph")
    from nearfar.cuda.tune import tune, usual

    runtime.device()  # fail without a GPU before reading a large graph
    graph, _ = read_graph(args)
    results = []
    for method in args.method or usual():
        with Progress(f"tuning {method}", enabled=not args.quiet) as progress:
            results.append(
                tune(graph, method, rounds=args.rounds, store=args.store, progress=progress)
            )
    lines: list[str] = []
    for result in results:
        lines += [*_lines(result), ""]
    emit(args, [_facts(result) for result in results], lines[:-1])


def _machine(args: argparse.Namespace) -> None:
    """Show, delete or measure the speeds that the automatic choice uses."""
    from nearfar.choose import machine as choose_machine
    from nearfar.choose.calibrate import calibrate

    if args.method:
        raise OptionError("--method tunes launch shapes: name a graph to tune on")
    path = choose_machine.profile_path()
    if args.reset:
        had = choose_machine.reset()
        said = f"deleted: {path}" if had else f"no measurements are stored in {path}"
        emit(args, {"reset": had, "path": str(path)}, [said])
        return
    here = runtime.available()
    devices = [args.device] if args.device != "auto" else ["cpu", *["cuda"] * (here is True)]
    if "cuda" in devices:
        runtime.device()  # fail without a GPU before measuring the CPU
    facts, lines = [], []
    for device in devices:
        known = choose_machine.machine(device)
        if not args.show:
            with Progress(f"measuring the {device}", enabled=not args.quiet) as progress:
                known = calibrate(device, rounds=args.rounds, store=args.store, progress=progress)
        name = choose_machine.graphics() if device == "cuda" else choose_machine.processor()
        facts.append({"name": name, **asdict(known)})
        lines += [*rows(_speeds(name, known)), ""]
    kept = args.store or args.show
    lines = [*lines, f"stored in {path}"] if kept else lines[:-1]
    emit(args, {"path": str(path) if kept else None, "machines": facts}, lines)


def _speeds(name: str, known: Machine) -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = [
        ("machine", name),
        ("measured", known.measured or "never: defaults"),
    ]
    if known.transfer:
        pairs.append(("transfer", f"{known.transfer / 1e9:.1f} GB/s"))
        pairs.append(("kernel launch", duration(known.launch)))
    if known.gain:
        pairs.append(("two workers", f"{known.gain:.2f} times one"))
    pairs += [(f"  {v}", f"{times:.2f} x the model") for v, times in sorted(known.factors.items())]
    return pairs


def _facts(result: TuneResult) -> dict[str, Any]:
    return {
        "method": result.method,
        "device": result.device,
        "graph_class": result.graph_class,
        "best": _shape(result.best),
        "seconds": result.best_seconds,
        "default_seconds": result.default_seconds,
        "stored_in": None if result.path is None else str(result.path),
        "measurements": [
            {**_shape(m.shape), "seconds": list(m.seconds)} for m in result.measurements
        ],
    }


def _shape(shape: Any) -> dict[str, int]:
    return {
        "threads_relax": shape.relax,
        "threads_minimum": shape.minimum,
        "threads_update": shape.update,
        "carveout": shape.carveout,
    }


def _lines(result: TuneResult) -> list[str]:
    best = result.best
    carveout = "the driver's" if best.carveout < 0 else f"{best.carveout}% shared memory"
    return rows(
        [
            ("method", result.method),
            ("device", result.device),
            ("graph class", result.graph_class),
            (
                "threads per block",
                f"relax {best.relax}, minimum {best.minimum}, update {best.update}",
            ),
            ("carve-out", carveout),
            (
                "time",
                f"{duration(result.best_seconds)}, default {duration(result.default_seconds)}",
            ),
            ("gain", f"{result.gain:.1%}"),
            ("stored in", "nowhere" if result.path is None else str(result.path)),
        ]
    )
