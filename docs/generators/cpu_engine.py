"""Tables of the CPU engine: variants, widths of buckets, threads, what surrounds a solve."""

from __future__ import annotations

from typing import Any

from docs.generators.readme import is_auto, measured
from docs.generators.table import measured_on, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = [
    "ablation",
    "busy_cores",
    "cpu_beside_peers",
    "cpu_variants",
    "delta_widths",
    "overheads",
]

WIDTHS = ("0.125", "0.5", "1", "2", "8", "64")


def _variants() -> dict[str, Any] | None:
    """Graphs of cpu_variants.json."""
    document = results("cpu_variants.json")
    return None if document is None else document["graphs"]


def cpu_variants() -> str:
    """Sequential variants on every graph, beside SciPy."""
    graphs = _variants()
    if graphs is None:
        return not_measured("cpu_variants.json")
    names = dict.fromkeys(name for graph in graphs.values() for name in graph["variants"])
    rows = []
    for name in names:
        if "thread" in name:
            continue
        cells = [name]
        for graph in graphs.values():
            took = graph["variants"].get(name)
            if took is None:
                cells.append("-")
                continue
            own, base = took["processor_min_ms"], graph["variants"]["scipy"]["processor_min_ms"]
            ratio = "" if name == "scipy" else f" ({base / own:.1f}x)"
            cells.append(f"{number(own)}{ratio}")
        rows.append(cells)
    turns = len(next(iter(graphs.values()))["variants"]["scipy"]["wall_samples_ms"])
    return (
        f"{table(['variant', *graphs], rows)}\n\nOne thread; least processor time of {turns} "
        "rounds in turns in milliseconds, and how many times faster than SciPy\nin the same run; "
        f"answers checked against SciPy's. {measured_on(graphs.values())};\n"
        "`benchmarks/results/cpu_variants.json`."
    )


def delta_widths() -> str:
    """Delta-stepping with fixed widths, and with the one that it chooses."""
    graphs = {k: g for k, g in (_variants() or {}).items() if g.get("deltas")}
    if not graphs:
        return not_measured("cpu_variants.json")
    rows = [
        [
            name,
            *(number(g["deltas"][f"delta x {x}"]["processor_min_ms"]) for x in WIDTHS),
            number(g["deltas"]["delta chosen"]["processor_min_ms"]),
        ]
        for name, g in graphs.items()
    ]
    return table(["graph", *(f"x {x}" for x in WIDTHS), "chosen"], rows)


def cpu_beside_peers() -> str:
    """What the peers' run says of one thread, of two, and of the second."""
    document = results("peers.json")
    if document is None:
        return "Not measured yet: `nearfar bench peers -o benchmarks/results`."
    over: dict[int, dict[str, float]] = {1: {}, 2: {}}
    second = {}
    for run in document["runs"]:
        found = measured(run)
        own = {r["threads"]: r["median_seconds"] for r in found if is_auto(r)}
        peers = [r for r in found if r["name"] != "nearfar"]
        for threads, took in own.items():
            rivals = [r["median_seconds"] for r in peers if r["threads"] <= threads]
            if threads in over and rivals:
                over[threads][run["graph"]] = min(rivals) / took
        if {1, 2} <= own.keys():
            second[run["graph"]] = own[1] / own[2]
    lines = [
        f"- One thread is {_range(over[1])} times as fast as the best peer.",
        f"- Two threads are {_range(over[2])} times as fast.",
        f"- A second thread makes a solve {_range(second)} times as fast.",
    ]
    return "\n".join(lines) + "\n\nFrom `benchmarks/results/peers.json`, the README's table."


def _range(values: dict[str, float]) -> str:
    """Least and greatest, with their graphs."""
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    return f"{values[low]:.1f} ({low}) to {values[high]:.1f} ({high})"


