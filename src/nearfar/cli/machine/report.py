"""Make an HTML file from a folder that 'nearfar experiment' or 'nearfar bench' wrote.

Tables can be sorted and figures are embedded, so the file works without a network.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.cli.answers import check_folder
from nearfar.cli.console import emit
from nearfar.cli.parser import flag
from nearfar.errors import OptionError

NAME = "report"
CALLS = ("nearfar.lab.report.write_report",)
HELP = "one self-contained HTML file of an experiment"
EXAMPLES = """\
nearfar report results/davidson-2014
nearfar report results/davidson-2014 -o report.html --title "Near-Far on our machine\""""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    parser.add_argument(
        "folder", metavar="DIR", type=Path, help="output folder of an experiment or a benchmark"
    )
    flag(parser, "-o --output FILE", "default: report.html in DIR", Path)
    flag(parser, "--title TITLE", "default: the first heading found")


def run(args: argparse.Namespace) -> None:
    """Write the page, and report its path and size."""
    from nearfar.lab.report import write_report

    if args.output is not None and args.output.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"output {args.output}: the report is a page, end its name in .html")
    if args.output is not None:
        check_folder(str(args.output))
    file = write_report(args.folder, args.output, title=args.title)
    size = file.stat().st_size
    said = [f"wrote {file} ({size:,} bytes)"]
    emit(args, {"report": str(file), "bytes": size}, said, summary=True)
