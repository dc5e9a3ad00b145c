"""Find a shortest path.

Prints the vertices with their distances, one per line, and the length last. On a file of 'nearfar
prepare' this takes microseconds and may return another shortest path than a search.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar.cli.answers import check_geography
from nearfar.cli.arguments import add_graph, load_methods, read_with_turns
from nearfar.cli.console import duration, emit, note
from nearfar.cli.flags import add_flags, add_solver, call_of
from nearfar.cli.parser import flag
from nearfar.cli.places import add_turns
from nearfar.cli.queries.sssp import distance_text

if TYPE_CHECKING:
    from nearfar.answer.paths import Paths

NAME = "path"
HELP = "one shortest path"
CALLS = ("nearfar.shortest_path", "nearfar.sssp")
EXAMPLES = """\
nearfar path roads.gr.gz 1 42
nearfar path roads.gr.gz 1 42 --json
nearfar path town.osm.pbf 60.17,24.94 60.19,24.96 --turns -o route.geojson
nearfar path town.osm.pbf 25291537 25291564 --read-option mode=walk"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    from nearfar.solve.one import shortest_path, sssp

    add_graph(parser)
    add_flags(parser, shortest_path, ["source", "target", "limit"])
    flag(parser, "--prove", "prove the answer (exit 6 if it fails)")
    add_turns(parser)
    flag(parser, "-o --output FILE", "also write the route; .geojson or .gpkg")
    add_solver(parser, sssp)


def run(args: argparse.Namespace) -> None:
    """Find the path and print it."""
    from nearfar.answer.geography import route_lines, write_geography
    from nearfar.prepared.prepared import Prepared
    from nearfar.prepared.turns import PreparedTurns
    from nearfar.solve.one import WALKED

    check_geography(args.output)
    graph, searched = read_with_turns(args)
    call = call_of(args, graph, nearfar.shortest_path, nearfar.sssp)
    source, target = call.pop("source"), call.pop("target")
    load_methods()
    if graph.forbidden_turns and not args.turns:
        note(args, f"{len(graph.forbidden_turns):,} forbidden turns are ignored without --turns")
    began = time.perf_counter()
    if (
        isinstance(searched, (Prepared, PreparedTurns))
        and not (args.prove or args.option or args.device == "cuda")
        and args.method == "auto"
        and args.limit is None
    ):
        edges: Any = searched.path_edges(source, target)
        vertices = [source, *graph.name_of(graph.indices[edges]).tolist()]
        distances = searched.lengths(edges)
        seconds = time.perf_counter() - began
        engine, reason = "prepared", WALKED
    else:
        paths = nearfar.sssp(searched, source, targets=[target], **call)
        vertices = paths.path_to(target)
        seconds = time.perf_counter() - began
        if args.prove:
            nearfar.verify(searched, paths)
        distances = _along(paths, target)
        engine, reason = paths.engine, paths.reason
    if args.output is not None:
        write_geography(route_lines(graph, [(vertices, distances[-1])]), args.output)
    unit = graph.attributes.get("unit")
    facts = {
        "source": source,
        "target": target,
        "length": distances[-1],
        "unit": unit,
        "vertices": vertices,
        "distances": distances,
        "engine": engine,
        "reason": reason,
        "seconds": seconds,
        "proved": bool(args.prove),
    }
    lines = [f"{v}\t{d}" for v, d in zip(vertices, distances, strict=True)]
    emit(args, facts, lines)
    hops = len(vertices) - 1
    proof = ", proved" if args.prove else ""
    note(
        args,
        f"length {distance_text(distances[-1], unit)} over {hops:,} edges, "
        f"{engine}, {duration(seconds)}{proof}",
    )


def _along(paths: Paths, target: Any) -> list[Any]:
    """Return the distance of each vertex of the path to a target along that path.

    With turns it may exceed the distance of the vertex from the source.
    """
    dtype = paths.distances.dtype
    steps = paths.graph.effective_weights[paths.edges_to(target)].astype(dtype)
    found: list[Any] = [dtype.type(0).item(), *np.cumsum(steps, dtype=dtype).tolist()]
    return found
