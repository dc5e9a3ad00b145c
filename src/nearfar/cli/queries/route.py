"""Find the shortest route between two places, or several alternative routes.

A place is LAT,LON in degrees, X,Y in other coordinates, or a vertex. It is snapped to the nearest
street, and the parts of the first and the last street count. Prints the length and the number of
edges of each route. More than one route needs a file of 'nearfar prepare'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import add_graph, at_least_one, load_methods, read_graph
from nearfar.cli.console import Exit, emit
from nearfar.cli.places import add_snapping, one_place, remarks, snapping
from nearfar.cli.queries.sssp import distance_text
from nearfar.errors import OptionError

if TYPE_CHECKING:
    import argparse

NAME = "route"
CALLS = ("nearfar.route", "nearfar.routes")
HELP = "the shortest route between two places, and alternatives"
EXAMPLES = """\
nearfar route roads.nfp 60.17,24.94 60.19,24.96 -o route.geojson
nearfar route roads.nfp 60.17,24.94 60.19,24.96 -k 3 --stretch 1.4 --json
nearfar route town.osm.pbf 60.17,24.94 60.19,24.96"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    add_graph(parser)
    parser.add_argument("origin", metavar="ORIGIN", help="LAT,LON, or X,Y, or a vertex")
    parser.add_argument("destination", metavar="DESTINATION", help="likewise")
    parser.add_argument(
        "-k", type=at_least_one, default=1, metavar="K", help="routes at the most (default: 1)"
    )
    parser.add_argument(
        "--stretch",
        type=float,
        default=1.25,
        metavar="X",
        help="how much longer alternatives may be (default: 1.25 times)",
    )
    parser.add_argument(
        "--sharing",
        type=float,
        default=0.8,
        metavar="X",
        help="how much of the shortest route they may share (default: 0.8)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="also write them; .geojson or .gpkg")
    add_snapping(parser)


def run(args: argparse.Namespace) -> int:
    """Find the routes and print them."""
    import nearfar
    from nearfar.answer.geography import write_geography
    from nearfar.solve.places.route import routes_geojson

    if args.output is not None:
        if not args.output.lower().endswith((".geojson", ".json", ".gpkg")):
            raise OptionError(f"output {args.output!r}: end it in .geojson or .gpkg")
        check_folder(args.output)
    graph, _ = read_graph(args)
    load_methods()
    ends = [one_place(args, graph, getattr(args, what), what) for what in ("origin", "destination")]
    if args.k > 1 and not isinstance(graph, nearfar.Prepared):
        raise OptionError(f"-k {args.k} needs a prepared graph: nearfar prepare {args.graph}")
    with remarks(args, graph):
        if isinstance(graph, nearfar.Prepared) and args.k > 1:
            how = {"stretch": args.stretch, "sharing": args.sharing, **snapping(args)}
            found = nearfar.routes(graph, ends[0], ends[1], args.k, **how)
        else:
            found = [nearfar.route(graph, ends[0], ends[1], **snapping(args))]
    if args.output is not None:
        write_geography(routes_geojson(found), args.output)
    unit = graph.attributes.get("unit")
    facts = [
        {
            "length": one.length,
            "unit": unit,
            "vertices": one.vertices,
            "edges": one.edges,
            "coordinates": one.points,
        }
        for one in found
    ]
    lines = [f"{distance_text(one.length, unit)}\t{len(one.edges):,} edges" for one in found]
    emit(args, facts, lines)
    return Exit.OK