def overheads() -> str:
    """What surrounds a solve."""
    document = results("overheads.json")
    if document is None:
        return not_measured("overheads.json")
    rows = [[line["what"], _amount(line["value"], line["unit"])] for line in document["lines"]]
    around = document["environment"]
    return (
        f"{table(['what', 'measured'], rows)}\n\n{measured_on([document])};\n"
        "`python benchmarks/overheads.py`, `benchmarks/results/overheads.json`, Python "
        f"{around['versions']['python']}."
    )


def _amount(value: float, unit: str) -> str:
    """A measured value with its unit."""
    text = f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"
    return f"{text} {unit}".rstrip()


def busy_cores() -> str:
    """One worker and one per core, beside busy loops of other programs."""
    document = results("busy_cores.json")
    if document is None:
        return not_measured("busy_cores.json")
    lines, worst = [], (0.0, "")
    for found in document["graphs"]:
        rows = found["rows"]
        several = max(row["threads"] for row in rows)
        for loops in dict.fromkeys(row["busy_loops"] for row in rows):
            one, all_of_them = (
                next(r for r in rows if r["busy_loops"] == loops and r["threads"] == threads)
                for threads in (1, several)
            )
            ratio = all_of_them["mean_ms"] / one["mean_ms"]
            if loops:
                beside = f"{found['graph']} with {loops} of them"
                worst = max(worst, (ratio, beside))
            lines.append(
                [
                    found["graph"],
                    str(loops),
                    number(one["mean_ms"]),
                    number(all_of_them["mean_ms"]),
                    number(ratio),
                ]
            )
    around = document["environment"]
    samples = document["graphs"][0]["rows"][0]["samples"]
    head = ["graph", "busy loops", "1 thread, ms", f"{several} threads, ms", "ratio"]
    return (
        f"{table(head, lines)}\n\nMean of a stretch of solves, median of {len(samples)} stretches "
        f"in turns, answers compared. The worst ratio beside busy loops is {worst[0]:.2f}, "
        f"{worst[1]}.\n"
        f"{around['cpu']}, {around['cores']} cores, load average {around['load_average']:.1f} at "
        f"the start, {around['date'][:10]}, commit {around['commit'][:12]};\n"
        "`benchmarks/results/busy_cores.json`."
    )


def ablation() -> str:
    """What each trick brings: times without it over times with all, by graph."""
    document = results("ablation.json")
    if document is None:
        return not_measured("ablation.json")
    graphs = document["graphs"]
    counts = list(next(iter(graphs.values()))["threads"])

    def cell(graph: str, name: str) -> str:
        found = [graphs[graph]["threads"][count].get(name) for count in counts]
        return " / ".join("-" if one is None else f"{one['ratio']:.2f}" for one in found)

    searched = {
        name for graph in graphs.values() for one in graph["threads"].values() for name in one
    }
    rows = [
        [f"{name} ({without})", *(cell(graph, name) for graph in graphs)]
        for name, without in document["tricks"].items()
        if name in searched
    ]
    said = []
    for loops, tricks in (document["busy"] or {}).get("loops", {}).items():
        ratios = " and ".join(
            f"{one['ratio']:.2f} without {name}"
            for name, one in tricks.items()
            if name not in ("with all", "nothing")
        )
        said.append(
            f" Two threads on two cores beside {loops} busy loop{'s' * (loops != '1')}, "
            f"{document['busy']['graph']}: {ratios}."
        )
    samples = next(iter(graphs.values()))["threads"][counts[0]]["with all"]["samples_ms"]
    return (
        f"{table(['trick (without it)', *graphs], rows)}\n\nTime without the trick / "
        f"time with all, {' / '.join(counts)} threads: least of {len(samples)} rounds in turns, "
        "processor time with one thread and wall time with more. Answers compared bit for bit. The "
        f'row "nothing" is the same code twice.{"".join(said)}\n{measured_on([document])};\n'
        "`benchmarks/results/ablation.json`."
    )
