"""Tables of the interfaces beside the originals: SciPy, NetworkX, Isomap, CuPy."""

from __future__ import annotations

from typing import Any

from nearfar.lab.checkout import results
from nearfar.lab.pages.table import milliseconds, table

__all__ = ["cupy", "isomap", "networkx", "scipy"]


def scipy() -> str:
    """Dijkstra of nearfar.csgraph over SciPy's."""
    document = results("front_doors.json")
    if document is None or "scipy" not in document:
        return "Not measured yet: `python benchmarks/front_doors.py -o benchmarks/results`."
    door = document["scipy"]
    rows = [
        [
            one["graph"],
            f"{one['n_vertices']:,}",
            f"{one['n_edges']:,}",
            str(one["n_sources"]),
            milliseconds(one["medians"]["scipy"]),
            *(f"{one['times_faster'][f'nearfar, {t}']:.1f}x" for t in ("1 thread", "2 threads")),
        ]
        for one in door["results"]
    ]
    head = ["graph", "vertices", "edges", "sources", "SciPy, ms", "one thread", "two threads"]
    where = door["environment"]
    return (
        f"{table(head, rows)}\n\n"
        f"`benchmarks/front_doors.py`, medians of interleaved rounds on {where['cores']} cores "
        f"({where['cpu']}, load average {where['load_average']:.1f} at the start, "
        f"{where['date'][:10]}); all samples are in `benchmarks/results/front_doors.json`."
    )


def _door(name: str) -> tuple[list[dict[str, Any]], str] | None:
    """Results of one door of front_doors.json, and where they were measured."""
    document = results("front_doors.json") or {}
    door = document.get(name)
    if door is None:
        return None
    where = door["environment"]
    device = f", {where['gpu']['name']}" if where.get("gpu") else ""
    return door["results"], (
        f"`benchmarks/front_doors.py --only {name}`, medians of interleaved rounds on "
        f"{where['cores']} cores ({where['cpu']}{device}, load average "
        f"{where['load_average']:.1f} at the start, {where['date'][:10]})."
    )


def _lines(name: str) -> str:
    """One row a contender."""
    found = _door(name)
    if found is None:
        return f"Not measured yet: `python benchmarks/front_doors.py --only {name}`."
    rows = []
    for one in found[0]:
        for who, seconds in one["medians"].items():
            faster = one["times_faster"].get(who)
            times = "" if faster is None else f"{faster:.1f}x"
            rows.append([one["what"] + _size(one), who, milliseconds(seconds), times])
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
