"""Repeat a paper's experiments on this machine: all samples as JSON, tables, and figures.

An interrupted run resumes when the command is given again. Figures need matplotlib: pip install
'nearfar[plot]'. Real graphs are read from the folder that NEARFAR_DATA names.
"""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

from nearfar.cli.arguments import at_least_one, at_least_zero, device_name
from nearfar.cli.console import Exit, emit, note, rows
from nearfar.errors import OptionError

NAME = "experiment"
CALLS = ("nearfar.lab.experiments.run",)
HELP = "repeat a paper's experiments: tables and figures"
EXAMPLES = """\
nearfar experiment list
nearfar experiment martin-2009 -o martin
nearfar experiment ortega-arranz-2015 --scale paper --device cuda -o ortega
nearfar experiment martin-2009 --scale paper --only 'lists-*' --budget 600 -o martin"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    parser.add_argument("name", metavar="NAME", help="an experiment, or 'list'")
    parser.add_argument(
        "--scale",
        default="small",
        metavar="SCALE",
        help="small (default; minutes on two cores), paper (the paper's sizes) or beyond",
    )
    parser.add_argument(
        "--device",
        default="auto",
        type=device_name,
        choices=["auto", "cpu", "cuda"],
        help="cuda also measures GPU methods, as does auto (the default) if there is a GPU",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder for results")
    parser.add_argument("--rounds", type=int, metavar="N", help="timed solves per source")
    parser.add_argument("--sources", type=int, metavar="N", help="sources per graph")
    parser.add_argument("--graphs", type=int, metavar="N", help="graphs per size")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the first graph")
    parser.add_argument(
        "--per-method",
        type=at_least_zero,
        metavar="SECONDS",
        help="maximum total time per graph and method, after which no further solve starts",
    )
    parser.add_argument(
        "--workers",
        type=at_least_one,
        default=1,
        metavar="N",
        help="processes that make the graphs of the next tasks; they idle while a task is timed",
    )
    parser.add_argument(
        "--overlap",
        action="store_true",
        help="let the workers run while a task is timed, each on its own core; for GPU methods",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="only tasks whose key matches a shell pattern, in this order",
    )
    parser.add_argument(
        "--budget",
        type=at_least_zero,
        metavar="SECONDS",
        help="start no task after this many seconds",
    )
    parser.add_argument(
        "--restart", action="store_true", help="delete the folder's results and start over"
    )
    parser.add_argument(
        "--progress", action="store_true", help="report progress even without a terminal"
    )


def run(args: argparse.Namespace) -> int:
    """List experiments, or run one."""
    from nearfar.lab.experiments import experiments
    from nearfar.lab.experiments import run as run_experiment
    from nearfar.lab.experiments.render import markdown_table

    if args.name == "list":
        known = experiments()
        facts = [
            {
                "name": e.name,
                "title": e.title,
                "paper": e.paper,
                "scales": [s for s in e.scales if s != "tiny"],
            }
            for e in known.values()
        ]
        emit(args, facts, rows((e.name, e.title) for e in known.values()))
        return Exit.OK
    if args.output is None:
        raise OptionError("give a folder for the results: -o DIR")
    if args.output.exists() and not args.output.is_dir():
        raise OptionError(f"-o {args.output} is a file: give a folder for the results")
    taken = inspect.signature(run_experiment).parameters
    call = {name: value for name, value in vars(args).items() if name in taken}
    call["progress"] = False if args.quiet else (True if args.progress else None)
    outcome = run_experiment(**call, out=args.output)
    lines: list[str] = []
    for table in outcome.results["tables"]:
        lines += [f"## {table['title']}", "", *markdown_table(table), "", table["caption"], ""]
    emit(args, outcome.results, lines[:-1], summary=True)
    note(
        args,
        f"{outcome.measured} tasks measured, {outcome.kept} kept from an earlier run; "
        f"results in {args.output}",
    )
    for remark in outcome.results["remarks"]:
        note(args, remark)
    if outcome.wrong:
        note(args, f"wrong answers: {', '.join(outcome.wrong)}")
    return Exit.FAILED_PROOF if outcome.wrong else Exit.OK
