"""Markdown tables from what frontier_crauser.py wrote."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

FH = "dijkstra_fibonacci_heap@cpu"
CRITERIA = ("frontier_successors", "crauser_successors", "crauser_in", "crauser_in_out")


def table(head: list[str], rows: list[list[str]]) -> str:
    """One Markdown table."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def milliseconds(row: dict[str, Any] | None) -> str:
    """Median of a row, or a dash."""
    return "-" if row is None else f"{row['median_s'] * 1e3:.3g}"


def faster(rows: dict[str, Any], slow: str, fast: str) -> str:
    """How many times faster ``fast`` is than ``slow``."""
    if slow not in rows or fast not in rows:
        return "-"
    return f"{rows[slow]['median_s'] / rows[fast]['median_s']:.2f}"


def iterations(rows: dict[str, Any], idea: str) -> int | None:
    """Iterations of a method on either device; they are equal."""
    for device in ("cuda", "cpu"):
        found = rows.get(f"{idea}@{device}", {}).get("counters", {}).get("iterations")
        if found is not None:
            return int(found)
    return None


def criteria(results: list[dict[str, Any]]) -> str:
    """Iterations of each criterion and what the union saves."""
    lines = []
    for result in results:
        counts = [iterations(result["rows"], idea) for idea in CRITERIA]
        if any(count is None for count in counts):
            continue
        single, out, _, both = counts
        saved = f"{1 - both / out:.0%}" if out and both else "-"
        lines.append([result["graph"], *map(str, counts), f"{single / out:.2f}", saved])  # type: ignore[operator]
    head = ["graph", "minimum", "out", "in", "in or out", "minimum / out", "union saves over out"]
    return table(head, lines)


def over_heap(results: list[dict[str, Any]]) -> str:
    """Every safe variant over the Fibonacci heap: times faster, one column a graph."""
    labels = sorted({label for r in results for label in r["rows"] if label != FH})
    lines = [
        [f"`{label}`", *(faster(result["rows"], FH, label) for result in results)]
        for label in labels
    ]
    base = ["Fibonacci heap, ms", *(milliseconds(result["rows"].get(FH)) for result in results)]
    return table(["variant", *(result["graph"] for result in results)], [base, *lines])


def crauser(results: list[dict[str, Any]]) -> str:
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
                milliseconds(martin),
                milliseconds(three),
                faster(rows, "frontier_successors@cuda", "crauser_successors@cuda"),
                "-" if paper is None else f"{min(paper):.2f} to {max(paper):.2f}",
                str(martin.get("counters", {}).get("iterations", "-")),
                str(counters.get("iterations", "-")),
                f"{counters['frontier_mean']:,.0f}" if "frontier_mean" in counters else "-",
                f"{counters['idle_share']:.1%}" if "idle_share" in counters else "-",
                milliseconds(rows.get("crauser_fused@cuda")),
                faster(rows, "crauser_successors@cuda", "crauser_fused@cuda"),
            ]
        )
    head = [
        *("graph", "F-GPU ms", "Crauser ms", "Crauser over F-GPU", "paper"),
        *("iterations F-GPU", "iterations Crauser", "mean frontier", "idle threads"),
        *("one launch ms", "one launch over three kernels"),
    ]
    return table(head, lines)


def main() -> int:
    """Read, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, default=None)
    args = parser.parse_args()
    results = [r for path in args.results for r in json.loads(path.read_text())["results"]]
    titled = {
        "Over the Fibonacci heap": over_heap(results),
        "Crauser over compound frontiers": crauser(results),
        "Iterations of each criterion": criteria(results),
    }
    # A table of two lines has a head and nothing below it.
    filled = {title: text for title, text in titled.items() if text.count("\n") > 1}
    text = "\n\n".join(f"### {title}\n\n{body}" for title, body in filled.items()) + "\n"
    if args.output is None:
        sys.stdout.write(text)
    else:
        args.output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
