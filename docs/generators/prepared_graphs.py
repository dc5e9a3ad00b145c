"""What prepared graphs take and bring: tables for their page, beside other packages."""

from __future__ import annotations

import statistics
from typing import Any

from docs.generators.table import not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["float_sums", "orders", "prepared_graphs", "refused"]

_MISSING = not_measured("prepared.json")

#: Label in the result, with W for the number of workers; what the page calls it; units per second.
_ROWS = (
    ("basic customization, 1", "customization, one worker, ms", 1e3),
    ("basic customization, W", "the same, W workers", 1e3),
    ("perfect customization and pruning, 1", "with pruning, one worker, ms", 1e3),
    ("perfect customization and pruning, W", "the same, W workers", 1e3),
    ("routingkit_cch: customization, 1", "RoutingKit's customization, the same order, ms", 1e3),
    ("reweight, W", "`reweight`, W workers, ms", 1e3),
    ("update of 100 edges, W", "`update` of 100 edges, W workers, ms", 1e3),
    ("update of 100 edges without pruning, W", "the same without pruning", 1e3),
    ("pair by walking, 1", "pair by walking, us", 1e6),
    ("pair by labels, 1", "pair by labels in a batch, us", 1e6),
    ("pair with path", "pair with its path, us", 1e6),
    ("routingkit_cch: pair with path", "RoutingKit's pair with its path, us", 1e6),
    ("pandana: pairs, all cores", "pandana's pair in a batch, all cores, us", 1e6),
    ("one tree", "one tree, ms", 1e3),
    ("one search", "one search, ms", 1e3),
    ("scipy: one tree", "SciPy's Dijkstra, ms", 1e3),
    ("row of many, 16 lanes, 1", "row of 256, one worker, ms", 1e3),
    ("row of many, 16 lanes, W", "the same, W workers", 1e3),
    ("table, 32 lanes, 1", "table of 1,000 x 1,000, one worker, ms", 1e3),
    ("table, 32 lanes, W", "the same, W workers", 1e3),
    ("routingkit_cch: table, per source", "RoutingKit's table, ms", 1e6),
    ("5 nearest of 100, W", "five nearest of 100 places, every vertex, W workers, ms", 1e3),
    ("5 nearest of 100 by searches, W", "the same by searches", 1e3),
)


def prepared_graphs() -> str:
    """Preparing, customization and queries, a column per graph."""
    document = results("prepared.json")
    if document is None:
        return _MISSING
    found: list[dict[str, Any]] = document["results"]
    lines = [
        ["vertices", *(f"{r['n']:,}" for r in found)],
        ["arcs, before pruning", *(f"{r['arcs']:,}" for r in found)],
        ["triangles, millions", *(number(r["triangles"] / 1e6) for r in found)],
        ["height of the elimination tree", *(f"{r['height']:,}" for r in found)],
        ["order, s", *(number(r["seconds"]["order"]) for r in found)],
        ["analysis and arcs, s", *(number(_built(r["seconds"])) for r in found)],
        ["tree and arcs, MB", *(_megabytes(r, "structure_bytes") for r in found)],
        ["metric, MB", *(_megabytes(r, "metric_bytes") for r in found)],
        ["both, bytes per arc", *(_per_arc(r) for r in found)],
        ["labels, MB", *(_megabytes(r, "label_bytes") for r in found)],
    ]
    workers = found[0].get("threads", document["environment"]["cores"])
    for label, said, scale in _ROWS:
        key = label.replace(", W", f", {workers}")
        cells = [r["samples"].get(key) for r in found]
        if any(cells):
            shown = [number(statistics.median(c) * scale) if c else "-" for c in cells]
            lines.append([said.replace("W workers", f"{workers} workers"), *shown])
    right = all(r["right"] for r in found)
    return (
        f"{table(['', *(r['graph'] for r in found)], lines)}\n\nMedians of {_rounds(found)} in "
        f"turns. {'Every answer is that of a search' if right else 'SOME ANSWERS WERE WRONG'}. "
        f"{_where(document)}"
    )


