"""The tables of the GPU engine: times beside the best peers, forms, steps, costs of types."""

from __future__ import annotations

from typing import Any

from docs.generators.table import device, milliseconds, number, table
from nearfar.lab.checkout import results

__all__ = [
    "PROGRAMS",
    "defaults",
    "flagship",
    "flagship_costs",
    "flagship_forms",
    "flagship_steps",
    "programs",
    "solved",
]

#: Other programs on the GPU by the names of their adapters; their own names.
PROGRAMS = {"adds": "ADDS", "doublegraph": "doubleGraph", "cugraph": "cuGraph"}


def solved(document: dict[str, Any] | None) -> dict[str, Any] | None:
    """Without the graphs of which so far only cores were timed (``flagship.py --cores-only``)."""
    if document is None:
        return None
    return {**document, "results": [row for row in document["results"] if "rows" in row]}


def defaults(result: dict[str, Any]) -> dict[str, Any]:
    """The row of a graph that was measured with default options."""
    return next(row for row in result["rows"] if not row["options"])


def flagship_table(document: dict[str, Any]) -> str:
    """Time settled and of the first solve, and the peers of the same run."""
    lines, there = [], programs(document)
    for result in document["results"]:
        row = defaults(result)
        took, best = row["median_ms"], result["best_peer_ms"]
        beside = {peer["peer"]: _peer(peer) for peer in result["peers"]}
        lines.append(
            [
                f"{result['graph']}: {result['n']:,} vertices, {result['m']:,} edges",
                number(took),
                number(row["first_ms"][0]),
                *(beside.get(name, "-") for name in there),
                f"{best / took:.1f}x" if best else "-",
            ]
        )
    head = ["graph", "`near_far@cuda`", "first solve", *there.values(), "faster than the best"]
    return table(head, lines)


def programs(document: dict[str, Any]) -> dict[str, str]:
    """Those of the other programs that were measured, with what they are called."""
    every = [peer for result in document["results"] for peer in result["peers"]]
    versions = {peer["peer"]: peer.get("version", "unknown") for peer in every}
    return {
        name: said if versions[name] == "unknown" else f"{said} {versions[name]}"
        for name, said in PROGRAMS.items()
        if name in versions
    }


def _beside(document: dict[str, Any]) -> str:
    """What of each program was timed."""
    words = {
        "adds": "ADDS, which does not end within 10 s on graphs with hubs",
        "doublegraph": f"the fastest of doubleGraph's {_forms(document)}, without predecessors",
        "cugraph": "a whole call of cuGraph with the faster of its two numberings, which always "
        "makes predecessors too",
    }
    return "; ".join(words[name] for name in programs(document))


def _forms(document: dict[str, Any]) -> str:
    """How many forms of doubleGraph were tried, and where they were fewer than elsewhere."""
    counts = {
        result["graph"]: len(peer["forms"])
        for result in document["results"]
        for peer in result["peers"]
        if peer["peer"] == "doublegraph" and peer.get("forms")
    }
    most = max(counts.values(), default=0)
    fewer = [f"{count} on {graph}" for graph, count in counts.items() if count < most]
    return f"{most} forms" + (f" ({', '.join(fewer)}, the best ones elsewhere)" if fewer else "")


def _peer(row: dict[str, Any]) -> str:
    """A peer's milliseconds, or why there are none."""
    if row["ms"] is None:
        return "does not end" if "longer than" in row["skipped"] else "-"
    return number(row["ms"]) if row["right"] else "wrong"


def flagship() -> str:
    """The one-launch engine beside the peers of its run."""
    document = solved(results("flagship.json"))
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
        + ". The peers ran in the same run, with the same sources, and their",
        "distances were compared with the same ones ([how they are built]"
        f"(../how-to/build-the-peers.md#on-a-gpu)): {_beside(document)}.",
        "A dash says that a program was not tried. From `benchmarks/results/flagship.json`.",
    ]
    return "\n".join(lines)


def flagship_steps() -> str:
    """What kinds of step the solves took."""
    document = solved(results("flagship.json"))
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
    document = solved(results("flagship.json"))
    if document is None or "forms" not in defaults(document["results"][0]):
        return "Measure with `python benchmarks/flagship.py`."
    lines = []
    for result in document["results"]:
        row = defaults(result)
        form = row["forms"][-1]
        once = (row["stats"].get(name) for name in ("sort_seconds", "pack_seconds"))
        at = len(row["forms"])
        while at and row["forms"][at - 1] == form:
            at -= 1
        lines.append(
            [
                result["graph"],
                number(row["first_ms"][0]),
                form,
                str(at + 1),
                *(milliseconds(seconds) if seconds else "-" for seconds in once),
                number(row["median_ms"]),
                f"{result['wrong_of_repeats']} of {result['repeats']}",
            ]
        )
    head = ["graph", "first solve, ms", "form", "from solve", "once: sort, ms", "rows, ms"]
    return table([*head, "then, ms", "wrong answers"], lines)


_WITH_TREE = ("with predecessors", "whole calls")


def flagship_costs() -> str:
    """What types and predecessors cost."""
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
        calls = row.get("call_ms")
        both = calls and calls["and predecessors"] / calls["distances"]
        cells.append(f"{both:.2f}x" if both else "")
        lines.append(cells)
    others = [t for t in types if t != "int32"]
    return (
        f"{table(['graph', 'int32, ms', *others, *_WITH_TREE], lines)}\n\n"
        f"{device(document)}. Ratios to int32, medians of rounds in turns; from "
        "`benchmarks/results/flagship_costs.json`."
    )
