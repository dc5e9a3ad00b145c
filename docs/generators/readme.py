"""The numbers of the README and of the page of speeds: beside peers, and a GPU beside its host."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

from docs.generators.gpu_engine import PROGRAMS, defaults, programs, solved
from docs.generators.table import device, milliseconds, number, table
from nearfar.lab.checkout import results

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "chart",
    "gpu_beside_its_host",
    "gpu_beside_peers",
    "gpu_chart",
    "is_auto",
    "measured",
    "peers",
]


def peers() -> str:
    """Compare the CPU engine with SciPy and the fastest other peer of each graph."""
    document = results("peers.json")
    if document is None:
        return (
            "On the CPU, measure on your machine: `nearfar bench peers -o benchmarks/results` "
            "times this library, SciPy\nand every other peer it finds on the same graphs, in "
            "turns, and proves each answer\n([how to measure](docs/how-to/measure.md))."
        )
    own = sorted(
        {r["contender"] for run in document["runs"] for r in measured(run) if is_auto(r)},
        key=lambda label: (len(label), label),
    )
    lines = []
    for run in document["runs"]:
        found = {r["contender"]: r for r in measured(run)}
        scipy = next((r for r in found.values() if r["name"] == "scipy"), None)
        cells = [f"{run['graph']}: {run['n_vertices']:,} vertices, {run['n_edges']:,} edges"]
        others = [r for r in found.values() if r["name"] not in ("nearfar", "scipy")]
        cells.append(milliseconds(scipy["median_seconds"]) if scipy else "-")
        best = min(others, key=lambda r: r["median_seconds"], default=None)
        cells.append(f"{milliseconds(best['median_seconds'])} {best['contender']}" if best else "-")
        for label in own:
            cells.append(milliseconds(found[label]["median_seconds"]) if label in found else "-")
        for label in own:  # the bar of a number of threads: the best that had no more of them
            one = found.get(label)
            rivals = [r for r in others if one and r["threads"] <= one["threads"]]
            rivals += [scipy] if scipy else []
            least = min((r["median_seconds"] for r in rivals), default=None)
            cells.append(f"{least / one['median_seconds']:.2f}x" if one and least else "-")
        lines.append(cells)
    counts = [label.removeprefix("nearfar ").strip("()") for label in own]
    head = ["graph", "SciPy", "fastest other peer", *own, *(f"faster, {c}" for c in counts)]
    around = document["environment"]
    versions = {
        r["name"]: r["version"]
        for run in document["runs"]
        for r in measured(run)
        if r["name"] != "nearfar" and r["version"] != "unknown"
    }
    silent = dict.fromkeys(
        r["name"] for run in document["runs"] for r in measured(run) if r["answer"] == "not shown"
    )
    verified = f" ({' and '.join(silent)} by their own verifier)" if silent else ""
    rounds = "/".join(map(str, sorted({run["rounds"] for run in document["runs"]})))
    return "\n".join(
        [
            "On the CPU, milliseconds per solve, and how many times faster than the best peer with "
            "no more threads:",
            "",
            table(head, lines),
            "",
            f"Medians of {rounds} rounds in turns on {around['cpu']}, {around['cores']} cores, "
            f"{str(around['date'])[:10]}, commit {around['commit'][:12]}"
            + (" with uncommitted changes" if around.get("uncommitted_changes") else "")
            + ";",
            ", ".join(f"{name} {version}" for name, version in versions.items())
            + f"; every answer compared with one that is proven{verified}.",
            "From `benchmarks/results/peers.json` ([how to measure](docs/how-to/measure.md)).",
        ]
    )


#: What a bar is called and its colour; the last is nearfar.
_CPU_BARS = (("SciPy", "#9aa5b1"), ("fastest other peer", "#c3a0d8"), ("nearfar", "#f98e09"))
_GPU_BARS = (
    ("nearfar, one core", "#f9d9a8"),
    ("nearfar, {} cores", "#fbb65a"),
    ("best other on a GPU", "#c3a0d8"),
    ("nearfar, GPU", "#d9480f"),
)
_WIDE, _LEFT, _BAR = 760, 150, 15


def chart() -> str:
    """The same comparison as a picture: SVG, with a logarithmic axis in milliseconds."""
    document = results("peers.json")
    rows: list[tuple[str, list[float | None]]] = []
    for run in document["runs"] if document else []:
        found = measured(run)
        times = {r["contender"]: 1e3 * r["median_seconds"] for r in found}
        own = [times[r["contender"]] for r in found if is_auto(r)]
        scipy = [times[r["contender"]] for r in found if r["name"] == "scipy"]
        rest = [times[r["contender"]] for r in found if r["name"] not in ("nearfar", "scipy")]
        rows.append((run["graph"], [min(group, default=None) for group in (scipy, rest, own)]))
    return _bars("Milliseconds per solve on a CPU, less is better", _CPU_BARS, rows)


def gpu_chart() -> str:
    """A GPU beside other programs on it and cores of its host, from one run."""
    document = solved(results("flagship.json"))
    rows: list[tuple[str, list[float | None]]] = []
    most = 0
    for result in document["results"] if document else []:
        cores = _cores(result)
        most = max([most, *cores])
        one, many = cores.get(1), cores[max(cores)] if cores else None
        took = defaults(result)["median_ms"]
        rows.append((result["graph"], [one, many, result["best_peer_ms"], took]))
    bars = tuple((name.format(most), colour) for name, colour in _GPU_BARS)
    return _bars("Milliseconds per solve on a GPU and on its host, less is better", bars, rows)


def _and(names: Iterable[str]) -> str:
    """``a, b and c``."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _cores(result: dict[str, Any]) -> dict[int, float]:
    """Milliseconds by number of threads, where cores were measured beside the GPU."""
    return {row["threads"]: row["median_ms"] for row in result.get("cores", [])}


