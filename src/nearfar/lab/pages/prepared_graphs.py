"""The table of prepared graphs: preparing and each kind of query, beside other packages."""

from __future__ import annotations

import statistics
from typing import Any

from nearfar.lab.checkout import results
from nearfar.lab.pages.table import number, table

__all__ = ["prepared_graphs"]

_ROWS = (
    ("basic customization, 1", "customization, one worker, ms", 1e3),
    ("basic customization, 16", "the same, 16 workers", 1e3),
    ("perfect customization and pruning, 1", "with pruning, one worker, ms", 1e3),
    ("perfect customization and pruning, 16", "the same, 16 workers", 1e3),
    ("routingkit_cch: customization, 1", "RoutingKit's customization, the same order, ms", 1e3),
    ("pair by walking, 1", "pair by walking, us", 1e6),
    ("pair by labels, 1", "pair by labels in a batch, us", 1e6),
    ("pair with path", "pair with its path, us", 1e6),
    ("routingkit_cch: pair with path", "RoutingKit's pair with its path, us", 1e6),
    ("pandana: pairs, all cores", "pandana's pair in a batch, all cores, us", 1e6),
    ("one tree", "one tree, ms", 1e3),
    ("one search", "one search, ms", 1e3),
    ("scipy: one tree", "SciPy's Dijkstra, ms", 1e3),
    ("row of many, 16 lanes, 1", "row of 256, one worker, ms", 1e3),
    ("row of many, 16 lanes, 16", "the same, 16 workers", 1e3),
    ("table, 32 lanes, 1", "table of 1,000 x 1,000, one worker, ms", 1e3),
    ("table, 32 lanes, 16", "the same, 16 workers", 1e3),
    ("routingkit_cch: table", "RoutingKit's table, ms", 1e3),
)


def prepared_graphs() -> str:
    """Preparing, customization and queries, a column per graph."""
    document = results("prepared.json")
    if document is None:
        return "Not measured yet: `python benchmarks/prepared.py -o benchmarks/results/...`."
    found: list[dict[str, Any]] = document["results"]
    lines = [
        ["vertices", *(f"{r['n']:,}" for r in found)],
        ["arcs, before pruning", *(f"{r['arcs']:,}" for r in found)],
        ["height of the elimination tree", *(f"{r['height']:,}" for r in found)],
        ["order, s", *(number(r["seconds"]["order"]) for r in found)],
        ["analysis and arcs, s", *(number(_built(r["seconds"])) for r in found)],
        ["metric, MB", *(number(r["metric_bytes"] / 1e6) for r in found)],
        ["labels, MB", *(number(r["label_bytes"] / 1e6) for r in found)],
    ]
    for key, said, scale in _ROWS:
        cells = [r["samples"].get(key) for r in found]
        if any(cells):
            shown = [number(statistics.median(c) * scale) if c else "-" for c in cells]
            lines.append([said, *shown])
    rounds = len(next(iter(found[0]["samples"].values())))
    right = all(r["right"] for r in found)
    where = document["environment"]
    return (
        f"{table(['', *(r['graph'] for r in found)], lines)}\n\nMedians of {rounds} rounds in "
        f"turns. {'Every answer is that of a search' if right else 'SOME ANSWERS WERE WRONG'}. "
        f"{where['cpu']}, {where['cores']} cores, {where['date'][:10]}, commit "
        f"{where['commit'][:12]};\n`benchmarks/results/prepared.json`."
    )


def _built(seconds: dict[str, float]) -> float:
    return seconds["analysis"] + seconds["arcs"]
