"""Catalogue of generators with their parameters, for the command line and the documentation.

A generator is a function decorated with :func:`generator`. Its parameters and their help are read
from its signature and its docstring, so they are written once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nearfar.errors import OptionError, did_you_mean, quoted
from nearfar.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Parameter:
    """Keyword of a generator.

    Attributes
    ----------
    name : str
    type : str
        As annotated: ``"int"``, ``"float"``, ``"bool"``, ``"str"``, or one of these with ``" |
        None"``.
    default : object
    help : str
        One paragraph from the docstring.
    """

    name: str
    type: str
    default: Any
    help: str


@dataclass(frozen=True, slots=True)
class Generator:
    """Family of synthetic graphs.

    Attributes
    ----------
    name : str
        As given to ``nearfar generate`` and :func:`generate`.
    function : callable
        Takes keywords only, returns a Graph.
    summary : str
        One line.
    parameters : tuple of Parameter
    negative : bool
        Whether it can make negative weights.
    """

    name: str
    function: Callable[..., Graph]
    summary: str
    parameters: tuple[Parameter, ...]
    negative: bool = False


GENERATORS: dict[str, Generator] = {}


def generator(
    name: str, summary: str, *, negative: bool = False
) -> Callable[[Callable[..., Graph]], Callable[..., Graph]]:
    """Register a function in the catalogue."""

    def enter(function: Callable[..., Graph]) -> Callable[..., Graph]:
        parameters = tuple(
            Parameter(p.name, str(p.annotation), p.default, parameter_help(function, p.name))
            for p in inspect.signature(function).parameters.values()
        )
        GENERATORS[name] = Generator(name, function, summary, parameters, negative)
        return function

    return enter


def parameter_help(function: Callable[..., Any], name: str) -> str:
    """Find the paragraph under ``name : type`` in a numpydoc docstring, on one line."""
    lines = inspect.cleandoc(function.__doc__ or "").splitlines()
    for i, line in enumerate(lines):
        head, colon, _ = line.partition(" : ")
        if colon and name in [part.strip() for part in head.split(",")]:
            text = []
            for below in lines[i + 1 :]:
                if not below.startswith("    "):
                    break
                text.append(below.strip())
            return " ".join(text)
    return ""


def generate(name: str, **parameters: Any) -> Graph:
    """Make a synthetic graph by the name of its family.

    Parameters
    ----------
    name : str
        A key of ``GENERATORS``.
    **parameters
        Keywords of that family; ``nearfar generate NAME --help`` lists them.

    Returns
    -------
    Graph
        The same for the same parameters on every machine.

    Raises
    ------
    OptionError
        For an unknown name or keyword, or a value outside its range.

    Examples
    --------
    >>> from nearfar.generators import generate
    >>> generate("path", vertices=3).n_edges
    2
    """
    found = GENERATORS.get(name)
    if found is None:
        hint = did_you_mean(name, GENERATORS) or f": there are {', '.join(GENERATORS)}"
        raise OptionError(f"no generator {quoted(name)}{hint}")
    known = [p.name for p in found.parameters]
    for given in parameters:
        if given not in known:
            has = f"it has: {', '.join(known)}{did_you_mean(given, known)}"
            raise OptionError(f"{name} has no parameter {quoted(given)}; {has}")
    return found.function(**parameters)
