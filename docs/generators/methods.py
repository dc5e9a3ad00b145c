"""The page of the methods, with a table per family, from the registry."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re

from docs.generators.python_reference import entries, markdown, sections
from nearfar.lab.checkout import NOTICE
from nearfar.registry import Variant, variants

__all__ = ["page"]

#: Number of variants from which on their common options have a title in place of the ids.
MANY = 5


def _title(family: str) -> str:
    """Return the heading of a family's table."""
    return {
        "bellman_ford": "Bellman-Ford",
        "bmssp": "BMSSP",
        "delta_stepping": "Delta-stepping",
        "floyd_warshall": "Floyd-Warshall",
        "near_far": "Near-Far",
    }.get(family, family.replace("_", " ").capitalize())


def page() -> str:
    """Return docs/reference/methods.md."""
    parts = [
        "# Methods",
        "",
        NOTICE,
        "",
        "Pass an id as `method=` or `--method`; the part before the `@`, or the name of a family,",
        "takes its cheapest variant. `nearfar methods` prints the same and says what is available",
        "on this machine. Weights are non-negative unless the table says otherwise. Papers are",
        "keys of `CITATION.cff`. [Options](#options) are at the end.",
    ]
    for family, members in families().items():
        folders = sorted({v.run.__module__.rpartition(".")[0] for v in members})
        parts += ["", f"## {_title(family)}", "", first_sentence(folders[0])]
        where = [f"`{name.removeprefix('nearfar.').replace('.', '/')}`" for name in folders]
        parts += [f"Pseudo-code and departures from the papers: {', '.join(where)}.", ""]
        parts += ["| id | method | source | work |", "|---|---|---|---|"]
        parts += [row(v) for v in members]
    parts += [
        "",
        "## Options",
        "",
        "Keywords of `nearfar.sssp` and `nearfar.distances`, or `--option KEY=VALUE`. `None` lets",
        "the method choose.",
        *meanings(),
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)) + "\n"


def families() -> dict[str, list[Variant]]:
    """Return the variants by family, unsafe ones included."""
    found: dict[str, list[Variant]] = {}
    for v in variants(unsafe=True):
        found.setdefault(v.family, []).append(v)
    return found


def first_sentence(package: str) -> str:
    """Return the summary of a family: the first line of its package."""
    text = importlib.import_module(package).__doc__ or ""
    return markdown(text.strip().splitlines()[0])


def row(v: Variant) -> str:
    """Return the line of a variant in the table of its family."""
    special = [f"{v.weights} weights"] if v.weights == "any" else []
    special += ["many sources"] if "sssp" not in v.problems else []
    special += ["**unsafe**"] if v.unsafe else []
    text = f"{v.summary} ({', '.join(special)})" if special else v.summary
    source = " ".join(filter(None, (v.paper, v.section)))
    return f"| `{v.id}` | {text} | {source} | {v.complexity} |"


def meanings() -> list[str]:
    """Return what each option does, once per class of options, from its docstring."""
    users: dict[type, list[str]] = {}
    for v in variants(unsafe=True):
        if dataclasses.fields(v.options):
            users.setdefault(v.options, []).append(v.id)
    lines = []
    for cls, ids in users.items():
        said = sections(inspect.getdoc(cls) or "")
        described = list(entries(said.get("Parameters", [])))
        named = {name for line in described for name in re.findall(r"\w+", line.split("`")[1])}
        if missing := {f.name for f in dataclasses.fields(cls)} - named:
            raise SystemExit(f"{cls.__name__} does not say what {sorted(missing)} mean")
        first, *rest = said[""]
        shown = ", ".join(f"`{name}`" for name in ids) if len(ids) < MANY else first.rstrip(".")
        defaults = {f.name: f"{f.default!r}" for f in dataclasses.fields(cls)}
        lines += ["", f"**{markdown(shown)}**", *map(markdown, rest), ""]
        lines += [with_default(line, defaults) for line in described]
    return lines


def with_default(line: str, defaults: dict[str, str]) -> str:
    """Return the line of an option with its default behind the name, if there is one default."""
    names = line.split("`")[1]
    values = dict.fromkeys(defaults[name] for name in re.findall(r"\w+", names))
    if len(values) > 1:
        return line
    return line.replace(f"`{names}`", f"`{names}={values.popitem()[0]}`", 1)
