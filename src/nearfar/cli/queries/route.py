"""Find the shortest route between two places, or several alternative routes.

A place is LAT,LON in degrees, X,Y in other coordinates, or a vertex. It is snapped to the nearest
street, and the parts of the first and the last street count. Prints the length and the number of
edges of each route. More than one route needs a file of 'nearfar prepare'.
"""

from __future__ import annotations

import argparse

import nearfar
from nearfar.cli.answers import check_geography
from nearfar.cli.arguments import add_graph, load_methods, read_with_turns
from nearfar.cli.console import emit
from nearfar.cli.flags import add_flags, call_of
from nearfar.cli.parser import flag
from nearfar.cli.places import add_snapping, one_place, remarks
from nearfar.cli.queries.sssp import distance_text
from nearfar.errors import OptionError

NAME = "route"
CALLS = ("nearfar.route", "nearfar.routes")
HELP = "the shortest route between two places, and alternatives"
EXAMPLES = """\
nearfar route roads.nfp 60.17,24.94 60.19,24.96 -o route.geojson
nearfar route roads.nfp 60.17,24.94 60.19,24.96 -k 3 --stretch 1.4 --json
nearfar route town-turns.nfp 60.17,24.94 60.19,24.96 -k 3 --turns
nearfar route town.osm.pbf 60.17,24.94 60.19,24.96"""

#: Flags that the search for alternatives does not have, with their defaults.
_SOLVER = {"method": "auto", "device": "auto", "threads": None}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.places.alternatives import routes
    from nearfar.solve.places.route import route

    add_graph(parser)
    texts = {"origin": "LAT,LON, or X,Y, or a vertex", "destination": "likewise"}
    texts |= {
        "k": "maximum number of routes (default: 1)",
        "stretch": "maximum length of alternatives relative to the shortest route",
        "sharing": "maximum share of the shortest route in common with it",
        "local": "share of it around an alternative that is itself a shortest path",
    }
    add_flags(parser, routes, texts, flags={"k": "-k"}, help=texts)
    parser.set_defaults(k=1)
    flag(parser, "-o --output FILE", "also write them; .geojson or .gpkg")
    add_snapping(parser, routes)
    add_flags(parser.add_argument_group("method of one route"), route, _SOLVER)


def run(args: argparse.Namespace) -> None:
    """Find the routes and print them."""
    from nearfar.answer.geography import write_geography
    from nearfar.prepared.turns import PreparedTurns
    from nearfar.solve.places.route import routes_geojson

    check_geography(args.output)
    several = args.k != 1
    changed = [name for name, default in _SOLVER.items() if getattr(args, name) != default]
    if several and changed:
        raise OptionError(f"--{changed[0]} is an option of one route: omit it, or -k")
    graph, searched = read_with_turns(args)
    load_methods()
    call = call_of(args, graph, nearfar.routes if several else nearfar.route)
    call |= {end: one_place(args, graph, call[end], end) for end in ("origin", "destination")}
    with remarks(args, graph):
        if not several:
            found = [nearfar.route(searched, **call)]
        elif isinstance(searched, (nearfar.Prepared, PreparedTurns)):
            found = nearfar.routes(searched, **call)
        else:
            turns = " --turns" * args.turns
            raise OptionError(
                f"-k {args.k} needs a prepared graph: nearfar prepare {args.graph}{turns}"
            )
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
