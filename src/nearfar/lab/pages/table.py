"""Measured numbers as Markdown: tables, numbers of three digits, and where they were measured."""

from __future__ import annotations

from typing import Any

from nearfar.lab.bench.report import milliseconds, number

__all__ = ["device", "milliseconds", "number", "table"]


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, first column left, the others right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


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
