"""Docstrings of public functions are complete: parameters, results and errors."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from docs.generators import python_reference as reference

import nearfar
from nearfar import errors
from nearfar.generators import GENERATORS

MODULES = tuple(name.removeprefix("nearfar.") for name in reference.MODULES)


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return functions and methods that the package and its public modules name.

    Members for use within the package only have one line.
    """
    places = [("nearfar", nearfar)]
    places += [(name, importlib.import_module(f"nearfar.{name}")) for name in MODULES]
    for place, module in places:
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isfunction(found):
                yield f"{place}.{name}", found
            elif inspect.isclass(found) and place == "nearfar":
                members = ((f"{name}.{key}", value) for key, value in reference.members(found))
                yield from (pair for pair in members if pair[0] not in reference._INTERNAL)


FUNCTIONS = dict(public())
CLASSES = [name for name in nearfar.__all__ if inspect.isclass(getattr(nearfar, name))]


def raises(function: Callable[..., Any]) -> bool:
    """Return whether the body itself raises an error."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


def missing(function: Callable[..., Any]) -> list[str]:
    """Return missing sections of the docstring, and parameters that it does not name."""
    found = reference.sections(inspect.getdoc(function) or "")
    signature = inspect.signature(function)
    lacking = []
    heads = [line for line in found.get("Parameters", []) if line and line[0] != " "]
    named = {part.strip() for head in heads for part in head.split(" : ")[0].split(",")}
    for parameter in signature.parameters.values():
        stars = {parameter.VAR_KEYWORD: "**", parameter.VAR_POSITIONAL: "*"}
        name = stars.get(parameter.kind, "") + parameter.name
        if parameter.name not in ("self", "cls") and name not in named:
            lacking.append(f"parameter {name}")
    if signature.return_annotation != "None" and not found.keys() & {"Returns", "Yields"}:
        lacking.append("Returns")
    if raises(function) and "Raises" not in found:
        lacking.append("Raises")
    return lacking


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_is_complete(name: str) -> None:
    assert missing(FUNCTIONS[name]) == []


def test_an_incomplete_docstring_is_noticed() -> None:
    def short(a: int, *rest: int) -> int:
        """Add.

        Parameters
        ----------
        a : int
        """
        if not rest:
            raise ValueError
        return a + sum(rest)

    assert missing(short) == ["parameter *rest", "Returns", "Raises"]


def test_every_public_name_is_in_the_reference() -> None:
    shown = {name for _, _, names in reference.GROUPS for name in names}
    assert set(nearfar.__all__) - set(errors.__all__) <= shown
    # Families of graphs are on the page of the command line; other names under their module, or
    # under nearfar itself.
    families = {f"generators.{name}" for name in GENERATORS}
    there = {name for name in FUNCTIONS if name.partition(".")[0] not in ("nearfar", *CLASSES)}
    again = {name for name in there if name.rpartition(".")[2] in nearfar.__all__}
    assert there - again - families <= shown


def test_every_group_is_on_one_page_and_the_index_links_every_name() -> None:
    headings = [heading for _, some in reference.PAGES.values() for heading in some]
    assert sorted(headings) == sorted(heading for heading, _, _ in reference.GROUPS)
    names = [name for _, _, some in reference.GROUPS for name in some]
    assert len(names) == len(set(names))
    index = reference.index_page("")
    pages = {stem: reference.topic_page(stem, "") for stem in reference.PAGES}
    for name in names:
        (stem,) = [stem for stem, text in pages.items() if f"### nearfar.{name}\n" in text]
        assert f"[`{name}`]({stem}.md#nearfar{name.replace('.', '').lower()})" in index


@pytest.mark.parametrize("name", reference.SOLVERS)
def test_solvers_share_names_order_defaults_and_meaning(name: str) -> None:
    """Solvers call shared parameters as `sssp`, or else `distances`, does."""
    found = inspect.signature(getattr(nearfar, name)).parameters
    first = [p.name for p in found.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert first[0] == "graph"
    assert first[1:] in (
        [],
        ["source"],
        ["sources"],
        ["source", "target"],
        ["source", "target", "k"],
        ["source", "file"],
    )
    shared = [p for p in found if p in reference.SHARED]
    assert shared == [p for p in reference.SHARED if p in found]
    rest = [p.name for p in found.values() if p.kind is p.KEYWORD_ONLY]
    assert rest[: len(shared)] == shared
    for parameter in shared:
        for model in (nearfar.sssp, nearfar.distances):
            known = inspect.signature(model).parameters.get(parameter)
            if known is not None:
                assert (found[parameter].default, found[parameter].annotation) == (
                    known.default,
                    known.annotation,
                )


def test_the_table_of_solvers_has_every_one_and_every_parameter() -> None:
    lines = list(reference.solver_table())
    assert len(lines) == 2 + len(reference.SOLVERS)
    assert len({line.count("|") for line in lines}) == 1
    everything = inspect.signature(nearfar.all_pairs).parameters
    row = next(line for line in lines if line.startswith("| `all_pairs`"))
    assert all(f"`{p}`" in row or p in (*reference.SHARED, "options") for p in everything)


def test_public_modules_name_what_the_reference_shows() -> None:
    for name in reference.MODULES:
        module = importlib.import_module(name)
        assert set(module.__all__) <= set(dir(module)), name
        for public_name in module.__all__:
            assert getattr(module, public_name) is not None
    for name in ("solve", "choose", "answer", "measures"):
        assert getattr(nearfar, name) is importlib.import_module(f"nearfar.{name}")
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = getattr(nearfar, name).nothing


def test_properties_are_in_the_reference() -> None:
    assert any("`predecessors`" in line for line in reference.properties(nearfar.Paths))
    assert "- `n_vertices`" in reference.topic_page("python-graphs", "")


def test_a_section_that_numpydoc_does_not_have_is_refused() -> None:
    with pytest.raises(SystemExit, match="numpydoc"):
        reference.sections("Do.\n\nArguments\n---------\nx : int\n")
