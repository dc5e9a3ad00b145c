"""Tables of the interfaces beside the originals: SciPy, NetworkX, Isomap, CuPy."""

from __future__ import annotations

from typing import Any

from docs.generators.table import milliseconds, not_measured, table
from nearfar.lab.checkout import RESULTS, results

__all__ = ["cupy", "isomap", "networkx", "scipy"]

_FILE = f"{RESULTS}/front_doors.json"


def scipy() -> str:
    """Dijkstra of nearfar.csgraph over SciPy's."""
    found = _door("scipy")
    if found is None:
        return not_measured("front_doors.json", more=" --parts scipy")
    rows = [
        [
            one["graph"],
            f"{one['n_vertices']:,}",
            f"{one['n_edges']:,}",
            str(one["n_sources"]),
            milliseconds(one["median_seconds"]["scipy"]),
            *(_faster(one, f"nearfar, {threads}") for threads in ("1 thread", "2 threads")),
        ]
        for one in found[0]
    ]
    head = ["graph", "vertices", "edges", "sources", "SciPy, ms", "one thread", "two threads"]
    return f"{table(head, rows)}\n\n{found[1]}"


def _faster(one: dict[str, Any], who: str) -> str:
    """How many times faster than the base of a row; empty for the base."""
    return "" if who == one["base"] else f"{1 / one['times_of_base'][who]:.1f}x"


def _door(name: str) -> tuple[list[dict[str, Any]], str] | None:
    """Results of one door of front_doors.json, and where they were measured."""
    document = results("front_doors.json") or {"parts": {}}
    door = document["parts"].get(name)
    if door is None:
        return None
    where = door["environment"]
    device = f", {where['gpu']['name']}" if where.get("gpu") else ""
    return door["rows"], (
        f"`benchmarks/front_doors.py --parts {name}`, medians of interleaved rounds on "
        f"{where['cores']} cores ({where['cpu']}{device}, load average "
        f"{where['load_average']:.1f} at the start, {where['date'][:10]}); all samples are in\n"
        f"`{_FILE}`."
    )


def _lines(name: str) -> str:
    """One row per contender."""
    found = _door(name)
    if found is None:
        return not_measured("front_doors.json", more=f" --parts {name}")
    rows = []
    for one in found[0]:
        for who, seconds in one["median_seconds"].items():
            what = one["what"] + _size(one)
            rows.append([what, who, milliseconds(seconds), _faster(one, who)])
    return f"{table(['what', 'by', 'ms', 'times faster'], rows)}\n\n{found[1]}"


def _size(one: dict[str, Any]) -> str:
    """Of the graph, or of the points."""
    if "n_points" in one:
        return f", {one['n_points']:,} points with {one['n_neighbors']} neighbours"
    if "n_vertices" in one:
        return f": {one['n_vertices']:,} vertices, {one['n_edges']:,} edges"
    return ""


def networkx() -> str:
    """One search through the backend."""
    return _lines("networkx")


def isomap() -> str:
    """Isomap with SciPy's shortest paths and with ours."""
    return _lines("isomap")


def cupy() -> str:
    """One search on a matrix of the device."""
    return _lines("cupy")
