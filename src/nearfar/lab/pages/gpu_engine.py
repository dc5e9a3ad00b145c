"""The tables of the GPU engine: times beside the best peers, forms, steps, costs of types."""

from __future__ import annotations

from typing import Any

from nearfar.lab.checkout import results
from nearfar.lab.pages.table import device, milliseconds, number, table

__all__ = ["defaults", "flagship", "flagship_costs", "flagship_forms", "flagship_steps"]


def defaults(result: dict[str, Any]) -> dict[str, Any]:
    """The row of a graph that was measured with default options."""
    return next(row for row in result["rows"] if not row["options"])


def flagship_table(document: dict[str, Any]) -> str:
    """Time, and the best peer."""
    lines = []
    for result in document["results"]:
        took, peer = defaults(result)["median_ms"], result["best_peer_ms"]
        lines.append(
            [
                f"{result['graph']}: {result['n']:,} vertices, {result['m']:,} edges",
                number(took),
                number(peer) if peer else "not run",
                f"{peer / took:.1f}x" if peer else "-",
            ]
        )
    head = ["graph", "`near_far@cuda`", "best peer", "faster"]
    return table(head, lines)


def flagship() -> str:
    """The one-launch engine beside the best peer."""
    document = results("flagship.json")
    if document is None:
        return "On a GPU, measure with `python benchmarks/flagship.py`."
    rounds = max(len(defaults(r)["samples_ms"]) for r in document["results"])
    rows = [row for r in document["results"] for row in r["rows"]]
    wrong = sum(not row["right"] for row in rows)
    verdict = "every answer bit for bit that of the proven CPU engine"
    lines = [
        "Milliseconds per solve:",
        "",
        flagship_table(document),
        "",
        f"{device(document)}. Device time with the graph on the device, initialisation included, "
        f"median of {rounds};",
        (f"{wrong} answers were wrong" if wrong else verdict)
        + ". From `benchmarks/results/flagship.json`; the peers' times are those that",
        "`benchmarks/flagship.py` states, measured apart on the same kind of GPU: the best of "
        "ADDS, cuGraph, doubleGraph,",
        "Lonestar Near-Far and Gunrock.",
    ]
    return "\n".join(lines)


def flagship_steps() -> str:
    """What kinds of step the solves took."""
    document = results("flagship.json")
    if document is None:
        return "Measure with `python benchmarks/flagship.py`."
    lines = []
    for result in document["results"]:
        stats, steps = defaults(result)["stats"], result["steps_of_defaults"]
        cells = [result["graph"]]
        for kind in ("grid", "local", "split", "pull", "rescan"):
            row = steps.get(kind)
            cells.append(f"{row['steps']} ({number(row['ms'])} ms)" if row else "-")
        cells.append(f"{stats['edges_relaxed'] / result['m']:.2f}")
        cells.append(f"{stats['delta']:,.0f}")
        cells.append(f"{stats['last_delta']:,.0f}")
        lines.append(cells)
    head = ["graph", "grid steps", "local steps", "splits", "pulls", "rescans"]
    return table([*head, "edges looked at / m", "first delta", "last delta"], lines)


def flagship_forms() -> str:
    """The form that a graph's solves settle on, and what came before."""
    document = results("flagship.json")
    if document is None or "forms" not in defaults(document["results"][0]):
        return "Measure with `python benchmarks/flagship.py`."
    lines = []
    for result in document["results"]:
        row = defaults(result)
        form, sort = row["forms"][-1], row["stats"].get("sort_seconds")
        at = len(row["forms"])
        while at and row["forms"][at - 1] == form:
            at -= 1
        lines.append(
            [
                result["graph"],
                number(row["first_ms"][0]),
                form,
                str(at + 1),
                milliseconds(sort) if sort else "-",
                number(row["median_ms"]),
                f"{result['wrong_of_repeats']} of {result['repeats']}",
            ]
        )
    head = ["graph", "first solve, ms", "form", "from solve", "sort, ms", "then, ms"]
    return table([*head, "wrong answers"], lines)


def flagship_costs() -> str:
    """What types, predecessors and the first call cost."""
    document = results("flagship_costs.json")
    if document is None:
        return "Measure with `python benchmarks/flagship_costs.py`."
    types = list(document["types"][0]["median_ms"])
    lines = []
    for row in document["types"]:
        times, trees = row["median_ms"], row["predecessor_ms"]
        cells = [row["graph"], number(times["int32"])]
        cells += [f"{times[t] / times['int32']:.2f}x" for t in types if t != "int32"]
        cells.append(f"{1 + trees['int32'] / times['int32']:.2f}x")
        lines.append(cells)
    others = [t for t in types if t != "int32"]
    found = [
        table(["graph", "int32, ms", *others, "with predecessors"], lines),
        "",
        f"{device(document)}. Ratios to int32, medians of rounds in turns; from "
        "`benchmarks/results/flagship_costs.json`.",
    ]
    calls = document["first_call_s"]
    if calls:
        found += [
            "",
            "The first call of a process on ten million edges, from `import` to the answer, takes "
            f"{calls['warm']:.2f} s",
            f"with compiled kernels at hand and {calls['cold']:.2f} s without.",
        ]
    return "\n".join(found)
