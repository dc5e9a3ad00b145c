"""Tables of the near-far family: methods and traversals over a heap, and what a road costs."""

from __future__ import annotations

import statistics
from typing import Any

from docs.generators.gpu_engine import defaults, solved
from docs.generators.table import device, milliseconds, number, table
from nearfar.lab.checkout import results

__all__ = ["near_far", "near_far_roads"]

_FAMILY = ("workfront_sweep", "near_far_host_loop", "hybrid_sweep", "bucketing", "bellman_ford")
_ROADS = ("grid-1000", "ny-roads")  # where the host loop loses


def near_far() -> str:
    """Every method with every traversal over the 4-ary heap Dijkstra, best options of each."""
    document = results("near_far.json")
    if document is None:
        return "Measure with `python benchmarks/near_far.py`."
    graphs = document["results"]
    keys: dict[tuple[str, str], None] = {}
    for idea in _FAMILY:
        for result in graphs:
            for row in result["rows"]:
                if row["method"].startswith(idea):
                    keys[row["method"], row["options"].get("traversal", "")] = None
    best = [min(r["rows"], key=lambda row: row["median_ms"]) for r in graphs]
    lines = [
        [
            "4-ary heap Dijkstra, one host core, ms",
            *(milliseconds(statistics.median(r["host_seconds"])) for r in graphs),
        ],
        ["best below, ms", *(number(row["median_ms"]) for row in best)],
    ]
    for method, traversal in keys:
        cells = [f"`{method}` {traversal.replace('_', ' ')}".strip()]
        for result, top in zip(graphs, best, strict=True):
            rows = [
                row
                for row in result["rows"]
                if row["method"] == method and row["options"].get("traversal", "") == traversal
            ]
            cells.append("-")
            if rows:
                found = min(rows, key=lambda row: row["median_ms"])
                text = f"{number(found['over_dijkstra'])}x"
                cells[-1] = f"**{text}**" if found is top else text
        lines.append(cells)
    wrong = sum(not row["right"] for r in graphs for row in r["rows"])
    notes = [
        f"- {r['graph']} ({r['n']:,} vertices, {r['m']:,} edges): {_describe(top)}"
        for r, top in zip(graphs, best, strict=True)
    ]
    return "\n".join(
        [
            table(["times faster than the heap", *(r["graph"] for r in graphs)], lines),
            "",
            "A cell is the best of the deltas and duplicate filters tried; bold is the best of a "
            "graph:",
            "",
            *notes,
            "",
            f"{device(document)}; device time, median; {wrong} wrong answers. "
            "From `benchmarks/results/near_far.json`.",
        ]
    )


def _describe(row: dict[str, Any]) -> str:
    """A configuration and its work in words."""
    given = ", ".join(f"{k} {v}" for k, v in row["options"].items())
    return (
        f"`{row['method']}`, {given}; {row['stats']['iterations']:,} iterations, "
        f"{number(row['work'])} times the edges that Dijkstra looks at"
    )


def near_far_roads() -> str:
    """What an iteration costs where the host loop loses, and the one-launch engine beside it."""
    document, one = results("near_far.json"), solved(results("flagship.json"))
    if document is None:
        return "Measure with `python benchmarks/near_far.py`."
    same = one is not None and one["device"]["name"] == document["device"]["name"]
    there = {r["graph"]: defaults(r)["median_ms"] for r in one["results"]} if one and same else {}
    lines = []
    for result in document["results"]:
        if result["graph"] not in _ROADS:
            continue
        rows = [r for r in result["rows"] if r["method"].startswith("near_far")]
        lean = min(rows, key=lambda row: row["work"])
        top = min(result["rows"], key=lambda row: row["median_ms"])
        for what, row in (("least work", lean), ("fastest", top)):
            steps = row["stats"]["iterations"]
            lines.append(
                [
                    f"{result['graph']}, {what}: `{row['method']}`",
                    number(row["median_ms"]),
                    f"{number(row['over_dijkstra'])}x",
                    f"{steps:,}",
                    number(row["median_ms"] * 1e3 / steps),
                    number(row["work"]),
                    number(there[result["graph"]]) if result["graph"] in there else "-",
                ]
            )
    head = ["graph", "ms", "over the heap", "iterations", "us per iteration", "work"]
    return table([*head, "`near_far@cuda` ms"], lines)
