"""The page of the command line: commands, arguments and exit codes from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from docs.generators.python_reference import markdown
from nearfar.cli.console import EXIT_CODES
from nearfar.cli.main import build_parser
from nearfar.lab.checkout import NOTICE

__all__ = ["page"]

SHARED = {"help", "json", "quiet", "debug"}


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Sub-commands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def page() -> str:
    """The page of the command line."""
    program = build_parser()
    lines = ["# Command line", "", NOTICE, ""]
    lines += [
        "Results go to stdout, progress and remarks to stderr. `--json` prints every result as",
        "JSON. A progress bar shows only on a terminal; `NO_COLOR` turns its colour off. Vertices",
        "are the names or numbers that the file gives (from 1 in DIMACS, METIS, Matrix Market and",
        "Graphs.jl files); where it gives none, numbers from 0. `nearfar --version` prints the",
        "version;",
        "[environment variables](environment.md) have a page of their own.",
        "",
        "## Options of every command",
        "",
        "| argument | meaning |",
        "|---|---|",
        *shared_arguments(program),
        "",
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
    ]
    lines += [f"| {code.value} | {text} |" for code, text in EXIT_CODES.items()]
    for name, child in subparsers_of(program).items():
        lines += ["", f"## nearfar {name}", "", *markdown(child.description or "").splitlines(), ""]
        lines += details(child)
        for family, grandchild in subparsers_of(child).items():
            lines += ["", f"### nearfar {name} {family}", "", grandchild.description or "", ""]
            lines += details(grandchild, brief=True)
    return "\n".join(lines) + "\n"


def shared_arguments(program: argparse.ArgumentParser) -> Iterator[str]:
    """Arguments that every command has."""
    for action in next(iter(subparsers_of(program).values()))._actions:
        if action.dest in SHARED:
            yield argument(action)


def details(parser: argparse.ArgumentParser, *, brief: bool = False) -> Iterator[str]:
    """Usage, arguments and examples of one parser."""
    if not brief:
        examples = (parser.epilog or "").partition("examples:\n")[2].partition("\nexit codes:")[0]
        yield "```sh"
        yield from (line.strip() for line in examples.strip().splitlines())
        yield "```"
        yield ""
    rows = [row for row in map(argument, visible(parser, brief)) if row]
    if rows:
        yield "| argument | meaning |"
        yield "|---|---|"
        yield from rows


def visible(parser: argparse.ArgumentParser, brief: bool) -> Iterator[argparse.Action]:
    """Arguments worth a row; those that all families share are left to the command itself."""
    shared = SHARED | {"output", "format", "write_option"} if brief else SHARED
    for action in parser._actions:
        hidden = action.help == argparse.SUPPRESS or action.dest in shared
        if not hidden and not isinstance(action, argparse._SubParsersAction):
            yield action


def argument(action: argparse.Action) -> str:
    """One row of the table of arguments."""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else None
    if not action.option_strings:
        name = f"`{choices or action.metavar or action.dest}`"
    else:
        name = ", ".join(f"`{flag}`" for flag in action.option_strings)
    if action.option_strings and action.nargs != 0:
        name += f" `{choices or action.metavar or action.dest.upper()}`"
        if action.nargs == "+":
            name += " ..."
    text = (action.help or "").replace("%%", "%").replace("|", "\\|")
    return f"| {name.replace('|', chr(92) + '|')} | {text} |"
