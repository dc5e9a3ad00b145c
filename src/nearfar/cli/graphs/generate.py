"""Generate a synthetic graph and write it to a file.

The same parameters and seed give the same graph on every machine. Each family has its own
parameters. Without -o the graph is described but not written.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_key_values, value_of, write_graph
from nearfar.cli.console import add_output, duration, emit, epilog, note, rows
from nearfar.cli.graphs.info import describe
from nearfar.cli.parser import flag
from nearfar.generators import GENERATORS, Parameter, generate

NAME = "generate"
CALLS = ("nearfar.generate",)
HELP = "make a synthetic graph"
EXAMPLES = """\
nearfar generate grid --rows 1000 --columns 1000 -o grid.nfg
nearfar generate kronecker --scale 16 --seed 7 -o kron.gr.gz
nearfar generate grid --help"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add one sub-command per family, its flags taken from the catalogue."""
    families = parser.add_subparsers(
        dest="family", metavar="FAMILY", title="families", required=True
    )
    for name, family in sorted(GENERATORS.items()):
        child = families.add_parser(
            name,
            help=family.summary,
            description=family.summary,
            epilog=epilog(f"nearfar generate {name} -o {name}.nfg"),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        group = child.add_argument_group("parameters")
        for parameter in family.parameters:
            _add_parameter(group, parameter)
        flag(child, "-o --output FILE", "graph file to write")
        flag(child, "--format NAME", "its format, if the name does not identify it")
        add_key_values(child, "--write-option", "option of the writer")
        add_output(child, nested=True)
        child.set_defaults(parameters=[p.name for p in family.parameters])


def _whole(text: str) -> Any:
    """Read an integer, also as 1e6; the family refuses invalid values."""
    value = value_of(text)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _add_parameter(group: Any, parameter: Parameter) -> None:
    name = "--" + parameter.name.replace("_", "-")
    default = "none" if parameter.default is None else parameter.default
    text = (parameter.help or "see the reference").replace("``", "").replace("%", "%%")
    shared = {"dest": f"parameter_{parameter.name}", "default": parameter.default}
    if parameter.type == "bool":
        group.add_argument(
            name,
            action=argparse.BooleanOptionalAction,
            help=f"{text} (default: {'yes' if parameter.default else 'no'})",
            **shared,
        )
        return
    group.add_argument(
        name,
        type={"str": str, "int": _whole}.get(parameter.type, value_of),
        metavar=parameter.type.split()[0].upper(),
        help=f"{text} (default: {default})",
        **shared,
    )


def run(args: argparse.Namespace) -> None:
    """Generate, describe and write."""
    if args.output is not None:
        check_folder(args.output)
    given = {name: getattr(args, f"parameter_{name}") for name in args.parameters}
    began = time.perf_counter()
    graph = generate(args.family, **given)
    seconds = time.perf_counter() - began
    facts, lines = describe(graph)
    facts |= {"family": args.family, "parameters": given, "seconds": seconds}
    lines.append(("generated in", duration(seconds)))
    if args.output is not None:
        facts |= {"output": args.output, "write_seconds": write_graph(args, graph, args.format)}
        lines.append(("written", f"{args.output} in {duration(facts['write_seconds'])}"))
    emit(args, facts, rows(lines), summary=args.output is not None)
    if args.output is None:
        note(args, "not written: give -o FILE to write the graph")
