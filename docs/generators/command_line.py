"""Page of the command line: commands, arguments and exit codes, from the parsers."""

from __future__ import annotations

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from docs.generators.python_reference import markdown
from nearfar.cli.console import EXIT_CODES
from nearfar.cli.main import build_parser
from nearfar.lab.checkout import NOTICE

__all__ = ["page"]

#: Groups of arguments that are described together, with their titles.
BUNDLES = {
    "`GRAPH` and its options": ["`GRAPH`", "`--format`", "`--weight`", "`--read-option`"],
    "the options of the solver": ["`--method`", "`--device`", "`--threads`", "`--option`"],
    "the options of snapping": ["`--to`", "`--parts`", "`--max-distance`"],
}
#: Number of commands or families from which they share the description of an argument.
SHARED = 3


class Argument(NamedTuple):
    """Argument as the page shows it."""

    name: str  # flags and value
    text: str  # meaning


def page() -> str:
    """Return the page of the command line."""
    commands = subparsers_of(build_parser())
    every = [*commands.values()]
    every += [below for child in commands.values() for below in subparsers_of(child).values()]
    general = common([list(map(argument, visible(parser))) for parser in every], len(every))
    shared = common(
        [
            [argument(a) for a in visible(parser) if not a.dest.startswith("parameter_")]
            for parser in [*commands.values(), *subparsers_of(commands["measure"]).values()]
        ],
        SHARED,
    )
    shared = [one for one in shared if one not in general]
    lines = ["# Command line", "", NOTICE, ""]
    lines += [
        "Results go to stdout, progress and remarks to stderr. A progress bar shows only on a",
        "terminal. Vertices are the names or numbers that the file gives (from 1 in DIMACS, METIS,",
        "Matrix Market and Graphs.jl files); without any, numbers from 0. `nearfar --version`",
        "prints the version. See also the [environment variables](environment.md).",
        "",
        "## Options of every command",
        "",
        *items(general),
        "",
        "## Options that commands share",
        "",
        "Each command names those that it takes, or their group: `GRAPH` and its options (up to",
        "`--read-option`), the solver (`--method`, `--device`, `--threads`, `--option`), snapping",
        "(`--to`, `--parts`, `--max-distance`).",
        "",
        *items(shared),
        "",
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
        *(f"| {code.value} | {text} |" for code, text in EXIT_CODES.items()),
    ]
    for name, child in commands.items():
        lines += ["", f"## nearfar {name}", "", *markdown(child.description or "").splitlines(), ""]
        lines += [*examples(child), *details(child, general, shared)]
        below = subparsers_of(child)
        own = common([list(map(argument, visible(p))) for p in below.values()], SHARED)
        own = [one for one in own if one not in general + shared]
        alike = common([list(map(argument, visible(p))) for p in below.values()], len(below))
        if below:
            named = [one.name for one in alike if one in shared]
            lines += ["", f"Each takes {', '.join(bundled(names_of(named)))}.", ""] if named else []
            lines += ["", *items(own)]
        for family, grandchild in below.items():
            lines += ["", f"### nearfar {name} {family}", "", sentence(grandchild.description)]
            lines += ["", *details(grandchild, general + alike, shared + own)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return sub-commands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def visible(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments that the help shows, without sub-commands."""
    for action in parser._actions:
        if action.help != argparse.SUPPRESS and not isinstance(action, argparse._SubParsersAction):
            yield action


def common(lists: Iterable[Iterable[Argument]], least: int) -> list[Argument]:
    """Return the arguments that at least ``least`` lists contain, in their order."""
    counts = Counter(itertools.chain.from_iterable(dict.fromkeys(one) for one in lists))
    return [one for one, count in counts.items() if count >= least]


def examples(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the examples of a command as a block."""
    text = (parser.epilog or "").partition("examples:\n")[2].partition("\nexit codes:")[0]
    yield from ("```sh", *(line.strip() for line in text.strip().splitlines()), "```", "")


def details(
    parser: argparse.ArgumentParser, general: list[Argument], known: list[Argument]
) -> Iterator[str]:
    """Yield the arguments of one parser, and the names of those described elsewhere."""
    actions = [(argument(action), action) for action in visible(parser)]
    own = [
        Argument(one.name + default_of(action), one.text)
        for one, action in actions
        if one not in general and one not in known
    ]
    named = [
        f"`{(action.option_strings or [str(action.metavar)])[-1]}`{default_of(action)}"
        for one, action in actions
        if one in known and one not in general
    ]
    yield from items(own)
    if named:
        yield from ("", f"Also {', '.join(bundled(named))}.")


def names_of(shown: list[str]) -> list[str]:
    """Return the long flags or names of the positional arguments in a list."""
    return [re.findall(r"`(?:--[\w-]+|[A-Z]+)`", name)[0] for name in shown]


def bundled(names: list[str]) -> list[str]:
    """Return the names with each group of :data:`BUNDLES` under its title."""
    for title, members in BUNDLES.items():
        if set(members) <= set(names):
            names = [title, *(name for name in names if name not in members)]
    return names


def items(arguments: list[Argument]) -> Iterator[str]:
    """Yield a list of arguments; consecutive ones with one meaning share a line."""
    for text, some in itertools.groupby(arguments, lambda one: one.text):
        yield f"- {', '.join(one.name for one in some)}: {text}"


def sentence(text: str | None) -> str:
    """Return a description with a capital letter and a full stop."""
    return f"{(text or '')[:1].upper()}{(text or '')[1:]}."


_DEFAULT = re.compile(r"\s*\(default: ([^()]*)\)$")


def default_of(action: argparse.Action) -> str:
    """Return the default of a parameter of a family of graphs, in parentheses."""
    found = _DEFAULT.search(action.help or "") if action.dest.startswith("parameter_") else None
    return f" ({found[1]})" if found else ""


def argument(action: argparse.Action) -> Argument:
    """Return the name and the meaning of an argument."""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else None
    text = (action.help or "").replace("%%", "%")
    if not action.option_strings:
        return Argument(f"`{choices or action.metavar or action.dest}`", text)
    name = ", ".join(f"`{flag}`" for flag in action.option_strings)
    if action.dest.startswith("parameter_"):
        return Argument(name, _DEFAULT.sub("", text))
    if action.nargs != 0:
        name += f" `{choices or action.metavar or action.dest.upper()}`"
        name += " ..." * (action.nargs == "+")
    return Argument(name, text)
