"""Draw a map of travel times, with every edge in the colour of its distance.

The graph needs coordinates, such as those of OpenStreetMap extracts and of DIMACS files with a .co
file. An .html file is an interactive map; .geojson and .gpkg files hold the streets within each of
--breaks, around one source or around each of many (--more).
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import nearfar
from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_graph, number, read_graph, vertex_list
from nearfar.cli.console import duration, emit, rows
from nearfar.cli.flags import add_flags, add_solver, call_of, refuse_others
from nearfar.cli.parser import flag
from nearfar.cli.places import one_place, remarks
from nearfar.errors import OptionError
from nearfar.graph.graph import Graph

if TYPE_CHECKING:
    from nearfar.answer.paths import Paths

NAME = "map"
HELP = "draw a map of travel times"
CALLS = ("nearfar.sssp", "nearfar.isochrones")
EXAMPLES = """\
nearfar map town.osm.pbf 25291537 -o town.png
nearfar map town.osm.pbf 25291537 --read-option mode=walk --title "On foot" -o town.svg
nearfar map town.osm.pbf 60.17,24.94 -o town.html
nearfar map town.osm.pbf 25291537 --breaks 300 600 900 --polygons -o town.geojson
nearfar map town.osm.pbf 25291537 --more 60.17,24.94 60.18,24.95 --breaks 300 -o reach.geojson
nearfar map roads.gr.gz 1 --limit 60000 -o near.pdf"""

_PICTURES = (".png", ".svg", ".pdf")
_GEOGRAPHY = (".geojson", ".gpkg")
_SUFFIXES = (*_PICTURES, ".html", *_GEOGRAPHY)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.one import sssp

    add_graph(parser)
    add_flags(parser, sssp, ["source", "limit"])
    flag(parser, "-o --output IMAGE", ", ".join(_SUFFIXES), required=True)
    flag(parser, "--title TITLE", "heading of the map", default="")
    text = "limits of the areas in .geojson and .gpkg files, in units of the weights"
    flag(parser, "--breaks D...", text, number)
    flag(parser, "--polygons", "write areas instead of the lines in them; needs shapely")
    flag(
        parser,
        "--more VERTEX...",
        "further sources, for .geojson and .gpkg; if all sources are LAT,LON, each starts at its "
        "place on the street",
    )
    add_solver(parser, sssp)


def _write_reach(args: argparse.Namespace, graph: Graph) -> None:
    """Write the reach of each of many sources, by one search within the largest break for each."""
    from nearfar.answer import write_geography
    from nearfar.solve.places.given import is_place

    if args.breaks is None:
        raise OptionError("--more needs --breaks")
    refuse_others(
        args,
        {"breaks", "polygons", "more", "output", "device", "threads"},
        "--more cannot be combined with {flag}",
    )
    given = [args.source, *args.more]
    sources = [one_place(args, graph, text, "source") for text in given]
    if not all(is_place(graph, one) for one in sources):
        sources = vertex_list(args, graph, given, "source") or []
    began = time.perf_counter()
    with remarks(args, graph):
        found = nearfar.isochrones(
            graph,
            sources,
            args.breaks,
            polygons=args.polygons,
            device=args.device,
            threads=args.threads,
        )
    write_geography(found, args.output)
    facts = {
        "sources": sources,
        "features": len(found["features"]),
        "output": args.output,
        "attribution": found.get("attribution"),
        "draw_seconds": time.perf_counter() - began,
    }
    took = duration(facts["draw_seconds"])
    lines = [("reach", f"of {len(sources):,} sources in {args.output}, in {took}")]
    if facts["attribution"]:
        lines.append(("data", facts["attribution"]))
    emit(args, facts, rows(lines), summary=True)


def _draw(args: argparse.Namespace, graph: Graph, paths: Paths) -> None:
    """Write the file in the format of the suffix."""
    from nearfar.answer import draw_isochrones, draw_page, isochrones, write_geography
    from nearfar.solve.isochrone import shown_unit

    if args.output.lower().endswith(_GEOGRAPHY):
        write_geography(isochrones(paths, args.breaks, polygons=args.polygons), args.output)
        return
    scale, unit = shown_unit(graph)
    if args.output.lower().endswith(".html"):
        draw_page(paths, args.output, title=args.title, scale=scale, unit=unit)
        return
    draw_isochrones(paths, args.output, title=args.title, scale=scale, unit=unit)


def run(args: argparse.Namespace) -> None:
    """Solve, prove and draw."""
    if not args.output.lower().endswith(_SUFFIXES):
        raise OptionError(f"output {args.output!r}: use one of {', '.join(_SUFFIXES)}")
    if (args.breaks is not None) != args.output.lower().endswith(_GEOGRAPHY):
        raise OptionError(
            f"--breaks requires {' or '.join(_GEOGRAPHY)}, and these require --breaks"
        )
    if args.polygons and args.breaks is None:
        raise OptionError("--polygons requires --breaks")
    check_folder(args.output)
    graph, _ = read_graph(args)
    if args.more is not None:
        _write_reach(args, graph)
        return
    call = call_of(args, graph, nearfar.sssp)
    paths = nearfar.sssp(graph, **call)
    nearfar.verify(graph, paths)
    began = time.perf_counter()
    _draw(args, graph, paths)
    facts = {
        "source": call["source"],
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
