"""Draw a map of travel times: every edge in the colour of how far away it is.

The graph needs coordinates, as OpenStreetMap extracts and DIMACS files with a .co file have. Times
in seconds are shown in minutes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import (
    add_graph,
    add_solver,
    number,
    read_graph,
    read_vertex,
    solver_options,
)
from nearfar.cli.console import Exit, duration, emit, rows
from nearfar.errors import OptionError
from nearfar.system.output import replacing

if TYPE_CHECKING:
    import argparse

NAME = "map"
HELP = "draw a map of travel times"
EXAMPLES = """\
nearfar map town.osm.pbf 25291537 -o town.png
nearfar map town.osm.pbf 25291537 --read-option mode=walk --title "On foot" -o town.svg
nearfar map roads.gr.gz 1 --limit 60000 -o near.pdf"""

_SUFFIXES = (".png", ".svg", ".pdf")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)
    parser.add_argument("source", metavar="SOURCE", help="vertex name or number, or LAT,LON")
    parser.add_argument(
        "-o", "--output", metavar="IMAGE", required=True, help=f"{', '.join(_SUFFIXES)}"
    )
    parser.add_argument("--title", default="", help="heading of the map")
    parser.add_argument(
        "--limit", type=number, metavar="D", help="leave out what is farther than D"
    )
    add_solver(parser)


def run(args: argparse.Namespace) -> int:
    """Solve, prove, draw."""
    import nearfar
    from nearfar.answer import draw_isochrones
    from nearfar.solve.isochrone import shown_unit

    if not args.output.lower().endswith(_SUFFIXES):
        raise OptionError(f"output {args.output!r}: use one of {', '.join(_SUFFIXES)}")
    check_folder(args.output)
    graph, _ = read_graph(args)
    source = read_vertex(args, graph, args.source, "source")
    paths = nearfar.sssp(graph, source, limit=args.limit, **solver_options(args))
    nearfar.verify(graph, paths)
    scale, shown = shown_unit(graph)
    began = time.perf_counter()
    with replacing(args.output) as temporary:
        draw_isochrones(paths, temporary, title=args.title, scale=scale, unit=shown)
    facts = {
        "source": source,
        "reached": paths.n_reached,
        "engine": paths.engine,
        "proved": True,
        "output": args.output,
        "attribution": graph.attributes.get("attribution"),
        "draw_seconds": time.perf_counter() - began,
    }
    lines = [
        ("map", f"{args.output}, drawn in {duration(facts['draw_seconds'])}"),
        ("reached", f"{paths.n_reached:,} of {graph.n_vertices:,} vertices, proved"),
        ("method", f"{paths.engine} ({paths.reason})"),
    ]
    if facts["attribution"]:
        lines.append(("data", facts["attribution"]))
    emit(args, facts, rows(lines), summary=True)
    return Exit.OK
