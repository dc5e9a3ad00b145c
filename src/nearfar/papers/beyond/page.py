"""Page of the experiment ``beyond``, from benchmarks/results/beyond-*.json."""

# ruff: noqa: E501 - lines of Markdown

from __future__ import annotations

import numpy as np

from nearfar.lab.checkout import NOTICE
from nearfar.lab.experiments.kept import Kept
from nearfar.lab.experiments.render import cell


def _column(kept: Kept, table: str, name: str) -> dict[str, float]:
    """Return a column of a table by graph, without missing entries."""
    if table not in kept.tables:
        return {}
    names = [column["name"] for column in kept.tables[table]["columns"]]
    if name not in names:
        return {}
    at = names.index(name)
    return {row[0]: row[at] for row in kept.tables[table]["rows"] if row[at] is not None}


def _nearness(kept: Kept) -> list[str]:
    """Return the graphs nearest to and farthest from their bound, and a correlation with size."""
    share = _column(kept, "roofline", "bound / measured")
    if not share:
        return []
    near, far = max(share, key=lambda k: share[k]), min(share, key=lambda k: share[k])
    lines = [
        f"Closest to the greater of its bounds is {near}, which takes {cell(1 / share[near])} times as long; farthest is {far}, with {cell(1 / share[far])} times."
    ]
    size = _column(kept, "roofline", "bytes once")
    both = [k for k in share if k in size]
    if len(both) > 3:
        logs = np.log([[share[k] for k in both], [size[k] for k in both]])
        fit = float(np.corrcoef(logs)[0, 1])
        word = (
            "larger graphs are closer to the bound"
            if fit > 0.3
            else "larger graphs are farther from it"
            if fit < -0.3
            else "the graph's size hardly matters"
        )
        lines.append(
            f"Over the {len(both)} graphs {word} (correlation of the logarithms with the bytes {fit:.2f})."
        )
    looks = _column(kept, "roofline", "looks per edge")
    if looks:
        most = max(looks, key=lambda k: looks[k])
        lines.append(
            f"An edge is read {cell(min(looks.values()))} to {cell(looks[most])} times, most often on {most}."
        )
    return [" ".join(lines), ""]


def _gains(kept: Kept) -> list[str]:
    """Return the range of the GPU's speed over one core of its host."""
    over = _column(kept, "devices", "GPU over one core")
    if not over:
        return []
    best, worst = max(over, key=lambda k: over[k]), min(over, key=lambda k: over[k])
    return [
        f"The GPU is {cell(over[worst])} ({worst}) to {cell(over[best])} times ({best}) as fast as this project on one core of its host.",
        "",
    ]


def page() -> str:
    """Return the page."""
    cuda, cpu = Kept("beyond", "cuda"), Kept("beyond", "cpu")
    lines = [
        "# Beyond the papers: best engines, peers and a roofline",
        "",
        NOTICE,
        "",
        "The times of the best engine of each device on [the papers' graphs](../reference/speed.md), compared with",
        "two bounds set by the memory. *Stream*: the bytes that any method must move once, at the measured",
        "bandwidth of a copy; *gather*: one read of a distance in random order per edge, at the measured",
        "rate of such reads. Neither includes the latency of the dependent steps of a solve.",
        "",
    ]
    for kept, title, where in (
        (cuda, f"On {cuda.place()}", cuda.place()),
        (cpu, "On the CPU of the build machine", "the CPU"),
    ):
        lines += [f"## {title}", "", kept.how(), ""]
        if kept.there:
            lines += [kept.missing(), ""] if kept.missing() else []
            lines += [f"Wrong answers: {kept.wrong()}.", "", *_gains(kept)]
            lines += kept.figure("beyond", f"Speed and roofline on {where}")
            if kept.device == "cuda":
                lines += kept.table("roofline")
            lines += _nearness(kept)
    return "\n".join(lines).rstrip() + "\n"
