"""Convert a graph from one file format to another.

The suffix of OUT chooses the format, and .gz, .xz, .zst or .bz2 after it the compression.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_key_values, add_reader_options, read_file, write_graph
from nearfar.cli.console import duration, emit, rows
from nearfar.cli.parser import flag
from nearfar.errors import OptionError
from nearfar.formats import Format, formats, written_as

NAME = "convert"
CALLS = ("nearfar.read", "nearfar.write")
HELP = "convert between file formats"
EXAMPLES = """\
nearfar convert roads.gr.gz roads.nfg
nearfar convert edges.csv graph.mtx.gz --dtype float64
nearfar convert edges.txt edges.gr --read-option directed=false
nearfar convert --list"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    parser.add_argument(
        "input", metavar="IN", nargs="?", help="graph file to read; - for standard input"
    )
    parser.add_argument("output", metavar="OUT", nargs="?", help="graph file to write")
    flag(parser, "--from NAME", "format of IN", dest="format")
    flag(parser, "--to NAME", "format of OUT", dest="to_format")
    text = "dtype of the weights; fails where one does not fit, but rounds floats to float32"
    flag(parser, "--dtype", text, choices=["int32", "int64", "float32", "float64"])
    add_reader_options(parser)
    add_key_values(parser, "--write-option", "option of the writer")
    flag(parser, "--list", "list the formats and their options")


def run(args: argparse.Namespace) -> None:
    """Read, write and report."""
    if args.list:
        _list(args)
        return
    if args.input is None or args.output is None:
        raise OptionError("convert needs IN and OUT, or --list")
    check_folder(args.output)
    graph, read_seconds = read_file(args, args.input, args.format, args.dtype)
    write_seconds = write_graph(args, graph, args.to_format)
    written = written_as(args.output, args.to_format)
    facts = {
        "input": args.input,
        "input_format": graph.attributes.get("format"),
        "output": args.output,
        "output_format": written.name,
        "output_keeps": written.keeps,
        "n_vertices": graph.n_vertices,
        "n_edges": graph.n_edges,
        "weights": graph.weight_dtype.name if graph.is_weighted else None,
        "input_bytes": None if args.input == "-" else os.path.getsize(args.input),
        "output_bytes": os.path.getsize(args.output),
        "read_seconds": read_seconds,
        "write_seconds": write_seconds,
    }
    lines = rows(
        [
            ("graph", graph),
            ("read", f"{args.input} in {duration(read_seconds)} ({facts['input_format']})"),
            ("written", f"{args.output} in {duration(write_seconds)} ({written.name})"),
            ("keeps", written.keeps),
        ]
    )
    emit(args, facts, lines, summary=True)


def _list(args: argparse.Namespace) -> None:
    found = [_describe(spec) for spec in formats().values()]
    lines: list[str] = []
    for item in found:
        ways = " and ".join(way for way in ("read", "write") if item[way])
        extra = f"; pip extra {item['extra']}" if item["extra"] else ""
        lines.append(f"{item['name']}: {item['title']}")
        lines.append(f"  suffixes {', '.join(item['suffixes']) or 'none'}; {ways}{extra}")
        for way in ("read", "write"):
            options = item[f"{way}_options"]
            if options:
                shown = ", ".join(f"{name}={value}" for name, value in options.items())
                lines.append(f"  --{way}-option {shown}")
    emit(args, found, lines)


def _describe(spec: Format) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "suffixes": list(spec.suffixes),
        "read": spec.read is not None,
        "write": spec.write is not None,
        "extra": spec.extra,
        "keeps": spec.keeps,
        "read_options": spec.read_options(),
        "write_options": spec.write_options(),
    }
