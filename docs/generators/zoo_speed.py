"""Graphs that nobody tuned for, beside the best other program: distribution, worst five, table."""

from __future__ import annotations

import math
import statistics
from typing import Any

from docs.generators.table import measured_on, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["chart", "on_cores", "on_gpu"]

_OURS = ("nearfar", "one core")
_WIDE, _ROW, _LEFT = 640, 78, 120
_COLOURS = {"tuned": "#9aa5b1", "reported": "#f98e09"}


def on_cores() -> str:
    """Ratios to the better of GAP and Wasp, by number of threads."""
    document = results("zoo_speed.json")
    if document is None:
        return not_measured("zoo_speed.json", more=" --threads 1 4 16")
    return _block(document["results"])


def on_gpu() -> str:
    """Ratios to the better of ADDS and doubleGraph."""
    document = results("zoo_speed_cuda.json")
    if document is None:
        return not_measured("zoo_speed_cuda.json", "zoo_speed.py", " --device cuda")
    return _block(document["results"])


def ratio(row: dict[str, Any], threads: int) -> tuple[float, str] | None:
    """The best peer's least time over ours, and its name; None without a peer."""
    times = {o["engine"]: o["min_ms"] for o in row["rows"] if o.get("threads", 0) in (0, threads)}
    peers = {name: took for name, took in times.items() if name not in _OURS}
    if "nearfar" not in times or not peers:
        return None
    best = min(peers, key=lambda name: peers[name])
    return peers[best] / times["nearfar"], best


def _counts(rows: list[dict[str, Any]]) -> list[int]:
    found = {o.get("threads", 0) for row in rows for o in row["rows"] if o["engine"] == "nearfar"}
    return sorted(found)


def _threads(count: int) -> str:
    return {0: "GPU", 1: "1 thread"}.get(count, f"{count} threads")


def _ratios(rows: list[dict[str, Any]], half: str, count: int) -> dict[str, float]:
    found = {row["graph"]: ratio(row, count) for row in rows if row["half"] == half}
    return {name: one[0] for name, one in found.items() if one is not None}


def _block(rows: list[dict[str, Any]]) -> str:
    summary = []
    worst = []
    for count in _counts(rows):
        for half in _COLOURS:
            ratios = _ratios(rows, half, count)
            if not ratios:
                continue
            values = sorted(ratios.values())
            ahead = sum(value > 1 for value in values)
            cells = [f"{values[0]:.2f}x", f"{statistics.median(values):.2f}x", f"{values[-1]:.2f}x"]
            name = f"{_threads(count)}, {half}"
            summary.append([name, str(len(values)), *cells, f"{ahead} of {len(values)}"])
            if half == "reported":
                five = sorted(ratios, key=lambda graph: ratios[graph])[:5]
                named = ", ".join(f"{graph} {ratios[graph]:.2f}x" for graph in five)
                worst.append(f"- Worst five, {_threads(count)}: {named}.")
    head = ["half", "graphs", "worst", "median", "best", "nearfar ahead"]
    clocks = {row["asked"]["clock"] for row in rows}
    clock = "Processor time" if clocks == {"processor"} else "Wall time"
    return (
        f"{table(head, summary)}\n\n" + "\n".join(worst) + f"\n\n{_every(rows)}\n\n"
        f"{clock}, least of the rounds in turns; ratio: the best other program's over nearfar's. "
        f"{measured_on(rows)}."
    )


def _every(rows: list[dict[str, Any]]) -> str:
    counts = _counts(rows)
    lines = []
    for row in rows:
        cells = []
        for count in counts:
            took = {o["engine"]: o["min_ms"] for o in row["rows"] if o.get("threads", 0) == count}
            found = ratio(row, count)
            beside = "no peer" if found is None else f"{found[0]:.2f}x, {found[1]}"
            cells.append(f"{number(took['nearfar'])} ({beside})" if "nearfar" in took else "-")
        size = f"{row['n_vertices']:,} / {row['n_edges']:,}"
        lines.append([row["graph"], row["half"], f"{row['weights']}, {row['dtype']}", size, *cells])
    head = ["graph", "half", "weights", "vertices / edges"]
    return table([*head, *(f"ms, {_threads(count)}" for count in counts)], lines)


def chart() -> str:
    """A dot for each graph over the ratio, logarithmic; a row per device and number of threads."""
    strips: list[tuple[str, dict[str, dict[str, float]]]] = []
    for file in ("zoo_speed.json", "zoo_speed_cuda.json"):
        document = results(file)
        rows = document["results"] if document else []
        for count in _counts(rows):
            strips.append(
                (_threads(count), {half: _ratios(rows, half, count) for half in _COLOURS})
            )
    values = [v for _, halves in strips for ratios in halves.values() for v in ratios.values()]
    low = math.floor(math.log2(min([*values, 0.5])))
    high = math.ceil(math.log2(max([*values, 8.0])))
    tall = 50 + _ROW * max(1, len(strips)) + 30

    def x(value: float) -> float:
        return _LEFT + (_WIDE - _LEFT - 30) * (math.log2(value) - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{tall}" '
        f'viewBox="0 0 {_WIDE} {tall}" font-family="system-ui, sans-serif" font-size="11">',
        "<title>The best other program's time over nearfar's, a dot per graph</title>",
        f'<rect width="{_WIDE}" height="{tall}" rx="8" fill="#ffffff"/>',
    ]
    for place, (half, colour) in enumerate(_COLOURS.items()):
        at = _LEFT + 160 * place
        parts.append(
            f'<circle cx="{at}" cy="20" r="4" fill="{colour}"/>'
            f'<text x="{at + 10}" y="24" fill="#333">{half} half</text>'
        )
    bottom = 40 + _ROW * max(1, len(strips))
    for power in range(low, high + 1):
        dashed = ' stroke-width="2"' if power == 0 else ""
        parts.append(
            f'<path d="M{x(2.0**power):.1f} 36V{bottom}" stroke="#e4e8ec"{dashed}/>'
            f'<text x="{x(2.0**power):.1f}" y="{bottom + 16}" text-anchor="middle" '
            f'fill="#333">{2.0**power:g}x</text>'
        )
    for row, (name, halves) in enumerate(strips):
        top = 40 + _ROW * row
        parts.append(f'<text x="16" y="{top + _ROW // 2}" fill="#333">{name}</text>')
        for place, (half, ratios) in enumerate(halves.items()):
            middle = top + 20 + 34 * place
            for nth, (graph, value) in enumerate(sorted(ratios.items(), key=lambda one: one[1])):
                parts.append(
                    f'<circle cx="{x(value):.1f}" cy="{middle + 5 * (nth % 3 - 1)}" r="4" '
                    f'fill="{_COLOURS[half]}" fill-opacity="0.8">'
                    f"<title>{graph} {value:.2f}x</title></circle>"
                )
            if ratios:
                median = x(statistics.median(ratios.values()))
                parts.append(
                    f'<path d="M{median:.1f} {middle - 14}V{middle + 14}" stroke="#333" '
                    'stroke-width="2"/>'
                )
    return "\n".join([*parts, "</svg>"]) + "\n"
