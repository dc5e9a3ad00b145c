"""Measured numbers as Markdown: tables, numbers of three digits, and where they were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearfar.lab.bench.report import milliseconds, number

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["device", "measured_on", "milliseconds", "not_measured", "number", "table"]


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, first column left, the others right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def not_measured(file: str, script: str | None = None, more: str = "") -> str:
    """What stands in place of a kept result: the command that makes it, with ``more`` words."""
    script = script or file.replace(".json", ".py")
    return f"Not measured yet: `python benchmarks/{script}{more} -o benchmarks/results/{file}`."


def measured_on(documents: Iterable[dict[str, Any]]) -> str:
    """On what processor measurements were made, when, and how busy it was."""
    around = [document["environment"] for document in documents]
    loads = sorted(one["load_average"] for one in around)
    least, most = f"{loads[0]:.1f}", f"{loads[-1]:.1f}"
    load = least if least == most else f"{least} to {most}"
    commits = list(dict.fromkeys(one["commit"][:12] for one in around))
    commit = f"commit {commits[0]}" if len(commits) == 1 else f"commits {', '.join(commits)}"
    dates = sorted({one["date"][:10] for one in around})
    return (
        f"{around[0]['cpu']}, {around[0]['cores']} cores, load average {load} at the start, "
        f"{' to '.join(dates)}, {commit}"
    )


def device(document: dict[str, Any]) -> str:
    """What a measurement on a GPU ran on, with date and commit where the file has them."""
    here = document["device"]
    words = [here["name"], f"driver for CUDA {here['driver']}", f"CuPy {here['cupy']}"]
    around = document.get("environment", document)
    rows = document.get("results", [])
    apart = [row["environment"] for row in rows if "environment" in row]  # measured at other times
    runs = dict.fromkeys(_run(place) for place in apart or [around])
    return ", ".join(filter(None, [*words, " and ".join(filter(None, runs))]))


def _run(around: dict[str, Any]) -> str:
    """Date and commit of an environment, where it has them."""
    words = [str(around["date"])[:10]] if "date" in around else []
    if around.get("commit", "unknown") != "unknown":
        words.append(f"commit {around['commit'][:12]}")
    return ", ".join(words)
