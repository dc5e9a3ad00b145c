"""Tables of compound frontiers and Crauser's criteria, over a heap and over each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from docs.generators.table import device, number, table
from nearfar.lab.checkout import results

__all__ = [
    "crauser",
    "crauser_rows",
    "criteria_cpu",
    "criteria_gpu",
    "frontier_cost",
    "idle",
    "over_heap",
    "plain_loops",
    "weight_range",
]

_COMPARISON = "frontier_crauser.json"
_HEAP = "dijkstra_fibonacci_heap@cpu"
_CRITERIA = ("frontier_successors", "crauser_successors", "crauser_in", "crauser_in_out")


def _median(row: dict[str, Any] | None) -> str:
    """Median of a row, or a dash."""
    return "-" if row is None else f"{row['median_s'] * 1e3:.3g}"


def _faster(rows: dict[str, Any], slow: str, fast: str) -> str:
    """How many times faster ``fast`` is than ``slow``."""
    if slow not in rows or fast not in rows:
        return "-"
    return f"{rows[slow]['median_s'] / rows[fast]['median_s']:.2f}"


def _iterations(rows: dict[str, Any], idea: str) -> int | None:
    """Iterations of a method on either device; they are equal."""
    for where in ("cuda", "cpu"):
        found = rows.get(f"{idea}@{where}", {}).get("counters", {}).get("iterations")
        if found is not None:
            return int(found)
    return None


def _criteria(results: list[dict[str, Any]]) -> str:
    """Iterations of each criterion and what the union saves."""
    lines = []
    for result in results:
        counts = [_iterations(result["rows"], idea) for idea in _CRITERIA]
        if any(count is None for count in counts):
            continue
        single, out, _, both = counts
        saved = f"{1 - both / out:.0%}" if out and both else "-"
        lines.append([result["graph"], *map(str, counts), f"{single / out:.2f}", saved])  # type: ignore[operator]
    head = ["graph", "minimum", "out", "in", "in or out", "minimum / out", "union saves over out"]
    return table(head, lines)


def _over_heap(results: list[dict[str, Any]]) -> str:
    """Every safe variant over the Fibonacci heap: times faster, one column per graph."""
    labels = sorted({label for r in results for label in r["rows"] if label != _HEAP})
    lines = [
        [f"`{label}`", *(_faster(result["rows"], _HEAP, label) for result in results)]
        for label in labels
    ]
    base = ["Fibonacci heap, ms", *(_median(result["rows"].get(_HEAP)) for result in results)]
    return table(["variant", *(result["graph"] for result in results)], [base, *lines])


def _crauser(results: list[dict[str, Any]]) -> str:
    """The paper's ratio beside ours, with the counters that explain it."""
    lines = []
    for result in results:
        rows = result["rows"]
        martin, three = rows.get("frontier_successors@cuda"), rows.get("crauser_successors@cuda")
        if martin is None or three is None:
            continue
        paper = result["paper_crauser_over_martin"]
        counters = three.get("counters", {})
        lines.append(
            [
                result["graph"],
                _median(martin),
                _median(three),
                _faster(rows, "frontier_successors@cuda", "crauser_successors@cuda"),
                "-" if paper is None else f"{min(paper):.2f} to {max(paper):.2f}",
                str(martin.get("counters", {}).get("iterations", "-")),
                str(counters.get("iterations", "-")),
                f"{counters['frontier_mean']:,.0f}" if "frontier_mean" in counters else "-",
                f"{counters['idle_share']:.1%}" if "idle_share" in counters else "-",
                _median(rows.get("crauser_fused@cuda")),
                _faster(rows, "crauser_successors@cuda", "crauser_fused@cuda"),
            ]
        )
    head = [
        *("graph", "F-GPU ms", "Crauser ms", "Crauser over F-GPU", "paper"),
        *("iterations F-GPU", "iterations Crauser", "mean frontier", "idle threads"),
        *("one launch ms", "one launch over three kernels"),
    ]
    return table(head, lines)


def _shown(table_of: Callable[[list[dict[str, Any]]], str], file: str) -> str:
    """One table of a kept comparison, and where that was measured."""
    document = results(file)
    if document is None:
        return "Measure with `python benchmarks/frontier_crauser.py`."
    text = table_of(document["results"])
    where = device(document) + ". " if document.get("device") else ""
    return f"{text}\n\n{where}From `benchmarks/results/{file}`."


def criteria_cpu() -> str:
    """Iterations of each criterion, on graphs that CPU cores solved."""
    return _shown(_criteria, "frontier_crauser_cpu.json")


def criteria_gpu() -> str:
    """Iterations of each criterion, on graphs that a GPU solved."""
    return _shown(_criteria, _COMPARISON)


def over_heap() -> str:
    """Every safe variant over the Fibonacci heap."""
    return _shown(_over_heap, _COMPARISON)


def crauser() -> str:
    """Crauser's criterion over compound frontiers."""
    return _shown(_crauser, _COMPARISON)


def crauser_rows() -> str:
    """The same on more graphs."""
    return _shown(_crauser, "frontier_crauser_rows.json")


def frontier_cost() -> str:
    """Time of an iteration, and time that no iteration explains, from two methods of one graph.

    F-GPU and Crauser's successors look at the same edges with the same kernels and differ in the
    number of iterations, so a line through both separates the two.
    """
    document = results(_COMPARISON)
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
    return table([*head, "one launch: us per iteration"], lines)


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
    document = results(_COMPARISON)
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
