"""Make flags from the signature of the function that a command calls.

A flag's ``dest`` is the name of the parameter, and :func:`call_of` passes the values to the
function. The command itself defines flags that concern only the shell, such as ``-o``.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nearfar.cli.arguments import (
    add_key_values,
    byte_count,
    decay_of,
    device_name,
    key_values,
    number,
    read_vertex,
    vertex_list,
)
from nearfar.cli.parser import set_completer
from nearfar.errors import OptionError
from nearfar.generators.catalogue import parameter_help

#: Parameters without a flag: set by the command itself.
_NOT_FLAGS = {"graph", "weight", "stats", "progress", "options", "trace"}
#: Parameters that hold several vertices, with the singular that names their flag.
_SEVERAL = {"sources": "source", "targets": "target", "vertices": "vertex", "zones": "zone"}
#: Flags of every command and of every command that reads a graph.
SHELL = {"help", "json", "quiet", "debug", "format", "weight", "read_option"}
#: Help of a flag, instead of the first sentence of the docstring.
_HELP = {
    "source": "vertex name or number, or LAT,LON",
    "target": "vertex name or number, or LAT,LON",
    "sources": "only paths from these (default: all)",
    "targets": "only paths to these (default: all)",
    "vertices": "only for these (default: all)",
    "limit": "leave out vertices farther than D",
    "threads": "CPU workers (default: all cores)",
    "device": "device to run on (default: auto, the one with the lower estimated time)",
    "devices": "CUDA devices that share the rows: all, or their numbers, such as 0,1",
    "method": "'auto' (default), an idea, a family or a variant id; `nearfar methods` lists them",
    "allow_unsafe": "permit a method that is wrong by design",
    "tolerance": "relative, for ties of float weights",
    "seed": "seed of the random draw",
    "to": "target of snapping",
    "parts": "snap to the largest strongly connected part of the network, or to all of it",
    "max_distance": "leave out places farther from the network, in metres on the Earth",
    "decay": "linear, exponential or gaussian, with a scale: gaussian:600",
}
_METAVARS = {"limit": "D", "devices": "LIST", "method": "NAME", "memory": "BYTES"}
_METAVARS |= {"max_distance": "D", "decay": "KIND", "k": "K"}
_METAVARS |= dict.fromkeys(("supply", "demand"), "COLUMN")
_CHOICES = re.compile(r"Literal\[([^]]*)\]")


def add_flags(
    parser: argparse._ActionsContainer,
    function: Callable[..., Any],
    names: Iterable[str] | None = None,
    *,
    leave_out: Iterable[str] = (),
    flags: Mapping[str, str] | None = None,
    help: Mapping[str, str] | None = None,
) -> None:
    """Add a flag for each of the named parameters of a function, by default for all."""
    known = inspect.signature(function).parameters
    wanted = [name for name in known if name not in _NOT_FLAGS] if names is None else list(names)
    for name in wanted:
        if name in leave_out:
            continue
        flag, text = (flags or {}).get(name), (help or {}).get(name)
        _add_flag(parser, function, known[name], flag, text)


def _add_flag(
    parser: argparse._ActionsContainer,
    function: Callable[..., Any],
    parameter: inspect.Parameter,
    flag: str | None,
    text: str | None,
) -> None:
    name, kind, default = parameter.name, str(parameter.annotation), parameter.default
    if text is None:
        text = _HELP.get(name) or parameter_help(function, name).partition(". ")[0].rstrip(".")
        text = text.replace("``", "").replace("%", "%%")
    needed = default is inspect.Parameter.empty
    if needed and name not in _SEVERAL:
        parser.add_argument(name, metavar=name.upper(), help=text)
        return
    dashed = flag or "--" + _SEVERAL.get(name, name).replace("_", "-")
    if kind == "bool":
        dashed = flag or (dashed.replace("--", "--no-", 1) if default else dashed)
        kept = "store_false" if default else "store_true"
        parser.add_argument(dashed, dest=name, action=kept, help=text)
        return
    more: dict[str, Any] = {"dest": name, "help": text, "metavar": _METAVARS.get(name, "N")}
    if not needed:
        more["default"] = default
        if default not in (None, "auto") and "default" not in text:
            more["help"] = f"{text} (default: {default})"
    if name in _SEVERAL:
        more |= {"nargs": "+", "metavar": "VERTEX", "required": needed}
    elif name == "device":
        del more["metavar"]
        choices = [one for one in ("auto", "cpu", "cuda") if kind == "Device" or one in kind]
        more |= {"type": device_name, "choices": choices}
    elif name == "memory":
        more["type"] = byte_count
    elif name == "decay":
        more["type"] = decay_of
    elif listed := _CHOICES.match(kind):
        del more["metavar"]
        more["choices"] = [one.strip(" '\"") for one in listed[1].split(",")]
    elif kind.startswith("float"):
        more |= {"type": number, "metavar": _METAVARS.get(name, "X")}
    elif kind.startswith("int"):
        more["type"] = int
    action = parser.add_argument(dashed, **more)
    if name == "method":
        set_completer(action, _methods)


def _methods(**_: Any) -> list[str]:
    from nearfar.registry import ideas, variants

    known = variants()
    return ["auto", *sorted({*ideas(), *(v.family for v in known)}), *(v.id for v in known)]


def add_solver(parser: argparse.ArgumentParser, function: Callable[..., Any]) -> None:
    """Add the flags that choose and tune the method of a function that solves."""
    group = parser.add_argument_group("method")
    known = inspect.signature(function).parameters
    add_flags(group, function, ["method", "device", "threads"])
    add_key_values(group, "--option", "option of the method, such as delta=50")
    if "allow_unsafe" in known:
        add_flags(group, function, ["allow_unsafe"])


def call_of(args: argparse.Namespace, graph: Any, *functions: Callable[..., Any]) -> dict[str, Any]:
    """Return keyword arguments of functions from the flags, with external names of vertices."""
    known = {name: None for each in functions for name in inspect.signature(each).parameters}
    call: dict[str, Any] = {}
    for name in (known.keys() - _NOT_FLAGS) & vars(args).keys():
        value = getattr(args, name)
        if name in _SEVERAL:
            value = vertex_list(args, graph, value, _SEVERAL[name])
        elif name in ("source", "target") and value is not None:
            value = read_vertex(args, graph, value, name)
        call[name] = value
    options = key_values(getattr(args, "option", []), "--option")
    for name in options:
        if name in known or hasattr(args, name):
            hint = "; it has a flag" if hasattr(args, name) else ""
            raise OptionError(f"--option {name}=...: {name} is not an option of a method{hint}")
    if getattr(args, "devices", None) is not None:
        # parameter of the function, or option of a method on several GPUs
        call["devices"] = args.devices
    return call | options


def refuse_others(args: argparse.Namespace, allowed: Iterable[str], message: str) -> None:
    """Refuse flags other than those allowed; ``{flag}`` in the message is the first of them."""
    free = SHELL.union(allowed)
    for action in args.parser._actions:
        name = action.dest
        if name in free or not action.option_strings:
            continue
        if getattr(args, name, action.default) != action.default:
            raise OptionError(message.format(flag=action.option_strings[-1]))
