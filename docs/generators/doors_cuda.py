"""Tables of a GPU's doors: all pairs for every form of graph and answer, and first calls."""

from __future__ import annotations

import statistics
from typing import Any

from docs.generators.table import device, milliseconds, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["all_pairs", "first_calls"]


_STATES = ("full", "empty")  # of the folders of compiled kernels


def _part(name: str) -> dict[str, Any] | None:
    return (results("doors_cuda.json") or {}).get(name)


def all_pairs() -> str:
    """All pairs by what the graph is made of and what the answer is."""
    part = _part("all-pairs")
    if part is None:
        return not_measured("doors_cuda.json", more=" --only all-pairs")
    graphs = part["results"]
    head = ["door"]
    for one in graphs:
        size = f"{one['graph']}: {one['vertices']:,} vertices, {one['edges']:,} edges"
        head += [f"{size}, first call, ms", "on the device", "next call", "on the device"]
    rows = []
    for door in graphs[0]["samples"]:
        cells = [door]
        for one in graphs:
            for when in ("fresh", "again"):
                samples = one["samples"][door][when]
                cells += [_median(samples, what) for what in ("wall", "device")]
        rows.append(cells)
    counts = [len(kinds["fresh"]) for one in graphs for kinds in one["samples"].values()]
    least, most = min(counts), max(counts)
    rounds = str(least) if least == most else f"{least} to {most}"
    return (
        f"{table(head, rows)}\n\nMedians of {rounds} rounds in turns, "
        f"{device(part)}; from `benchmarks/results/doors_cuda.json`."
    )


def _median(samples: list[dict[str, float]], what: str) -> str:
    return milliseconds(statistics.median(sample[what] for sample in samples))


def first_calls() -> str:
    """Fresh processes with kernel caches empty and full."""
    part = _part("first-calls")
    if part is None:
        return not_measured("doors_cuda.json", more=" --only first-calls")
    rows = []
    for one in part["results"]:
        files, seconds = one["kernel_files"], one["seconds"]
        cells = [one["what"]]
        cells += [number(statistics.median(s)) if (s := seconds[k]) else "" for k in _STATES]
        cells += [str(files[kind]) if any(files.values()) else "" for kind in ("kernels", "cupy")]
        rows.append(cells)
    many = part["settings"]["rounds"]
    count = "One process each" if many == 1 else f"Medians of {many} processes each"
    head = ["what a process does", "kernels at hand, s", "none at hand, s"]
    head += ["kernel files", "of CuPy"]
    return (
        f"{table(head, rows)}\n\n{count}, "
        f"{device(part)}; from `benchmarks/results/doors_cuda.json`."
    )
