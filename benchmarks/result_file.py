"""``-o FILE`` of every benchmark: the one JSON file that it writes."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_output"]


def add_output(parser: argparse.ArgumentParser) -> None:
    """Give a parser ``-o FILE``, which is a path or None; a folder is refused with a sentence."""

    def file(text: str) -> Path:
        path = Path(text)
        if path.is_dir() or path.suffix != ".json":
            example = f"{Path(parser.prog).stem}.json"
            example = str((path if path.is_dir() else path.parent) / example)
            what = "a folder" if path.is_dir() else "not named *.json"
            raise argparse.ArgumentTypeError(f"{text} is {what}: give a file, such as {example}")
        return path

    parser.add_argument(
        "-o",
        "--output",
        type=file,
        metavar="FILE",
        help="JSON file for the results, made with its folder (default: print only)",
    )
