"""The CPU engine on 1 to 16 threads beside the parallel peers: a table and a picture."""

from __future__ import annotations

import html
import math
from typing import Any

from docs.generators.table import measured_on, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["chart", "many_cores"]

#: Whose line has which colour; engines of this library that are not named share the first.
_COLOURS = {"auto": "#f98e09", "gap": "#9aa5b1", "wasp": "#7b4fa3", "pasgal": "#4f9d69"}
_WIDE, _TALL, _IN_A_ROW, _TOP, _PAD = 250, 200, 3, 44, 44


def many_cores() -> str:
    """Milliseconds per solve, and the best peer's over ours, by graph and number of threads."""
    document = results("many_cores.json")
    if document is None:
        return not_measured("many_cores.json")
    counts = sorted({row["threads"] for graph in document["graphs"] for row in graph["rows"]})
    lines = []
    for graph in document["graphs"]:
        by = {(row["engine"], row["threads"]): row for row in graph["rows"]}
        engines = list(dict.fromkeys(row["engine"] for row in graph["rows"]))
        for engine in engines:
            cells = [_cell(by.get((engine, count))) for count in counts]
            lines.append([f"{graph['graph']}, {_name(engine)}", *cells])
        ratios = [_ratio(graph["rows"], count) for count in counts]
        if any(ratios):
            shown = [f"{ratio:.2f}x" if ratio else "-" for ratio in ratios]
            lines.append([f"{graph['graph']}, best peer / nearfar", *shown])
    samples = len(document["graphs"][0]["rows"][0]["samples_ms"])
    sources = len(document["graphs"][0]["sources"])
    head = ["ms per solve", *(f"{count} threads" if count > 1 else "1 thread" for count in counts)]
    return (
        "![Milliseconds per solve by the number of threads](../images/many-cores.svg)\n\n"
        f"{table(head, lines)}\n\nMedians of {samples // sources} rounds over {sources} sources "
        "(peers: of their own clocks); the last line of a graph compares the same number of "
        'threads. "wrong": no delta\nthat was tried gave a right answer. '
        f"{measured_on(document['graphs'])};\n"
        "`benchmarks/results/many_cores.json`."
    )


def _name(engine: str) -> str:
    return "nearfar" if engine == "auto" else engine


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    return "wrong" if "wrong" in row else number(row["median_ms"])


def _is_peer(engine: str) -> bool:
    return engine in _COLOURS and engine != "auto"


def _ratio(rows: list[dict[str, Any]], count: int) -> float | None:
    """The fastest peer's time over that of ``auto``, with so many threads."""
    right = [row for row in rows if row["threads"] == count and "wrong" not in row]
    own = [row["median_ms"] for row in right if row["engine"] == "auto"]
    peers = [row["median_ms"] for row in right if _is_peer(row["engine"])]
    return min(peers) / own[0] if own and peers else None


def chart() -> str:
    """The same as a picture: a panel per graph, both axes logarithmic; SVG."""
    document = results("many_cores.json")
    graphs = document["graphs"] if document else []
    across = min(_IN_A_ROW, max(1, len(graphs)))
    wide, tall = across * _WIDE + 20, _TOP + -(-len(graphs) // across) * _TALL + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}" '
        f'viewBox="0 0 {wide} {tall}" font-family="system-ui, sans-serif" font-size="11">',
        "<title>Milliseconds per solve by the number of threads, less is better</title>",
        f'<rect width="{wide}" height="{tall}" rx="8" fill="#ffffff"/>',
    ]
    engines = dict.fromkeys(row["engine"] for graph in graphs for row in graph["rows"])
    for place, engine in enumerate(engines):
        at = 20 + 110 * place
        parts.append(
            f'<rect x="{at}" y="14" width="14" height="4" fill="{_colour(engine)}"/>'
            f'<text x="{at + 20}" y="20" fill="#333">{html.escape(_name(engine))}</text>'
        )
    for place, graph in enumerate(graphs):
        parts += _panel(graph, 10 + place % across * _WIDE, _TOP + place // across * _TALL)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _colour(engine: str) -> str:
    return _COLOURS.get(engine, _COLOURS["auto"])


def _panel(graph: dict[str, Any], left: int, top: int) -> list[str]:
    """One graph: a line per engine over the powers of two of threads."""
    rows = [row for row in graph["rows"] if "wrong" not in row]
    counts = sorted({row["threads"] for row in rows})
    times = [row["median_ms"] for row in rows]
    low, high = math.log2(min(times)), math.log2(max(times))
    last = math.log2(counts[-1]) or 1.0

    def x(count: int) -> float:
        return left + _PAD + (_WIDE - _PAD - 20) * math.log2(count) / last

    def y(took: float) -> float:
        share = (math.log2(took) - low) / (high - low or 1.0)
        return top + _TALL - 34 - (_TALL - 60) * share

    parts = [
        f'<text x="{left + _PAD}" y="{top + 10}" fill="#333">'
        f"{html.escape(graph['graph'])}, ms per solve</text>"
    ]
    bottom = top + _TALL - 30
    for count in counts:
        parts.append(
            f'<path d="M{x(count):.1f} {top + 18}V{bottom}" stroke="#e4e8ec"/>'
            f'<text x="{x(count):.1f}" y="{bottom + 14}" text-anchor="middle" fill="#333">{count}'
            f"{' threads' if count == counts[-1] else ''}</text>"
        )
    for power in range(math.ceil(low), math.floor(high) + 1):
        at = y(2.0**power)
        parts.append(
            f'<path d="M{left + _PAD} {at:.1f}H{left + _WIDE - 20}" stroke="#e4e8ec"/>'
            f'<text x="{left + _PAD - 5}" y="{at + 4:.1f}" text-anchor="end" fill="#333">'
            f"{2.0**power:g}</text>"
        )
    for engine in dict.fromkeys(row["engine"] for row in rows):
        own = sorted((r["threads"], r["median_ms"]) for r in rows if r["engine"] == engine)
        points = " ".join(f"{x(count):.1f},{y(took):.1f}" for count, took in own)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{_colour(engine)}" stroke-width="2"/>'
        )
    return parts
