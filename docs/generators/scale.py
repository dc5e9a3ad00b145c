"""What several GPUs, a cluster, and a file instead of memory bring."""

from __future__ import annotations

import html
import statistics
from typing import Any

from docs.generators.table import not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["chart", "cluster", "four_gpus", "gpus", "memory", "one_source"]

_COLOURS = (
    *("#f98e09", "#7b4fa3", "#4f9d69", "#c0392b", "#2e86c1", "#9aa5b1", "#333333"),
    *("#b7950b", "#117a65", "#d98880", "#5d6d7e"),
)
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
    counts = _counts(document)
    lines, wrong = [], 0
    for found in document["results"]:
        middle = {count: statistics.median(took) for count, took in found["samples"].items()}
        one = middle.get("1")
        cells = [_cell(one, middle.get(str(count))) for count in counts[1:]]
        alone = "-" if one is None else number(one * 1e3)
        lines.append([found["what"], f"{found['sources']:,}", alone, *cells])
        wrong += found["wrong"]
    head = ["rows", "sources", "one GPU, ms", *(f"{count} GPUs" for count in counts[1:])]
    said = "SOME ROWS WERE WRONG" if wrong else "Every number of GPUs gave the same bits"
    if repeats := max(found.get("repeats", 0) for found in document["results"]):
        most = max(counts)
        again = [row["what"] for row in document["results"] if row.get("repeats", 0) == repeats]
        said += f", in {repeats} further calls on {most} GPUs too ({'; '.join(again)})"
    where = _where(document, "scale_gpus", f"{name}.json")
    return f"{table(head, lines)}\n\nMedians of whole calls. {said}. {where}"


def _cell(one: float | None, seconds: float | None) -> str:
    """How much faster than one device; the time itself where one cannot do it."""
    if seconds is None:
        return "-"
    return f"{number(seconds * 1e3)} ms" if one is None else f"{one / seconds:.2f}"


def _counts(document: dict[str, Any]) -> list[int]:
    """The numbers of GPUs that were measured, 1 among them."""
    keys = {count for row in document["results"] for count in row["samples"] if count.isdecimal()}
    return sorted({1, *map(int, keys)})


def one_source() -> str:
    """GTEPS of one source of graphs that are partitioned, and the share of the link."""
    document = results("scale_gpus.json")
    rows = [] if document is None else [row for row in document["results"] if "gteps" in row]
    if document is None or not rows:
        return not_measured("scale_gpus.json")
    lines = []
    for row in rows:
        for count in map(str, _counts(document)):
            if count in row.get("does_not_fit", {}):
                lines.append([row["what"], count, "does not fit", "-", "-", "-"])
            if count not in row["samples"]:
                continue
            share, faster = row["link"].get(count), row["speedups"].get(count)
            lines.append(
                [
                    f"{row['what']}, {row['edges']:,} edges",
                    count,
                    number(statistics.median(row["samples"][count]) * 1e3),
                    number(statistics.median(row["gteps"][count])),
                    "-" if share is None else f"{100 * share:.0f} %",
                    "-" if faster is None else f"{faster:.2f}",
                ]
            )
    head = ["graph", "GPUs", "ms", "GTEPS", "on the link", "times one GPU"]
    wrong = sum(row["wrong"] for row in rows)
    said = f"{wrong} distances were wrong" if wrong else "Every distance proven"
    return f"{table(head, lines)}\n\n{said}. {_where(document, 'scale_gpus')}"


def chart() -> str:
    """Speedup over GPUs of both machines as a picture; that of four is dashed. SVG."""
    runs = [(results("scale_gpus.json"), ""), (results("scale_gpus_four.json"), "4 3")]
    most = max((max(_counts(document)) for document, _ in runs if document), default=2)
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
    parts.append(
        f'<text x="{_PAD - 8}" y="16" fill="#333">times as fast as one GPU</text>'
        f'<text x="{x(most) + 10:.0f}" y="{_TALL - 12}" fill="#333">GPUs</text>'
    )
    drawn = [
        ({row["what"]: row for row in document["results"]}, dashes)
        for document, dashes in runs
        if document
    ]
    named = dict.fromkeys(
        case for rows, _ in drawn for case, row in rows.items() if row["speedups"]
    )
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
            if not points:
                continue  # one device cannot do it
            path = " ".join(f"{x(count):.1f},{y(speedup):.1f}" for count, speedup in points)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
                f'stroke-dasharray="{dashes}"/>'
            )
    if any(dashes for _, dashes in drawn):
        at = 24 + 18 * min(len(named), len(_COLOURS))
        told = "dashed: an earlier machine of four"
        parts.append(f'<text x="{_PAD + _WIDE + 20}" y="{at + 6}" fill="#333">{told}</text>')
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
