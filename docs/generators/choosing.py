"""``auto`` beside the best of all variants, on CPU cores and on a GPU."""

from __future__ import annotations

import math
from typing import Any

from docs.generators.table import device, milliseconds, not_measured, table
from nearfar.lab.checkout import results

__all__ = ["choice_of_batches", "choice_on_cpu", "choice_on_gpu"]


def _choice(kept: str) -> str:
    """``auto`` beside the best of all variants, from one kept result."""
    document = results(kept)
    if document is None:
        return not_measured(kept)
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
    return _choice("choose_quality_cuda.json")


def choice_on_cpu() -> str:
    """``auto`` beside the best of all CPU variants, with one thread and with two."""
    return _choice("choose_quality.json")


def choice_of_batches() -> str:
    """``auto`` beside the best for many sources on one core, by graph and dtype of the weights."""
    document = results("choose_batches.json")
    if document is None:
        return not_measured("choose_batches.json")
    rows = document["results"]
    dtypes = list(rows[0]["dtypes"])
    lines, ratios = [], []
    for row in rows:
        cells = [f"{row['graph']}: {row['n']:,} vertices, {row['m']:,} edges"]
        for dtype in dtypes:
            found = row["dtypes"][dtype]
            ratios.append(found["auto_over_best"])
            cells += [found["chosen"].removesuffix("@cpu"), f"{found['auto_over_best']:.2f}"]
        lines.append(cells)
    head = ["graph"]
    for dtype in dtypes:
        head += [f"auto takes for {dtype}", "auto / fastest"]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    settings, measured = document["settings"], document["environment"]
    return (
        f"{table(head, lines)}\n\n{settings['sources']} sources, one core; the least processor "
        f"time of {settings['rounds']} turns; {measured['cpu']}, {measured['date'][:10]}, commit "
        f"{measured['commit'][:12]}; `benchmarks/results/choose_batches.json`.\n"
        f"Geometric mean {mean:.3f}, worst {max(ratios):.3f}."
    )
