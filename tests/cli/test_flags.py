"""Flags are the parameters of the functions that commands call, except flags of the shell."""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nearfar
from nearfar.cli.console import Exit
from nearfar.cli.flags import SHELL, add_flags, refuse_others
from nearfar.cli.main import build_parser, commands
from nearfar.cli.parser import Parser
from nearfar.cli.queries.measure import KINDS, function_of
from nearfar.errors import NearfarError, OptionError, keyword
from nearfar.generators import GENERATORS
from nearfar.solve.option_types import SearchOptions
from tests.program import fail

#: Flags without a parameter: files, printing, and other ways to give a parameter.
OWN = {
    "assign": {"network", "top", "history"},
    "bench": {"what", "graphs", "peers", "methods", "threads", "rounds", "sources", "patience"}
    | {"shrink", "output"},
    "catchment": {"id", "turns", "output"},
    "convert": {"input", "output", "to_format", "write_option", "list"},
    "distances": {"pair", "predecessors_output", "explain", "cluster", "option"},
    "doctor": {"warm"},
    "experiment": {"output"},
    "generate": {"family", "output", "format", "write_option"},
    "info": set(),
    "map": {"output", "title", "breaks", "more", "polygons", "option"},
    "measure": {"measure", "top", "most", "log2", "closed", "column"},
    "methods": {"family", "weights", "available"},
    "nearest": {"vertex", "option"},
    "path": {"prove", "turns", "output", "option"},
    "plot": {"file", "output"},
    "prepare": {"output", "reweight", "turns", "dry_run"},
    "raster": {"to", "output", "allocation", "paths", "plot", "title"},
    "route": {"turns", "output"},
    "sssp": {"prove", "output", "counters", "profile", "kernels", "explain", "option"},
    "sweep": {"output"},
    "table": {"id", "turns"},
    "tune": {"show", "reset"},
    "verify": {"answer"},
}


def resolved(name: str) -> Callable[..., Any]:
    module, _, attribute = name.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return found


def leaves(parser: Parser, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Parser]]:
    """Return the parsers without sub-commands, and the words that lead to them."""
    if not parser.commands:
        yield path, parser
    for name, child in parser.commands.items():
        yield from leaves(child, (*path, name))


LEAVES = dict(leaves(build_parser(), ()))


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_flag_is_a_parameter_of_the_function_that_is_called(words: tuple[str, ...]) -> None:
    command, *rest = words
    functions = [resolved(name) for name in getattr(commands()[command], "CALLS", ())]
    known = {"devices"} if "devices" in SearchOptions.__annotations__ else set()
    if command == "measure":
        functions = [function_of(rest[0].replace("-", "_"))]
    elif command == "generate":
        known |= {f"parameter_{parameter.name}" for parameter in GENERATORS[rest[0]].parameters}
    known |= {name for function in functions for name in inspect.signature(function).parameters}
    dests = {action.dest for action in LEAVES[words]._actions}
    assert dests - SHELL - OWN.get(command, set()) <= known


def test_every_measure_has_the_parameters_of_its_function() -> None:
    for name in KINDS:
        known = set(inspect.signature(function_of(name)).parameters)
        dests = {action.dest for action in LEAVES["measure", name.replace("_", "-")]._actions}
        assert known - dests <= {"stats", "zones", "progress"}, name


def some_function(
    place: Any, *, limit: float | None = None, deep: bool = False, fast: bool = True, size: int = 3
) -> None:
    """Do something.

    Parameters
    ----------
    place : vertex
    limit : number or None
    deep : bool
        Look further. Takes longer.
    fast : bool
        Be ``quick``.
    size : int
        Of 100 % at most.
    """


def test_flags_follow_a_signature() -> None:
    parser = Parser()
    add_flags(parser, some_function)
    args = parser.parse_args(["x", "--deep", "--no-fast", "--size", "4", "--limit", "2.5"])
    assert vars(args) == {"place": "x", "limit": 2.5, "deep": True, "fast": False, "size": 4}
    assert vars(parser.parse_args(["x"]))["size"] == 3
    text = parser.format_help()
    assert "Look further" in text
    assert "Takes longer" not in text
    assert "Be quick" in text
    with pytest.raises(KeyError):
        add_flags(parser, some_function, ["no_such"])


def test_flags_that_mean_nothing_are_refused() -> None:
    parser = Parser()
    add_flags(parser, some_function)
    args = parser.parse_args(["x", "--size", "4"])
    args.parser = parser
    refuse_others(args, ["size"], "not {flag}")
    with pytest.raises(OptionError, match=r"^not --size$"):
        refuse_others(args, ["limit"], "not {flag}")


def test_an_error_carries_its_options_and_the_shell_words_them(graph_file: Path) -> None:
    with pytest.raises(OptionError, match=r"^threads is 0: give") as caught:
        nearfar.sssp(nearfar.Graph.from_edges([0], [1]), 0, threads=0)
    assert (caught.value.option, caught.value.choices) == ("threads", {})
    text = (
        f"use {keyword('out', 'name.npy')} (or .zarr), {keyword('reduce', ...)} or "
        f"{keyword('device', 'cpu')}; {keyword('predecessors', True)}; {keyword('queue_factor', 1)}"
        f", {keyword('names', True)} and {keyword('other', 2)}, not limit=3 of 'device=cuda'"
    )
    error = NearfarError(text)
    assert error.choices["device"] == "'cpu'"
    assert str(error) == (
        "use out='name.npy' (or .zarr), reduce=... or device='cpu'; predecessors=True; "
        "queue_factor=1, names=True and other=2, not limit=3 of 'device=cuda'"
    )
    assert error.worded(LEAVES["distances",].word) == (
        "use --output name.npy (or .zarr), --reduce or --device cpu; predecessors=True; "
        "--option queue_factor=1, --read-option names=true and other=2, not limit=3 of "
        "'device=cuda'"
    )
    assert "--threads is 0: give" in fail(Exit.USAGE, "sssp", graph_file, 0, "--threads", 0)


def test_help_is_there_for_every_flag() -> None:
    for words, parser in LEAVES.items():
        for action in parser._actions:
            assert action.help or action.help == argparse.SUPPRESS, (words, action.dest)
