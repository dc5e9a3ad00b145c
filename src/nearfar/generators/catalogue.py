"""Catalogue of generators with their parameters, for the command line and the documentation.

A generator is a function decorated with :func:`generator`. Its parameters and their help are read
from its signature and its docstring, so they are written once.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from nearfar.errors import OptionError, by_name, did_you_mean, quoted
from nearfar.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Parameter:
    """Keyword of a generator.

    Attributes
    ----------
    name : str
    type : str
        Annotation: ``"int"``, ``"float"``, ``"bool"``, ``"str"``, or one of these with ``" |
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
#: Paragraphs that :func:`generator` adds to a docstring that lacks them.
_SHARED = {
    "low": "low, high : float\n    Range of the uniform weights, both ends included for integers.",
    "weight_dtype": "weight_dtype : str | None\n    int32, int64, float32, float64, or None for an "
    "unweighted graph.",
    "seed": "seed : int\n    Any integer; equal seeds give equal graphs.",
}
_SECTION = re.compile(r"\n\n(?=\w+\n-+\n)")


def generator(
    name: str, summary: str, *, negative: bool = False
) -> Callable[[Callable[..., Graph]], Callable[..., Graph]]:
    """Register a function in the catalogue, and complete its docstring."""

    def enter(function: Callable[..., Graph]) -> Callable[..., Graph]:
        signature = inspect.signature(function).parameters
        function.__doc__ = _completed(function, signature)
        parameters = tuple(
            Parameter(p.name, str(p.annotation), p.default, parameter_help(function, p.name))
            for p in signature.values()
        )
        GENERATORS[name] = Generator(name, function, summary, parameters, negative)
        return function

    return enter


def _completed(function: Callable[..., Graph], signature: Iterable[str]) -> str:
    """Return the docstring with the parameters, result and error that most families share."""
    sections = _SECTION.split(inspect.cleandoc(function.__doc__ or ""))
    heads = [section.partition("\n")[0] for section in sections]
    own = [name for name in signature if parameter_help(function, name)]
    more = [text for name, text in _SHARED.items() if name in signature and name not in own]
    if "Parameters" not in heads:
        sections.insert(1, "Parameters\n----------")
    sections[1] = "\n".join([sections[1], *more])
    if "Returns" not in heads:
        sections.insert(2, "Returns\n-------\nGraph")
    if "Raises" not in heads:
        error = "Raises\n------\nOptionError\n    For a value outside its range."
        sections.insert(3, error)
    return "\n\n".join(sections)


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
    found = by_name(GENERATORS, name, "generator")
    known = [p.name for p in found.parameters]
    for given in parameters:
        if given not in known:
            has = f"it has: {', '.join(known)}{did_you_mean(given, known)}"
            raise OptionError(f"{name} has no parameter {quoted(given)}; {has}")
    return found.function(**parameters)
