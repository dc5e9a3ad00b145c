"""Repeat a paper's experiments on this machine: all samples as JSON, tables, and figures.

An interrupted run resumes when the command is given again. Figures need matplotlib: pip install
'nearfar[plot]'. Real graphs are read from the folder that NEARFAR_DATA names.
"""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

from nearfar.cli.arguments import add_device, at_least_one, at_least_zero
from nearfar.cli.console import Exit, emit, note, rows
from nearfar.cli.parser import flag
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
    text = "small (default; minutes on two cores), paper (the paper's sizes) or beyond"
    flag(parser, "--scale SCALE", text, default="small")
    text = "cuda also measures GPU methods, as does auto (the default) if there is a GPU"
    add_device(parser, text, "auto", "cpu", "cuda")
    flag(parser, "-o --output DIR", "folder for results", Path)
    flag(parser, "--rounds N", "timed solves per source", int)
    flag(parser, "--sources N", "sources per graph", int)
    flag(parser, "--graphs N", "graphs per size", int)
    flag(parser, "--seed N", "seed of the first graph", int)
    text = "maximum total time per graph and method, after which no further solve starts"
    flag(parser, "--per-method SECONDS", text, at_least_zero)
    text = "processes that make the graphs of the next tasks; they idle while a task is timed"
    flag(parser, "--workers N", text, at_least_one, default=1)
    text = "let the workers run while a task is timed, each on its own core; for GPU methods"
    flag(parser, "--overlap", text)
    text = "only tasks whose key matches a shell pattern, in this order"
    flag(parser, "--only PATTERN...", text, default=[])
    flag(parser, "--budget SECONDS", "start no task after this many seconds", at_least_zero)
    flag(parser, "--restart", "delete the folder's results and start over")
    flag(parser, "--progress", "report progress even without a terminal")


def run(args: argparse.Namespace) -> int:
    """List experiments, or run one."""
    from nearfar.lab.experiments import experiments, find
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
    find(args.name)
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
