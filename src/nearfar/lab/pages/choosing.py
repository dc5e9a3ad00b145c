"""``auto`` beside the best of all variants, on CPU cores and on a GPU."""

from __future__ import annotations

import math
from typing import Any

from nearfar.lab.checkout import results
from nearfar.lab.pages.table import device, milliseconds, table

__all__ = ["choice_on_cpu", "choice_on_gpu"]


def _choice(kept: str, script: str) -> str:
    """``auto`` beside the best of all variants, from one kept result."""
    document = results(kept)
    if document is None:
        return f"Not measured yet: `benchmarks/{script} -o benchmarks/results`."
    lines = [
        [
            _case(found),
            found["chosen"],
            milliseconds(found["auto_seconds"]),
            found["best"],
            milliseconds(found["best_seconds"]),
            f"{found['auto_over_best']:.3f}",
        ]
        for found in document["graphs"]
    ]
    ratios = [found["auto_over_best"] for found in document["graphs"]]
    mean, worst = math.exp(sum(map(math.log, ratios)) / len(ratios)), max(ratios)
    measured = document["environment"]
    place = (
        device({"device": measured["gpu"], "environment": measured, "results": document["graphs"]})
        if measured["gpu"]
        else f"{measured['cpu']}, {measured['cores']} cores, {measured['date'][:10]}, "
        f"commit {measured['commit'][:12]}"
    )
    rounds = len(next(iter(document["graphs"][0]["samples"].values())))
    return (
        f"{table(['graph', 'auto takes', 'ms', 'fastest', 'ms', 'auto / fastest'], lines)}\n\n"
        f"Medians of {rounds} samples, {len(lines)} cases; {place}; "
        f"`benchmarks/results/{kept}`.\nGeometric mean {mean:.3f}, worst {worst:.3f} on "
        f"{document['graphs'][ratios.index(worst)]['graph']}."
    )


def _case(found: dict[str, Any]) -> str:
    """A graph with its size, or with the number of threads."""
    if "n" in found:
        return f"{found['graph']}: {found['n']:,} vertices, {found['m']:,} edges"
    return f"{found['graph']}, {found['threads']} thr"


def choice_on_gpu() -> str:
    """``auto`` beside the best of all CUDA variants."""
    return _choice("choose_quality_cuda.json", "choose_quality_cuda.py")


def choice_on_cpu() -> str:
    """``auto`` beside the best of all CPU variants, with one thread and with two."""
    return _choice("choose_quality.json", "choose_quality.py")
