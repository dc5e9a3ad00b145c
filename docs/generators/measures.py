"""Betweenness beside other libraries, and on a GPU."""

from __future__ import annotations

from typing import Any

from docs.generators.table import measured_on, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["beside_libraries", "on_gpu"]

_COLUMNS = {
    "nearfar, threads: 1": "one core",
    "nearfar, threads: 2": "two cores",
    "nearfar, prepared, threads: 1": "prepared, one core",
    "igraph": "igraph",
    "networkit, threads: 1": "NetworKit",
}


def beside_libraries() -> str:
    """Milliseconds per call of betweenness, and igraph's over ours."""
    document = results("measures.json")
    if document is None:
        return not_measured("measures.json")
    rows = [row for row in document["rows"] if row["part"] == "betweenness"]
    lines = []
    for row in rows:
        took = row["median_seconds"]
        cells = [number(took[name] * 1e3) if name in took else "-" for name in _COLUMNS]
        ratios = [took["igraph"] / took[name] for name in list(_COLUMNS)[:2]]
        over = "; ".join(f"{ratio:.1f}" for ratio in ratios)
        lines.append([f"{row['what']}; {row['sources']:,} sources", *cells, over])
    head = ["graph", *_COLUMNS.values(), "igraph over one core; two"]
    peers = ", ".join(f"{name} {rows[0]['peers'][name]}" for name in ("igraph", "networkit"))
    return (
        f"{table(head, lines)}\n\nMilliseconds per call, medians of turns in one process; "
        f"{peers} on one core.\n{measured_on(rows)};\n`benchmarks/results/measures.json`."
    )


def on_gpu() -> str:
    """Microseconds per source on one core, with as many sources on a GPU, and with many."""
    document = results("measures_cuda.json")
    if document is None:
        return not_measured("measures_cuda.json")
    found = {row["what"]: row for row in document["rows"]}
    lines = []
    for what, few in found.items():
        many: dict[str, Any] | None = next(
            (row for name, row in found.items() if name.startswith(f"{what}, ")
             and name.endswith(" sources")), None)  # fmt: skip
        if "one core" not in few["median_seconds"] or many is None:
            continue
        core, gpu = (
            1e6 * few["median_seconds"][where] / few["sources"] for where in ("one core", "cuda")
        )
        full = 1e6 * many["median_seconds"]["cuda"] / many["sources"]
        over = f"{core / gpu:.0f}; {core / full:.0f}"
        sources = f"{few['sources']:,}; {many['sources']:,}"
        lines.append([what, sources, *map(number, (core, gpu, full)), over])
    head = ["graph", "sources; many", "one core", "GPU", "GPU, many sources", "times of one core"]
    where = document["environment"]
    return (
        f"{table(head, lines)}\n\nMicroseconds per source, medians of whole calls; "
        f"{where['gpu']['name']}, {measured_on([document])};\n"
        "`benchmarks/results/measures_cuda.json`."
    )
