"""Draw data that other commands recorded.

For 'nearfar sssp --profile FILE', the sizes of frontier and far pile per iteration (Figure 4 of
Davidson et al. 2014); for a file of 'nearfar sweep', work and parallelism against delta (Figure 7).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from nearfar.cli.answers import check_folder
from nearfar.cli.console import emit
from nearfar.cli.parser import flag
from nearfar.errors import OptionError

NAME = "plot"
CALLS = ("nearfar.lab.profile.plot_profile",)
HELP = "draw a recorded run or a sweep over delta"
EXAMPLES = """\
nearfar sssp roads.gr.gz 1 --method near_far --profile run.json
nearfar plot run.json -o run.png
nearfar sweep roads.gr.gz 1 -o sweep.json
nearfar plot sweep.json -o sweep.svg"""

_ENDINGS = (".png", ".svg", ".pdf")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="profile or sweep, as JSON")
    text = f"image to write ({', '.join(_ENDINGS)}); the default is FILE with .png"
    flag(parser, "-o --output IMAGE", text, Path)


def run(args: argparse.Namespace) -> None:
    """Read the data, draw it, and report the file."""
    from nearfar.lab.profile import plot_profile, read_profile

    if args.file.is_dir():
        raise OptionError(f"{args.file} is a folder: give a profile or a sweep")
    image = args.output or args.file.with_suffix(".png")
    if image.suffix.lower() not in _ENDINGS:
        raise OptionError(f"cannot draw {image}: use an ending out of {', '.join(_ENDINGS)}")
    check_folder(str(image))
    plot_profile(read_profile(args.file), image)
    emit(args, {"image": str(image)}, [f"wrote {image}"], summary=True)
