"""The page of the file formats, from their registry."""

from __future__ import annotations

from nearfar.formats import formats
from nearfar.lab.checkout import NOTICE

__all__ = ["page"]


def page() -> str:
    """The page of the file formats."""
    lines = ["# File formats", "", NOTICE, ""]
    lines += [
        "`nearfar.read` and `nearfar.write` take the format from suffix and content, or from",
        "`format=`. Every format may be compressed: `.gz`, `.xz`, `.bz2`, and `.zst` with the",
        "extra `zstd`. A damaged file raises `GraphFormatError` with file and line.",
        "",
        "| name | format | suffixes | read | write | extra | kept in a round trip |",
        "|---|---|---|---|---|---|---|",
    ]
    for spec in formats().values():
        suffixes = " ".join(f"`{suffix}`" for suffix in spec.suffixes)
        ways = ["yes" if way is not None else "no" for way in (spec.read, spec.write)]
        extra = f"`{spec.extra}`" if spec.extra else ""
        cells = [f"`{spec.name}`", spec.title, suffixes, *ways, extra, spec.keeps]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "## Options", ""]
    lines += ["Keywords of `read` and `write`; on the command line `--read-option KEY=VALUE`.", ""]
    lines += ["| format | reading | writing |", "|---|---|---|"]
    for spec in formats().values():
        cells = [
            ", ".join(f"`{name}={value!r}`" for name, value in options.items())
            for options in (spec.read_options(), spec.write_options())
        ]
        lines.append(f"| `{spec.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
