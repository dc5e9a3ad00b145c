"""The page of the methods, with a table of their families, from the registry."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re

from docs.generators.python_reference import entries, markdown, sections
from nearfar.registry import Variant, variants

__all__ = ["page", "short_table"]


def families() -> dict[str, list[Variant]]:
    """Variants by family, unsafe ones included."""
    found: dict[str, list[Variant]] = {}
    for v in variants(unsafe=True):
        found.setdefault(v.family, []).append(v)
    return found


def short_table() -> str:
    """One line per family."""
    lines = ["| family | methods | devices | weights |", "|---|---|---|---|"]
    for family, members in families().items():
        names = ", ".join(f"`{idea}`" for idea in sorted({v.idea for v in members if not v.unsafe}))
        devices = ", ".join(sorted({v.device for v in members}))
        weights = ", ".join(sorted({v.weights for v in members}))
        lines.append(f"| {family.replace('_', ' ')} | {names} | {devices} | {weights} |")
    return "\n".join(lines)


def options_of(variant: Variant) -> str:
    """Options with their defaults."""
    fields = dataclasses.fields(variant.options)
    shown = [f"`{f.name}={f.default!r}`" for f in fields if f.default is not dataclasses.MISSING]
    return ", ".join(shown) or "none"


def prose(text: str) -> str:
    """A docstring as Markdown: code spans, and no double colon before an indented block."""
    plain = re.sub(r"::$", ":", text.strip(), flags=re.MULTILINE)
    return markdown(re.sub(r"^:$", "", plain, flags=re.MULTILINE))


def meanings() -> list[str]:
    """Every option of every variant: what it does, from the docstrings of the options' classes."""
    users: dict[type, list[str]] = {}
    for v in variants(unsafe=True):
        if dataclasses.fields(v.options):
            users.setdefault(v.options, []).append(v.id)
    lines = []
    for cls, ids in users.items():
        said = sections(inspect.getdoc(cls) or "")
        names = ", ".join(f"`{name}`" for name in ids)
        first, *rest = said[""]
        title = names if len(ids) <= 3 else markdown(first.rstrip("."))
        more = "\n".join(rest).strip()
        lines += ["", f"### {title}", ""]
        lines += [f"Of {names}.", ""] if title != names else []
        lines += [markdown(more), ""] if more else []
        described = list(entries(said.get("Parameters", [])))
        lines += described
        named = {name for line in described for name in re.findall(r"\w+", line.split("`")[1])}
        if missing := {f.name for f in dataclasses.fields(cls)} - named:
            raise SystemExit(f"{cls.__name__} does not say what {sorted(missing)} mean")
    return lines


def page() -> str:
    """docs/reference/methods.md in full."""
    parts = [
        "# Methods",
        "",
        "Generated from the registry by `python -m docs.generators`; `nearfar methods` prints "
        "the same with what is",
        "available on the machine at hand. Pass an id as `method=` to `nearfar.sssp` or `--method` "
        "to `nearfar sssp`.",
        "Keys of papers are those of `CITATION.cff`.",
        "",
        short_table(),
    ]
    for family, members in families().items():
        folders = sorted({v.run.__module__.rpartition(".")[0] for v in members})
        described = [prose(importlib.import_module(name).__doc__ or "") for name in folders]
        parts += ["", f"## {family.replace('_', ' ').capitalize()}", "", "\n\n".join(described)]
        parts += [
            "",
            "| id | what | weights | problems | options | source | work |",
            "|---|---|---|---|---|---|---|",
        ]
        for v in members:
            source = " ".join(filter(None, (v.paper, v.section)))
            mark = " **unsafe**" if v.unsafe else ""
            parts.append(
                f"| `{v.id}`{mark} | {v.summary} | {v.weights} | {', '.join(sorted(v.problems))} | "
                f"{options_of(v)} | {source} | {v.complexity} |"
            )
    parts += [
        "",
        "## Options",
        "",
        "Keywords of `nearfar.sssp` and `nearfar.distances`, or `--option KEY=VALUE`; the defaults "
        "stand in the",
        "tables above. `None` lets the method choose.",
        *meanings(),
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)) + "\n"
