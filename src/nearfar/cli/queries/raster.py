"""Compute the least cost from some cells of a raster to all others, and draw routes.

"-" with --elevation uses only the terrain, in seconds by Tobler's hiking function. Cells are
ROW,COLUMN (PLANE,ROW,COLUMN) or a .geojson file of points in the raster's coordinates. Every
surface is proven.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cli.answers import check_folder
from nearfar.cli.arguments import at_least_one, byte_count, number
from nearfar.cli.console import duration, emit, note, rows
from nearfar.cli.parser import flag
from nearfar.errors import GraphFormatError, OptionError, quoted
from nearfar.system.output import replacing
from nearfar.system.progress import Progress

if TYPE_CHECKING:
    from nearfar.raster import Raster, Surface

NAME = "raster"
CALLS = ("nearfar.raster.cost_distance", "nearfar.raster.Raster")
HELP = "least costs over a raster, from some cells to all others"
EXAMPLES = """\
nearfar raster cost.tif --from wells.geojson -o surface.tif
nearfar raster cost.npy --from 120,45 --to 900,1400 --paths routes.geojson --plot map.png
nearfar raster - --elevation dem.tif --from 10,10 --limit 3600 -o an-hour.tif"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments."""
    parser.add_argument("cost", metavar="COST", help=".tif, .npy or .map; - for 1 everywhere")
    flag(parser, "--from CELL...", "sources", dest="sources", required=True)
    flag(parser, "--to CELL...", "targets of --paths and --plot")
    flag(parser, "-o --output FILE", "the surface, as .tif or .npy")
    flag(parser, "--allocation FILE", "nearest source of each cell, numbered from 0; .tif, .npy")
    flag(parser, "--paths FILE", "routes as GeoJSON; needs --to")
    flag(parser, "--plot IMAGE", "picture of the surface; .png, .svg or .pdf")
    flag(parser, "--title TITLE", "heading of the picture", default="")
    flag(parser, "--elevation FILE", "elevation model, which makes slopes cost more")
    flag(parser, "--connectivity N", "4, 8, 16; 6, 18, 26 in a volume", at_least_one)
    text = "cost of a step per length"
    flag(parser, "--step", text, choices=("mean", "enter"), default="mean")
    flag(parser, "--cell-size L...", "length of a cell, along each axis", number)
    flag(parser, "--no-data X", "cost that marks barriers", number)
    text = "treatment of negative costs (default: error)"
    flag(parser, "--negative", text, choices=("error", "barrier"), default="error")
    flag(parser, "--limit D", "leave cells of greater cost unreached", number)
    text = "device to run on (default: auto, the CPU)"
    flag(parser, "--device", text, choices=("auto", "cpu", "cuda"), default="auto")
    flag(
        parser,
        "--memory BYTES",
        "memory of a GPU for the search, such as 4G (default: all that is free); a raster that "
        "needs more is solved by parts",
        byte_count,
    )
    flag(parser, "--threads N", "CPU workers (default: all cores)", at_least_one)


_SURFACES = (".tif", ".tiff", ".npy")
#: Ends of the names of files that are written.
_ENDINGS = {
    "output": _SURFACES,
    "allocation": _SURFACES,
    "paths": (".geojson", ".json"),
    "plot": (".png", ".svg", ".pdf"),
}


def run(args: argparse.Namespace) -> None:
    """Solve, prove, write and draw."""
    from nearfar.raster import cost_distance, draw_surface, write_raster

    if args.paths and not args.to:
        raise OptionError("--paths needs --to")
    for name, endings in _ENDINGS.items():
        if file := getattr(args, name):
            check_folder(file)
            if not file.lower().endswith(endings):
                raise OptionError(f"--{name} is {quoted(file)}: end it in {', '.join(endings)}")
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        raster = _read(args)
    for one in told:
        note(args, str(one.message).replace("cell_size", "--cell-size"))
    read = time.perf_counter() - began
    sources = _cells(raster, args.sources)
    ends = _cells(raster, args.to) if args.to else []
    with Progress("searching", enabled=not args.quiet) as progress:
        surface = cost_distance(
            raster, sources, limit=args.limit, device=args.device, threads=args.threads,
            memory=args.memory, progress=progress,
        )  # fmt: skip
    surface.verify()
    routes = surface.paths_to(ends) if len(ends) else []
    lengths = [surface.distance_to(cell) for cell in ends]
    if args.output:
        write_raster(surface, args.output)
    if args.allocation:
        write_raster(surface.allocation, args.allocation, like=raster)
    if args.paths:
        _write_routes(surface, ends, routes, lengths, args.paths)
    if args.plot:
        draw_surface(surface, args.plot, routes=routes, title=args.title)
    reached = int(surface.reachable.sum())
    files = [f for f in (args.output, args.allocation, args.paths, args.plot) if f]
    facts = {
        "shape": list(raster.shape),
        "sources": [list(cell) for cell in sources],
        "targets": [list(cell) for cell in ends],
        "distances": [None if d == float("inf") else d for d in lengths],
        "reached": reached,
        "barriers": raster.n_barriers,
        "engine": surface.engine,
        "proved": True,
        "files": files,
        "read_seconds": read,
        "seconds": surface.stats["seconds"],
        "parts": surface.stats.get("parts", 1),
    }
    size = " x ".join(map(str, raster.shape))
    lines = [
        ("raster", f"{size} cells, {raster.n_barriers:,} barriers, {raster.dtype}"),
        ("reached", f"{reached:,} cells from {len(sources):,} sources, proved"),
        ("method", f"{surface.engine}, {duration(surface.stats['seconds'])}"),
    ]
    for cell, distance in zip(ends, lengths, strict=True):
        lines.append(("to " + ",".join(map(str, cell)), f"{distance:g}"))
    if files:
        lines.append(("wrote", ", ".join(files)))
    emit(args, facts, rows(lines), summary=True)


