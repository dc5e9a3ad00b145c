"""The page of the file formats, from their registry, and how fast they are read and written."""

from __future__ import annotations

from docs.generators.table import measured_on, milliseconds, not_measured, number, table
from nearfar.formats import formats
from nearfar.lab.checkout import NOTICE, results

__all__ = ["page", "parse_speed"]


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


def parse_speed() -> str:
    """Reading and writing of every format."""
    document = results("parse_speed.json")
    if document is None:
        return not_measured("parse_speed.json")
    rows, extra = [], []
    for row in document["rows"]:
        if row["options"]:
            extra.append(row)
            continue
        speeds = (row["read_megabytes_per_second"], row["write_megabytes_per_second"])
        cells = [f"`{row['file']}`", row["graph"], f"{row['megabytes']:.0f}"]
        cells += [f"{speed:,.0f}" for speed in speeds]
        rows.append([*cells, number(row["read_million_edges_per_second"])])
    lines = [
        table(["file", "graph", "MB", "read MB/s", "write MB/s", "read, million edges/s"], rows),
        "",
        f"{document['vertices']:,} vertices and {document['edges']:,} edges; medians of "
        f"{document['rounds']} reads; {measured_on([document])};",
        "`benchmarks/results/parse_speed.json`.",
    ]
    for row in extra:
        if row["options"] == {"verify": False}:
            took = sorted(row["read_seconds"])[len(row["read_seconds"]) // 2]
            lines.append(
                f"The {row['megabytes']:.0f} MB container opens in {milliseconds(took)} ms with "
                "`verify=False`."
            )
    return "\n".join(lines)
