"""Measure launch shapes of the three-kernel methods on this GPU and keep the best.

Later runs of the same method on graphs of the same class (size, degree and weight type, in powers
of two) take the shape that is stored, unless they are given one by option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearfar.cli.arguments import add_graph, read_graph
from nearfar.cli.console import Exit, Progress, duration, emit, rows

if TYPE_CHECKING:
    import argparse

    from nearfar.tune import TuneResult

NAME = "tune"
HELP = "measure launch shapes on this GPU"
EXAMPLES = """\
nearfar tune roads.gr.gz
nearfar tune graph.npz --method frontier_successors --rounds 9
nearfar tune graph.npz --no-store --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.tune import tunable

    add_graph(parser)
    parser.add_argument(
        "--method",
        action="append",
        metavar="NAME",
        help="method to tune, repeatable (default: crauser_successors, frontier_successors); one "
        f"of {', '.join(tunable())}",
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="samples a shape")
    parser.add_argument(
        "--no-store", dest="store", action="store_false", help="measure, but keep nothing"
    )


def run(args: argparse.Namespace) -> int:
    """Read, tune each method, report."""
    from nearfar.cuda import runtime
    from nearfar.tune import tune

    runtime.device()  # without one, say so before a large graph is read
    graph, _ = read_graph(args)
    results = []
    for method in args.method or ("crauser_successors", "frontier_successors"):
        with Progress(f"tuning {method}", enabled=not args.quiet) as progress:
            results.append(
                tune(graph, method, rounds=args.rounds, store=args.store, progress=progress)
            )
    lines: list[str] = []
    for result in results:
        lines += [*_lines(result), ""]
    emit(args, [_facts(result) for result in results], lines[:-1])
    return Exit.OK


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
