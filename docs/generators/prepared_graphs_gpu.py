"""What prepared graphs bring on a GPU: rows beside what memory allows, and other queries."""

from __future__ import annotations

import statistics
from typing import Any

from docs.generators.table import not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["queries", "rows"]


def rows() -> str:
    """Microseconds per source, and how near that is to writing the distances alone."""
    document = results("prepared_cuda.json")
    if document is None:
        return not_measured("prepared_cuda.json")
    lines = []
    for result in document["results"]:
        speed = result.get("memset_bytes_per_second")
        floor = 4 * result["n"] / speed * 1e6 if speed else None
        for name, samples in result["samples"].items():
            middle = statistics.median(samples) * 1e6
            share = [number(floor), f"{100 * floor / middle:.0f} %"] if floor else []
            lines.append([result["graph"], name, number(middle), *share])
    head = ["graph", "what", "us per source", "writing alone", "of that speed"]
    if not all(len(line) == len(head) for line in lines):
        head, lines = head[:3], [line[:3] for line in lines]
    return f"{table(head, lines)}\n\n{_where(document, 'prepared_cuda')}"


def queries() -> str:
    """Pairs, labels, floats, customization, several devices."""
    document = results("prepared_cuda_queries.json")
    if document is None:
        return not_measured("prepared_cuda_queries.json")
    lines = []
    for result in document["results"]:
        for name, samples in result["samples"].items():
            middle = statistics.median(samples)
            unit, scale = ("ms", 1e3) if middle >= 1e-4 else ("us", 1e6)
            unit, scale = ("ns", 1e9) if middle < 1e-7 else (unit, scale)
            lines.append([result["graph"], name, f"{number(middle * scale)} {unit}"])
    where = _where(document, "prepared_cuda_queries")
    return f"{table(['graph', 'what', 'per unit'], lines)}\n\n{where}"


def _where(document: Any, name: str) -> str:
    wrong = any(r["wrong"] for r in document["results"])
    said = "SOME ANSWERS WERE WRONG" if wrong else "Every answer is that of the CPU"
    where = document["environment"]
    gpu = (where.get("gpu") or {}).get("name", "GPU")
    return (
        f"Medians. {said}. {gpu}, {where['date'][:10]}, commit "
        f"{where['commit'][:12]};\n`benchmarks/results/{name}.json`."
    )