def _read(args: argparse.Namespace) -> Raster:
    """Return the raster of the arguments."""
    from nearfar.raster import Raster, read_raster

    keywords: dict[str, Any] = {
        "connectivity": args.connectivity,
        "step": args.step,
        "negative": args.negative,
    }
    if args.cell_size:
        size = args.cell_size
        keywords["cell_size"] = size[0] if len(size) == 1 else tuple(size)
    if args.no_data is not None:
        keywords["no_data"] = args.no_data
    if args.cost != "-":
        return read_raster(args.cost, elevation=args.elevation, **keywords)
    if not args.elevation:
        raise OptionError("with - for the costs, give --elevation")
    size = {name: keywords[name] for name in ("cell_size", "no_data") if name in keywords}
    terrain = read_raster(args.elevation, negative="barrier", **size)
    keywords |= {"cell_size": terrain.cell_size, "no_data": None}
    heights = terrain.cost
    if terrain.no_data is not None:
        heights = np.where(heights == terrain.no_data, np.nan, heights)
    raster = Raster(None, elevation=heights, **keywords)
    raster.georeference = terrain.georeference
    return raster


def _cells(raster: Raster, given: list[str]) -> list[tuple[int, ...]]:
    """Return the cells of arguments: ROW,COLUMN or files of points."""
    cells: list[tuple[int, ...]] = []
    for word in given:
        if word.lower().endswith((".geojson", ".json")):
            cells += [tuple(cell) for cell in raster.cells_at(_points(word)).tolist()]
            continue
        try:
            cell = tuple(int(part) for part in word.split(","))
        except ValueError:
            cell = ()
        if len(cell) != raster.ndim:
            axes = "ROW,COLUMN" if raster.ndim == 2 else "PLANE,ROW,COLUMN"
            raise OptionError(
                f"{quoted(word)} is not a cell: give {axes} or a .geojson file of points"
            )
        cells.append(cell)
    return cells


def _points(path: str) -> list[tuple[float, float]]:
    """Return the points of a GeoJSON file."""
    try:
        with open(path, encoding="utf-8") as file:
            tree = json.load(file)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise GraphFormatError(f"is not JSON: {error}", path) from None
    found: list[tuple[float, float]] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop(0)
        if not isinstance(node, dict):
            continue
        waiting += node.get("features") or node.get("geometries") or []
        waiting += [node["geometry"]] if isinstance(node.get("geometry"), dict) else []
        places: Any = node.get("coordinates")
        try:
            if node.get("type") == "Point":
                found.append((float(places[0]), float(places[1])))
            elif node.get("type") == "MultiPoint":
                found += [(float(place[0]), float(place[1])) for place in places]
        except (TypeError, ValueError, IndexError):
            raise GraphFormatError(f"a point is {quoted(places)}", path) from None
    if not found:
        raise GraphFormatError("holds no points", path)
    return found


def _write_routes(
    surface: Surface, ends: list[tuple[int, ...]], routes: Any, lengths: Any, path: str
) -> None:
    """Write routes as GeoJSON lines; the route to an unreached target has no geometry."""
    features = []
    for end, route, length in zip(ends, routes, lengths, strict=True):
        line = None
        if len(route) and surface.raster.ndim == 2:
            points = surface.raster.points_of(route).tolist()
            line = {"type": "LineString", "coordinates": points if len(points) > 1 else points * 2}
        elif len(route):
            line = {"type": "LineString", "coordinates": route[:, ::-1].tolist()}
        about = {"target": list(end), "cost": None if not len(route) else length}
        features.append({"type": "Feature", "properties": about, "geometry": line})
    with replacing(path) as temporary:
        temporary.write_text(
            json.dumps({"type": "FeatureCollection", "features": features}) + os.linesep,
            encoding="utf-8",
        )
