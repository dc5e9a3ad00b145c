"""Tables of the file formats, from their registry."""

from __future__ import annotations

from nearfar.formats import formats

__all__ = ["options", "table"]


def table() -> str:
    """Return a table of formats with suffixes, directions and properties kept by a round trip."""
    lines = [
        "| name | format | suffixes | read | write | extra | kept in a round trip |",
        "|---|---|---|---|---|---|---|",
    ]
    for spec in formats().values():
        suffixes = " ".join(f"`{suffix}`" for suffix in spec.suffixes)
        ways = ["yes" if way is not None else "no" for way in (spec.read, spec.write)]
        extra = f"`{spec.extra}`" if spec.extra else ""
        cells = [f"`{spec.name}`", spec.title, suffixes, *ways, extra, spec.keeps]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def options() -> str:
    """Return a table of the options of reading and writing, with their defaults."""
    lines = ["| format | reading | writing |", "|---|---|---|"]
    for spec in formats().values():
        cells = [
            ", ".join(f"`{name}={value!r}`" for name, value in options.items())
            for options in (spec.read_options(), spec.write_options())
        ]
        lines.append(f"| `{spec.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)