def orders() -> str:
    """What the ways to find an order make of one map."""
    document = results("prepared.json")
    rows = _foreseen(document, lambda row: row["worth"])
    if not rows:
        return _MISSING
    lines = [
        [
            f"{row['graph']}, `{row['order']}`",
            number(row["order_seconds"]),
            f"{row['n_arcs']:,}",
            number(row["n_arcs"] / row["n_vertices"]),
            number(row["n_triangles"] / 1e6),
            f"{row['height']:,}",
        ]
        for row in rows
    ]
    head = ["order", "s", "arcs", "arcs per vertex", "million triangles", "height"]
    return f"{table(head, lines)}\n\n{_where(document)}"


def refused() -> str:
    """Graphs that do not pay."""
    document = results("prepared.json")
    rows = _foreseen(document, lambda row: not row["worth"])
    if not rows:
        return _MISSING
    lines = [
        [
            row["graph"],
            f"{row['n_vertices']:,}",
            f"{row['n_edges']:,}",
            number(row["n_arcs"] / 1e6),
            number(row["n_triangles"] / 1e9),
            f"{row['height']:,}",
            number(row["nbytes"] / 2**30),
        ]
        for row in rows
    ]
    head = ["graph", "vertices", "edges", "million arcs", "billion triangles", "height", "GiB"]
    return f"{table(head, lines)}\n\n{_where(document)}"


def float_sums() -> str:
    """What it costs that sums of floats are those of a search."""
    document = results("prepared.json")
    found = [r for r in (document or {}).get("results", []) if "float_difference" in r]
    if not found:
        return _MISSING
    forms = ("int64", "float32", "float64")
    lines = [
        [said, *(number(statistics.median(r["samples"][key]) * scale) for r in found)]
        for key, said, scale in (
            *((f"row of many, {form}, 1", f"row, {form}, ms", 1e3) for form in forms),
            *((f"table, {form}, 1", f"table of 1,000 x 1,000, {form}, ms", 1e3) for form in forms),
            *((f"pair, {form}, 1", f"pair, {form}, us", 1e6) for form in forms),
            ("float rows, exact, 1", 'row with `sums="search"`, float64, ms', 1e3),
            ("float pairs, exact, 1", 'pair with `sums="search"`, float64, us', 1e6),
            ("float search", "a search, float64, ms", 1e3),
        )
        if all(key in r["samples"] for r in found)
    ]
    return (
        f"{table(['', *(r['graph'] for r in found)], lines)}\n\none worker, rows of 16 "
        f"sources; medians of {_rounds(found)}. {_where(document)}"
    )


def _foreseen(document: Any, wanted: Any) -> list[dict[str, Any]]:
    return [row for row in (document or {}).get("foreseen", []) if wanted(row)]


def _built(seconds: dict[str, float]) -> float:
    return seconds["analysis"] + seconds["arcs"]


def _megabytes(result: dict[str, Any], key: str) -> str:
    return number(result[key] / 1e6) if key in result else "-"


def _per_arc(result: dict[str, Any]) -> str:
    if "structure_bytes" not in result:
        return "-"
    return number((result["structure_bytes"] + result["metric_bytes"]) / result["arcs"])


def _rounds(found: list[dict[str, Any]]) -> str:
    """How many, least to most: graphs have the rounds that their time allows."""
    counts = [len(r["samples"]["one tree"]) for r in found]
    least, most = min(counts), max(counts)
    return f"{least} rounds" if least == most else f"{least} to {most} rounds"


def _where(document: Any) -> str:
    where = document["environment"]
    return (
        f"{where['cpu']}, {where['cores']} cores, {where['date'][:10]}, commit "
        f"{where['commit'][:12]};\n`benchmarks/results/prepared.json`."
    )
