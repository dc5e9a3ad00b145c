"""The table of one source over several GPUs."""

from __future__ import annotations

import statistics
from typing import Any

from docs.generators.table import device, number, table
from nearfar.lab.bench.report import link_share
from nearfar.lab.checkout import results

__all__ = ["partitioned"]


def partitioned() -> str:
    """Milliseconds and GTEPS per scale and number of devices."""
    document = results("partitioned.json")
    if document is None:
        return "Measure with `python benchmarks/partitioned.py` on a machine with several GPUs."
    lines = []
    for row in sorted(document["results"], key=_place):
        if "why" in row:
            lines.append([f"{row['scale']}", str(row["devices"]), "does not fit", *["-"] * 4])
            continue
        solves = row["solves"]
        took = statistics.median(statistics.median(solve["samples_s"]) for solve in solves)
        near_far = row.get("near_far_s")
        alone = [number(_in_turns(near_far, len(solves)) * 1e3)] if near_far else []
        lines.append(
            [
                f"{row['scale']}: {row['vertices']:,} vertices, {row['edges']:,} edges",
                str(row["devices"]),
                number(took * 1e3),
                number(statistics.median(solve["gteps"] for solve in solves)),
                f"{statistics.median(_work(row, solve) for solve in solves):.2f}",
                _on_the_link(row),
                *(alone or ["-"]),
            ]
        )
    wrong = sum(row.get("wrong", 0) for row in document["results"])
    proof = "every distance proven" if not wrong else f"{wrong} wrong"
    head = ["scale", "GPUs", "ms", "GTEPS", "edges relaxed / edges", "on the link"]
    head.append("`near_far@cuda`, ms")
    return "\n".join(
        [
            table(head, lines),
            "",
            f"{device({**document, 'device': document['environment']['gpu']})}; medians over "
            f"sources; {proof}. GTEPS as Graph500 counts",
            "them: undirected edges of the source's component over the time of the solve. On the "
            "link: share of the kernels' time",
            "in which GPUs read from each other. The last column is one GPU's own engine, settled "
            "on the graph.",
            "From `benchmarks/results/partitioned.json`.",
        ]
    )


def _place(row: dict[str, Any]) -> tuple[int, int]:
    return row["scale"], row["devices"]


def _in_turns(samples: list[float], sources: int) -> float:
    """The median over sources that took turns of their medians, as for this method."""
    return statistics.median(statistics.median(samples[k::sources]) for k in range(sources))


def _work(row: dict[str, Any], solve: dict[str, Any]) -> float:
    return float(solve["edges_relaxed"]) / float(row["edges"])


def _on_the_link(row: dict[str, Any]) -> str:
    share = link_share(row)
    return "-" if share is None else f"{100 * share:.0f} %"
