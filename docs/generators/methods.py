"""Page of the methods, with a list per family, from the registry."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re

from docs.generators.python_reference import entries, markdown, sections
from nearfar.lab.checkout import NOTICE
from nearfar.registry import Variant, variants

__all__ = ["page"]

#: Number of variants from which their common options have a title in place of the ids.
MANY = 5


def _title(family: str) -> str:
    """Return the heading of a family's list."""
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
        "takes its cheapest variant. `nearfar methods` prints the same and marks the methods",
        "available on this machine. Weights are non-negative unless the list says otherwise.",
        "Papers are keys of `CITATION.cff`; the code of a family has pseudo-code and departures",
        "from its papers. [Options](#options) are at the end.",
    ]
    for family, members in families().items():
        folders = sorted({v.run.__module__.rpartition(".")[0] for v in members})
        where = [f"`{name.removeprefix('nearfar.').replace('.', '/')}`" for name in folders]
        alike = _alike(members)
        parts += ["", f"## {_title(family)}", "", first_sentence(folders[0])]
        parts += [f"Code: {', '.join(where)}.{_said(alike)}", ""]
        parts += [line(v, alike) for v in members]
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


def _facts(v: Variant) -> dict[str, str]:
    """Return the properties that the members of a family may share, by name."""
    return {
        "weights": "any weights" if v.weights == "any" else "",
        "sources": "many sources" if "sssp" not in v.problems else "",
        "complexity": v.complexity,
    }


def _alike(members: list[Variant]) -> dict[str, str]:
    """Return the facts that all members of a family share, if there are several members."""
    facts = [_facts(v) for v in members]
    return {name: said for name, said in facts[0].items() if all(f[name] == said for f in facts)}


def _said(alike: dict[str, str]) -> str:
    """Return the common facts as sentences."""
    special = ", ".join(filter(None, (alike.get("weights"), alike.get("sources"))))
    work = f" Work: {alike['complexity']}." if "complexity" in alike else ""
    return (f" {special.capitalize()}." if special else "") + work


def line(v: Variant, alike: dict[str, str]) -> str:
    """Return the line of a variant, without the facts that its family shares."""
    facts = _facts(v)
    special = [facts[name] for name in ("weights", "sources") if name not in alike]
    special = [*filter(None, special), *(["**unsafe**"] if v.unsafe else [])]
    text = f"{v.summary} ({', '.join(special)})" if special else v.summary
    source = " ".join(filter(None, (v.paper, v.section)))
    work = "" if "complexity" in alike else f" {v.complexity}."
    return f"- `{v.id}`: {text}. *{source}*.{work}"


def meanings() -> list[str]:
    """Return the meaning of each option, once per class of options, from its docstring."""
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
            raise SystemExit(f"{cls.__name__} does not document {sorted(missing)}")
        first, *rest = said[""]
        shown = ", ".join(f"`{name}`" for name in ids) if len(ids) < MANY else first.rstrip(".")
        defaults = {f.name: f"{f.default!r}" for f in dataclasses.fields(cls)}
        lines += ["", f"**{markdown(shown)}**", *map(markdown, rest), ""]
        lines += [with_default(line, defaults) for line in described]
    return lines


def with_default(line: str, defaults: dict[str, str]) -> str:
    """Return the line of an option with its default after the name, if all share one."""
    names = line.split("`")[1]
    values = dict.fromkeys(defaults[name] for name in re.findall(r"\w+", names))
    if len(values) > 1:
        return line
    return line.replace(f"`{names}`", f"`{names}={values.popitem()[0]}`", 1)
