"""What several GPUs, a cluster, and a file instead of memory bring."""

from __future__ import annotations

import html
import statistics
from typing import Any

from nearfar.lab.checkout import results
from nearfar.lab.pages.table import not_measured, number, table

__all__ = ["chart", "cluster", "four_gpus", "gpus", "memory"]

_COLOURS = ("#f98e09", "#7b4fa3", "#4f9d69", "#c0392b", "#2e86c1", "#9aa5b1", "#333333")
_WIDE, _TALL, _PAD, _KEY = 340, 300, 40, 250


def gpus() -> str:
    """Milliseconds of one device, and the speedup of more; a picture before it."""
    shown = _speedups("scale_gpus")
    return f"![Speedup by the number of GPUs](../images/scale-gpus.svg)\n\n{shown}"


def four_gpus() -> str:
    """The same on another machine, which had four."""
    return _speedups("scale_gpus_four")


def _speedups(name: str) -> str:
    document = results(f"{name}.json")
    if document is None:
        return not_measured("scale_gpus.json")
    counts = [str(count) for count in range(1, _most(document) + 1)]
    lines, wrong = [], 0
    for found in document["results"]:
        middle = {count: statistics.median(found["samples"][count]) for count in counts}
        ratios = [f"{middle['1'] / middle[count]:.2f}" for count in counts[1:]]
        lines.append([found["what"], f"{found['sources']:,}", number(middle["1"] * 1e3), *ratios])
        wrong += found["wrong"]
    head = ["rows", "sources", "one GPU, ms", *(f"{count} GPUs" for count in counts[1:])]
    said = "SOME ROWS WERE WRONG" if wrong else "Every number of GPUs gave the same bits"
    where = _where(document, "scale_gpus", f"{name}.json")
    return f"{table(head, lines)}\n\nMedians of whole calls. {said}. {where}"


def _most(document: dict[str, Any]) -> int:
    """The most GPUs that a row of the document was measured on."""
    return max(
        int(count) for row in document["results"] for count in row["samples"] if count.isdecimal()
    )


def chart() -> str:
    """Speedup over GPUs of both machines as a picture; that of four is dashed. SVG."""
    runs = [(results("scale_gpus.json"), ""), (results("scale_gpus_four.json"), "4 3")]
    most = max((_most(document) for document, _ in runs if document), default=2)
    wide = _PAD + _WIDE + _KEY

    def x(count: float) -> float:
        return _PAD + (_WIDE - 30) * (count - 1) / (most - 1)

    def y(speedup: float) -> float:
        return _TALL - 30 - (_TALL - 60) * (speedup - 1) / (most - 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{_TALL}" '
        f'viewBox="0 0 {wide} {_TALL}" font-family="system-ui, sans-serif" font-size="11">',
        "<title>Speedup by the number of GPUs</title>",
        f'<rect width="{wide}" height="{_TALL}" rx="8" fill="#ffffff"/>',
        f'<path d="M{x(1):.0f} {y(1):.0f}L{x(most):.0f} {y(most):.0f}" stroke="#d0d5da"/>',
    ]
    for count in range(1, most + 1):
        parts.append(
            f'<path d="M{x(count):.0f} {y(1):.0f}V{y(most):.0f}" stroke="#e4e8ec"/>'
            f'<path d="M{x(1):.0f} {y(count):.0f}H{x(most):.0f}" stroke="#e4e8ec"/>'
            f'<text x="{x(count):.0f}" y="{_TALL - 12}" text-anchor="middle">{count}</text>'
            f'<text x="{_PAD - 8}" y="{y(count) + 4:.0f}" text-anchor="end">{count}</text>'
        )
    drawn = [
        ({row["what"]: row for row in document["results"]}, dashes)
        for document, dashes in runs
        if document
    ]
    named = dict.fromkeys(case for rows, _ in drawn for case in rows)
    for place, (case, colour) in enumerate(zip(named, _COLOURS, strict=False)):
        at = 24 + 18 * place
        parts.append(
            f'<rect x="{_PAD + _WIDE}" y="{at}" width="14" height="4" fill="{colour}"/>'
            f'<text x="{_PAD + _WIDE + 20}" y="{at + 6}" fill="#333">{html.escape(case)}</text>'
        )
        for rows, dashes in drawn:
            if case not in rows:
                continue
            speedups = rows[case]["speedups"].items()
            points = sorted((int(k), s) for k, s in speedups if k.isdecimal())
            path = " ".join(f"{x(count):.1f},{y(speedup):.1f}" for count, speedup in points)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
                f'stroke-dasharray="{dashes}"/>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def cluster() -> str:
    """Threads of one process and as many workers."""
    document = results("scale_dask.json")
    if document is None:
        return not_measured("scale_dask.json")
    lines = [
        [
            name,
            number(min(found["samples"]["threads"])),
            number(min(found["samples"]["workers"])),
            f"{found['least']:.2f}",
            f"{found['blocks']} of {found['rows_per_block']}",
        ]
        for name, found in document["results"].items()
    ]
    count = document["workers"]
    head = ["rows", f"{count} threads, s", f"{count} workers, s", "efficiency", "blocks of rows"]
    return f"{table(head, lines)}\n\nLeast of {document['rounds']} rounds in turns. " + _where(
        document, "scale_dask"
    )


def memory() -> str:
    """A run in memory and one that a control group holds."""
    document = results("beyond_memory.json")
    if document is None:
        return not_measured("beyond_memory.json")
    lines = []
    for name, found in document["results"].items():
        peak = found["group_peak_bytes"]
        lines.append(
            [
                name,
                number(found["solve_seconds"]),
                number(found["edges_per_second"] / 1e6),
                _mib(found["peak_bytes"]["RssAnon"]),
                "-" if peak is None else _mib(peak),
                _mib(found["peak_bytes"]["read_bytes"]),
            ]
        )
    head = ["run", "s", "M edges per s", "own memory, MiB", "all memory, MiB", "read, MiB"]
    said = (
        f"A graph of {_mib(document['graph_bytes'])} MiB, {document['sources']} sources, limit "
        f"{_mib(document['limit'])} MiB. "
    )
    return f"{table(head, lines)}\n\n{said}{_where(document, 'beyond_memory')}"


def _mib(size: float) -> str:
    return f"{size / 2**20:,.0f}"


def _where(document: Any, name: str, file: str = "") -> str:
    where = document["environment"]
    gpu = (where.get("gpu") or {}).get("name")
    machine = gpu or f"{where['cores']} cores, load {where['load_average']:.0f}"
    files = f"`benchmarks/{name}.py`, `benchmarks/results/{file or f'{name}.json'}`"
    return f"{machine}, {where['date'][:10]} ({files})."