def _how_cores(document: dict[str, Any]) -> str:
    """How the cores were timed, and how busy the others were; empty where none were."""
    loads = [
        row.get("load_average", 0.0)
        for result in document["results"]
        for row in result.get("cores", [])
    ]
    if not loads:
        return ""
    busy = f" while other cores were busy (load average {max(loads):.0f})" if max(loads) > 2 else ""
    return f" Cores by the wall clock, medians after a first solve{busy}."


def gpu_beside_peers() -> str:
    """The GPU engine, the best other program on the GPU, and cores of the host, in one table."""
    document = solved(results("flagship.json"))
    if document is None:
        return "On a GPU, measure on your machine with `python benchmarks/flagship.py`."
    counts = sorted({threads for result in document["results"] for threads in _cores(result)})
    lines = []
    for result in document["results"]:
        row, cores = defaults(result), _cores(result)
        took, best = row["median_ms"], result["best_peer_ms"]
        names = [peer["peer"] for peer in result["peers"] if peer["right"] and peer["ms"] == best]
        lines.append(
            [
                f"{result['graph']}: {result['n']:,} vertices, {result['m']:,} edges",
                *(number(cores[c]) if c in cores else "-" for c in counts),
                f"{number(best)} {PROGRAMS.get(names[0], names[0])}" if best else "-",
                number(row["first_ms"][0]),
                number(took),
                f"{best / took:.1f}x" if best else "-",
            ]
        )
    head = ["graph", *(f"{c} core{'s' if c > 1 else ''}" for c in counts)]
    head += ["best other GPU program", "GPU, first solve", "GPU", "faster than the best other"]
    rounds = max(len(defaults(r)["samples_ms"]) for r in document["results"])
    around = document["environment"]
    right = all(row["right"] for r in document["results"] for row in r["rows"])
    return "\n".join(
        [
            "On a GPU, milliseconds per solve, beside other GPU programs and the CPU engine on the "
            "cores of its host:",
            "",
            table(head, lines),
            "",
            f"{device(document)}; host {around['cpu']}. Device time with the graph on the device, "
            f"medians of {rounds};",
            "the others' distances and ours were compared with proven ones"
            + ("." if right else "; **some of ours were wrong**.")
            + _how_cores(document)
            + f" {_and(programs(document).values())}",
            "[as built here](docs/how-to/build-the-peers.md#on-a-gpu); from "
            "`benchmarks/results/flagship.json`.",
        ]
    )


