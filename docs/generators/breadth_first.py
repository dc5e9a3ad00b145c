"""Tables of breadth-first search: beside weights of 1, and of a graph past 2^31 edges."""

from __future__ import annotations

from typing import Any

from docs.generators.table import device, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["breadth_first", "two_billion_edges"]

_BFS = "breadth_first_cuda.json"
_MADE = ("transpose", "balls")


def _timed(row: dict[str, Any]) -> list[str]:
    """Milliseconds and times faster of one engine."""
    return [number(row["median_ms"]), number(row["times_faster"])]


def _first(row: dict[str, Any]) -> str:
    """Milliseconds of the first search of a graph with what it made."""
    return number(row["first_ms"] + row.get("made_in_first_ms", 0.0))


def _made(row: dict[str, Any]) -> str:
    """Milliseconds of what an engine made of a graph for later searches."""
    made = [f"{number(row[f'{what}_ms'])} {what}" for what in _MADE if f"{what}_ms" in row]
    return ", ".join(made) or "-"


def _peer(result: dict[str, Any]) -> str:
    """Milliseconds of cuGraph's search."""
    beside = [row for row in result.get("peers", []) if row["ms"] is not None]
    return "-" if not beside else number(beside[0]["ms"]) if beside[0]["right"] else "wrong"


def breadth_first() -> str:
    """Breadth-first search beside near-far with weights of 1, and the steps of each search."""
    document = results(_BFS)
    if document is None:
        return not_measured(_BFS)
    versions = {
        row["version"]
        for result in document["results"]
        for row in result.get("peers", [])
        if row["ms"] is not None
    }
    lines, steps = [], []
    for result in document["results"]:
        rows = {row["engine"]: row for row in result["rows"]}
        own, near = rows["breadth-first"], rows["weights of 1"]
        lines.append(
            [
                f"{result['graph']}, {result['levels']:,} levels",
                number(near["median_ms"]),
                *_timed(own),
                _first(near),
                _first(own),
                _made(own),
                *([_peer(result)] if versions else []),
            ]
        )
        kinds = ", ".join(f"{kind['steps']:,} {name}" for name, kind in own["kinds"].items())
        steps.append(f"{result['graph']}: {kinds}")
    head = ["graph", "near-far, weights of 1", "breadth-first", "times faster"]
    head += ["first search, near-far", "first search, breadth-first", "made once for later ones"]
    beside = ""
    if versions:
        head.append("cuGraph")
        beside = (
            f" cuGraph {' and '.join(sorted(versions))}: a whole call of `pylibcugraph.bfs`, its "
            "graph made before, the fastest of its forms, predecessors included."
        )
    wrong = [r["graph"] for r in document["results"] if not all(x["right"] for x in r["rows"])]
    verdict = f"Wrong answers on {', '.join(wrong)}." if wrong else "No answer was wrong."
    return (
        f"Milliseconds, median of {len(own['samples_ms'])}, every answer compared with that of the "
        f"CPU. {verdict} {device(document)};\n`benchmarks/results/{_BFS}`.\n\n"
        f"{table(head, lines)}\n\nSteps once that is made: {'; '.join(steps)}.{beside}"
    )


def _checked(document: dict[str, Any]) -> str:
    """How long checking the arrays took, and where."""
    took = f"{number(document['validation_s'])} s"
    if "host_bytes" not in document:
        return f"The arrays were checked on the host then, in {took}; now they are on the device."
    held = document["host_bytes"] / 2**30
    return f"Checking the arrays on the device took {took}; the host held {held:.1f} GiB at most."


def two_billion_edges() -> str:
    """A graph whose edges need 64-bit positions: memory, times, proofs."""
    document = results("two_billion_edges.json")
    if document is None:
        return not_measured("two_billion_edges.json")
    lines = [
        [
            f"`{row['method']}`",
            f"{row['stated_graph_bytes'] / 2**30:.2f}",
            f"{row['held_bytes'] / 2**30:.2f}",
            number(row["median_ms"]),
            "yes" if row["proven"] else "no",
        ]
        for row in document["rows"]
    ]
    refusal = document["refusal"]
    refused = (
        f"A pool of {refusal['free'] / 2**30:.2f} GiB was refused with `OutOfMemoryError`, "
        f"{refusal['allocated']:,} bytes allocated."
    )
    head = ["method", "stated beforehand, GiB", "held, GiB", "ms", "proven on the device"]
    return (
        f"{document['n']:,} vertices, {document['m']:,} edges:\n\n{table(head, lines)}\n\n"
        f"{refused} {_checked(document)}\n{device(document)}; median of "
        f"{len(document['rows'][0]['samples_ms'])}; `benchmarks/results/two_billion_edges.json`."
    )
