"""The numbers of the README and of the page of speeds: beside peers, and a GPU beside its host."""

from __future__ import annotations

import html
import math
from typing import Any

from nearfar.lab.checkout import results
from nearfar.lab.pages.table import milliseconds, table

__all__ = ["chart", "gpu_beside_its_host", "is_auto", "measured", "peers"]


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


#: What a bar is called and its colour; the last is nearfar with all threads.
_BARS = (("SciPy", "#9aa5b1"), ("fastest other peer", "#c3a0d8"), ("nearfar", "#f98e09"))
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
    every = [value for _, values in rows for value in values if value]
    low = math.floor(math.log10(min(every, default=1)))
    high = max(math.ceil(math.log10(max(every, default=10))), low + 1)
    step = (_WIDE - _LEFT - 70) / (high - low)

    def x(value: float) -> float:
        return _LEFT + step * (math.log10(value) - low)

    group = len(_BARS) * _BAR + 12
    tall = 56 + group * len(rows) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{tall}" '
        f'viewBox="0 0 {_WIDE} {tall}" font-family="system-ui, sans-serif" font-size="12">',
        "<title>Milliseconds per solve on a CPU, less is better</title>",
        f'<rect width="{_WIDE}" height="{tall}" rx="8" fill="#ffffff"/>',
    ]
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(
            f'<path d="M{at:.1f} 44V{tall - 32}" stroke="#d8dde3"/>'
            f'<text x="{at:.1f}" y="{tall - 16}" text-anchor="middle" fill="#333">'
            f"{10.0**power:g} ms</text>"
        )
    for place, (name, colour) in enumerate(_BARS):
        parts.append(
            f'<rect x="{_LEFT + 170 * place}" y="16" width="14" height="14" fill="{colour}"/>'
            f'<text x="{_LEFT + 20 + 170 * place}" y="28" fill="#333">{name}</text>'
        )
    for row, (graph, values) in enumerate(rows):
        top = 50 + group * row
        parts.append(
            f'<text x="{_LEFT - 10}" y="{top + group / 2:.0f}" text-anchor="end" fill="#333">'
            f"{html.escape(graph)}</text>"
        )
        for bar, ((_, colour), value) in enumerate(zip(_BARS, values, strict=True)):
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
            "[The engine's page](../explanation/gpu-engine.md) has larger graphs and other "
            "libraries'",
            "times as their authors state them.",
        ]
    )