def _bars(
    title: str,
    legend: Sequence[tuple[str, str]],
    rows: Sequence[tuple[str, Sequence[float | None]]],
) -> str:
    """Bars in groups, as SVG with a logarithmic axis in milliseconds.

    Parameters
    ----------
    title : str
    legend : sequence of (str, str)
        What each bar of a group is, and its colour.
    rows : sequence of (str, sequence of float or None)
        Label of each group and its milliseconds; None leaves a bar out.
    """
    every = [value for _, values in rows for value in values if value]
    low = math.floor(math.log10(min(every, default=1)))
    high = max(math.ceil(math.log10(max(every, default=10))), low + 1)
    step = (_WIDE - _LEFT - 70) / (high - low)

    def x(value: float) -> float:
        return _LEFT + step * (math.log10(value) - low)

    group = len(legend) * _BAR + 12
    tall = 56 + group * len(rows) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{tall}" '
        f'viewBox="0 0 {_WIDE} {tall}" font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f'<rect width="{_WIDE}" height="{tall}" rx="8" fill="#ffffff"/>',
    ]
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(
            f'<path d="M{at:.1f} 44V{tall - 32}" stroke="#d8dde3"/>'
            f'<text x="{at:.1f}" y="{tall - 16}" text-anchor="middle" fill="#333">'
            f"{10.0**power:,g} ms</text>"
        )
    apart = 170 if len(legend) < 4 else 155
    for place, (name, colour) in enumerate(legend):
        at = _LEFT + apart * place - (0 if len(legend) < 4 else 20)
        parts.append(
            f'<rect x="{at}" y="16" width="14" height="14" fill="{colour}"/>'
            f'<text x="{at + 20}" y="28" fill="#333">{html.escape(name)}</text>'
        )
    for row, (graph, values) in enumerate(rows):
        top = 50 + group * row
        parts.append(
            f'<text x="{_LEFT - 10}" y="{top + group / 2:.0f}" text-anchor="end" fill="#333">'
            f"{html.escape(graph)}</text>"
        )
        for bar, ((_, colour), value) in enumerate(zip(legend, values, strict=True)):
            if value:
                y = top + bar * _BAR
                parts.append(
                    f'<rect x="{_LEFT}" y="{y}" width="{x(value) - _LEFT:.1f}" '
                    f'height="{_BAR - 2}" fill="{colour}"/>'
                    f'<text x="{x(value) + 5:.1f}" y="{y + 11}" fill="#333">'
                    f"{milliseconds(value / 1e3)}</text>"
                )
    return "\n".join([*parts, "</svg>"]) + "\n"


def measured(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Contenders of a run that have samples."""
    return [r for r in run["results"] if "median_seconds" in r]


def is_auto(result: dict[str, Any]) -> bool:
    """Whether nearfar chose the method itself."""
    return bool(result["name"] == "nearfar" and result["contender"].startswith("nearfar"))


def gpu_beside_its_host() -> str:
    """The GPU engine beside this library on the cores of the same machine."""
    document = results("beyond-cuda.json")
    if document is None:
        return "On a GPU, measure with `nearfar experiment beyond --device cuda -o DIR`."
    lines = []
    for task in document["tasks"]:
        result = task["result"]
        took = {label: case["median_seconds"] for label, case in result["cases"].items()}
        gpu, host = took.pop("nearfar, GPU"), min(took.values())
        peers = result.get("peers", {"results": []})["results"]
        scipy = next((r.get("median_seconds") for r in peers if r["name"] == "scipy"), None)
        lines.append(
            [
                f"{task['key']}: {result['n']:,} vertices, {result['m']:,} edges",
                milliseconds(scipy) if scipy else "-",
                *(milliseconds(seconds) for seconds in took.values()),
                milliseconds(gpu),
                f"{scipy / gpu:,.0f}x" if scipy else "-",
                f"{host / gpu:.1f}x",
            ]
        )
    labels = [x for x in document["tasks"][0]["result"]["cases"] if x != "nearfar, GPU"]
    head = ["graph", "SciPy", *(x.removeprefix("nearfar, ") for x in labels)]
    head += ["GPU", "over SciPy", "over our cores"]
    used = sorted({task["environment"] for task in document["tasks"]})
    around = document["environments"][used[-1]]
    commits = dict.fromkeys(document["environments"][i]["commit"][:12] for i in used)
    commits.pop("unknown", None)
    which = f", commit {', '.join(commits)}" if commits else ""
    wrong = sum(
        case["wrong_runs"]
        for task in document["tasks"]
        for case in task["result"]["cases"].values()
    )
    verdict = "every answer bit for bit a proven one" if not wrong else f"{wrong} wrong answers"
    return "\n".join(
        [
            "On a GPU, milliseconds per solve, beside SciPy and this library on its host's cores:",
            "",
            table(head, lines),
            "",
            f"{around['gpu']['name']}, CuPy {around['gpu']['cupy']}, host {around['cpu']}, "
            f"{around['cores']} cores; {str(around['date'])[:10]}{which}. "
            "Device time with the",
            f"graph on the device, medians of {document['settings']['rounds']} rounds in turns; "
            f"{verdict}. From `benchmarks/results/beyond-cuda.json`",
            "([the graphs, and a roofline](../reproduction/beyond.md)). "
            "[The engine's page](../explanation/gpu-engine.md) has larger graphs, beside other "
            "programs for GPUs.",
        ]
    )
