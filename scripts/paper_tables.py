"""Tables of the papers' methods for scripts/make_speed.py: the near-far family, frontiers, Crauser.

Each function reads committed JSON of ``benchmarks/results`` and returns Markdown; none measures.
"""

from __future__ import annotations

import importlib.util
import statistics
from types import ModuleType
from typing import Any

from speed_tables import ROOT, defaults, device, milliseconds, number, results, table

# --- the near-far family -----------------------------------------------------------------------

FAMILY = ("workfront_sweep", "near_far_host_loop", "hybrid_sweep", "bucketing", "bellman_ford")


def near_far() -> str:
    """Every method with every traversal over the 4-ary heap Dijkstra, best options of each."""
    document = results("near_far.json")
    if document is None:
        return "Measure with `python benchmarks/near_far.py`."
    graphs = document["results"]
    keys: dict[tuple[str, str], None] = {}
    for idea in FAMILY:
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
    lines.append(["asked for", *(f"{r['floor']:g}x" if r["floor"] else "-" for r in graphs)])
    wrong = sum(not row["right"] for r in graphs for row in r["rows"])
    notes = [
        f"- {r['graph']} ({r['n']:,} vertices, {r['m']:,} edges): {describe(top)}"
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


def describe(row: dict[str, Any]) -> str:
    """A configuration and its work in words."""
    given = ", ".join(f"{k} {v}" for k, v in row["options"].items())
    return (
        f"`{row['method']}`, {given}; {row['stats']['iterations']:,} iterations, "
        f"{number(row['work'])} times the edges that Dijkstra looks at"
    )


def near_far_roads() -> str:
    """What an iteration costs where the host loop loses, and the one-launch engine beside it."""
    document, one = results("near_far.json"), results("flagship.json")
    if document is None:
        return "Measure with `python benchmarks/near_far.py`."
    there = {r["graph"]: defaults(r)["median_ms"] for r in one["results"]} if one else {}
    lines = []
    for result in document["results"]:
        if result["floor"]:
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
    head = ["graph", "ms", "over the heap", "iterations", "us an iteration", "work"]
    return table([*head, "`near_far@cuda` ms"], lines)


# --- compound frontiers and Crauser ------------------------------------------------------------


def report() -> ModuleType:
    """benchmarks/frontier_crauser_report.py, which makes the tables of its own results."""
    path = ROOT / "benchmarks" / "frontier_crauser_report.py"
    spec = importlib.util.spec_from_file_location("frontier_crauser_report", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def frontier(which: str, file: str = "frontier_crauser.json") -> str:
    """One table of the report: ``over_heap``, ``crauser`` or ``criteria``."""
    document = results(file)
    if document is None:
        return "Measure with `python benchmarks/frontier_crauser.py`."
    text = str(getattr(report(), which)(document["results"]))
    where = device(document) + ". " if document.get("device") else ""
    return f"{text}\n\n{where}From `benchmarks/results/{file}`."


def frontier_cost() -> str:
    """Time of an iteration, and time that no iteration explains, from two methods of one graph.

    F-GPU and Crauser's successors look at the same edges with the same kernels and differ in the
    number of iterations, so a line through both separates the two.
    """
    document = results("frontier_crauser.json")
    if document is None:
        return "Measure with `python benchmarks/frontier_crauser.py`."
    lines = []
    for result in document["results"]:
        rows = result["rows"]
        both = [rows.get(f"{idea}@cuda") for idea in ("frontier_successors", "crauser_successors")]
        if any(row is None or "counters" not in row for row in both):
            continue
        (t1, i1), (t2, i2) = ((r["median_s"], r["counters"]["iterations"]) for r in both)
        if i1 == i2:
            continue
        each = (t1 - t2) / (i1 - i2)
        one = rows.get("crauser_fused@cuda")
        degree = result["m"] / result["n"]
        lines.append(
            [
                result["graph"],
                number(degree),
                f"{i1 - i2}",
                number(each * 1e6),
                f"{max(0.0, 1 - each * i2 / t2):.0%}",
                f"{i1 / i2:.2f}",
                f"{t1 / t2:.2f}",
                number(one["median_s"] / one["counters"]["iterations"] * 1e6) if one else "-",
            ]
        )
    head = ["graph", "mean degree", "iterations saved", "us saved for each"]
    head += ["share that no iteration explains", "ratio of iterations", "ratio of times"]
    return table([*head, "one launch: us an iteration"], lines)


def weight_range() -> str:
    """Ratio of iterations over the range of the weights, beside the paper's ratio of times."""
    document = results("crauser_weight_range.json")
    if document is None:
        return "Measure with `python benchmarks/crauser_weight_range.py`."
    rows = document["results"]
    degrees = sorted({r["degree"] for r in rows})
    at = {(r["high"], r["degree"]): r for r in rows}
    lines = [
        [f"1..{high:,}", *(f"{at[high, d]['ratio']:.3g}" for d in degrees)]
        for high in sorted({r["high"] for r in rows})
    ]
    paper = {r["degree"]: r["paper_time_ratio"] for r in rows}
    lines.append(["paper, time", *(f"{min(p):.3g} to {max(p):.3g}" for p in paper.values())])
    return table(["weights", *(f"degree {d}" for d in degrees)], lines)


def idle() -> str:
    """Share of threads that find nothing to do, and the edges that the others look at."""
    document = results("frontier_crauser.json")
    if document is None:
        return "Measure with `python benchmarks/frontier_crauser.py`."
    lines = []
    for result in document["results"]:
        for kind in ("successors", "predecessors"):
            both = [result["rows"].get(f"{f}_{kind}@cuda", {}) for f in ("frontier", "crauser")]
            if not all("counters" in row for row in both):
                continue
            counters = [row["counters"] for row in both]
            lines.append(
                [
                    f"{result['graph']}, by {kind}",
                    *(f"{c['idle_share']:.1%}" for c in counters),
                    *(f"{c['edges_relaxed'] / result['m']:.1f}" for c in counters),
                ]
            )
    head = ["graph", "idle, `frontier`", "idle, `crauser`"]
    return table([*head, "edges looked at / m, `frontier`", "the same, `crauser`"], lines)


def plain_loops() -> str:
    """CPU forms over a plain loop nest: the range of the ratios."""
    document = results("plain_loops.json")
    if document is None:
        return "Measure with `python benchmarks/plain_loops.py`."
    rows = document["results"]
    ratios = [row["ratio"] for row in rows]
    same = all(row["same_answer"] for row in rows)
    graphs, forms = len({r["graph"] for r in rows}), len({r["form"] for r in rows})
    return (
        f"Over {graphs} graphs and {forms} forms the ratio of medians was {min(ratios):.2f} to "
        f"{max(ratios):.2f}, the Python call included,\nwith "
        + ("equal iterations and distances" if same else "DIFFERENT distances")
        + ". From `benchmarks/results/plain_loops.json`."
    )
