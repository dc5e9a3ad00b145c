"""What several GPUs, a cluster, and a file instead of memory bring."""

from __future__ import annotations

import statistics
from typing import Any

from nearfar.lab.checkout import results
from nearfar.lab.pages.table import number, table

__all__ = ["cluster", "gpus", "memory"]

_MISSING = "Not measured yet: `python benchmarks/{0}.py`."


def gpus() -> str:
    """Milliseconds of one device, and the speedup of more."""
    document = results("scale_gpus.json")
    if document is None:
        return _MISSING.format("scale_gpus")
    counts = [str(count) for count in range(1, document["devices"] + 1)]
    lines, wrong = [], 0
    for name, found in document["results"].items():
        middle = {count: statistics.median(found["samples"][count]) for count in counts}
        ratios = [f"{middle['1'] / middle[count]:.2f}" for count in counts[1:]]
        lines.append([name, f"{found['sources']:,}", number(middle["1"] * 1e3), *ratios])
        wrong += found["wrong"]
    head = ["rows", "sources", "one GPU, ms", *(f"{count} GPUs" for count in counts[1:])]
    said = "SOME ROWS WERE WRONG" if wrong else "Every number of GPUs gave the same bits"
    where = _where(document, "scale_gpus")
    return f"{table(head, lines)}\n\nMedians of whole calls. {said}. {where}"


def cluster() -> str:
    """Threads of one process and as many workers."""
    document = results("scale_dask.json")
    if document is None:
        return _MISSING.format("scale_dask")
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
        return _MISSING.format("beyond_memory")
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


def _where(document: Any, name: str) -> str:
    where = document["environment"]
    gpu = (where.get("gpu") or {}).get("name")
    machine = gpu or f"{where['cores']} cores, load {where['load_average']:.0f}"
    files = f"`benchmarks/{name}.py`, `benchmarks/results/{name}.json`"
    return f"{machine}, {where['date'][:10]} ({files})."
