"""Searches within a limit: what they take by the vertices that they reach, and beside others."""

from __future__ import annotations

from typing import Any

from docs.generators.table import measured_on, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["within_limit"]


def within_limit() -> str:
    """Microseconds per source by what is reached, and the other parts as ratios."""
    document = results("within_limit.json")
    if document is None:
        return not_measured("within_limit.json")
    parts = {name: part["rows"] for name, part in document["parts"].items()}
    blocks = []
    if rows := parts.get("reach"):
        lines = [_reached(row) for row in rows]
        head = ["vertices reached", "us per source", "ns per vertex", "a dense row, times as long"]
        blocks.append(f"New York's roads in minutes, one thread:\n\n{table(head, lines)}")
    others = [row for name in ("catchment", "harmonic", "csgraph", "nearest")
              for row in parts.get(name, [])]  # fmt: skip
    lines = [[f"{row['what']}: {name}", f"{1e3 * seconds:,.3g}"]
             for row in others for name, seconds in row["least_seconds"].items()]  # fmt: skip
    for row in parts.get("catchment", []):
        lines = [[name, number(seconds)] for name, seconds in row["processor_seconds"].items()]
        head = ["what lies within five minutes of every vertex", "processor time, s"]
        blocks.append(table(head, lines))
    blocks.append(f"Beside others, on the same graph unless named:\n\n{table(['', 'ms'], lines)}")
    return "\n\n".join(blocks) + (
        "\n\nLeast of the rounds, contenders in turns; answers are compared. "
        f"{measured_on(document['parts'].values())};\n`benchmarks/results/within_limit.json`."
    )


def _reached(row: dict[str, Any]) -> list[str]:
    """A limit: vertices, time per source and per vertex, and the dense engine's time over it."""
    own = row["least_seconds"]["bounded"]
    dense = row["least_seconds"]["worker_per_source"]
    each = own / (row["reached"] + 1) * 1e9
    return [f"{row['reached'] + 1:,.1f}", number(own * 1e6), number(each), number(dense / own)]
