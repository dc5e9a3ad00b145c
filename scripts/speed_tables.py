"""Tables and sentences that scripts/make_speed.py puts into the documentation.

Each function reads committed JSON of ``benchmarks/results`` and returns Markdown; none measures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def results(name: str) -> Any | None:
    """A committed result, or None where it was not measured yet."""
    path = RESULTS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, first column left, the others right."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float) -> str:
    """Three digits, or the whole number where it is longer."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds."""
    return number(seconds * 1e3)


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


# --- CPU peers ---------------------------------------------------------------------------------


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
        if r["name"] != "nearfar"
    }
    rounds = "/".join(map(str, sorted({run["rounds"] for run in document["runs"]})))
    return "\n".join(
        [
            "On the CPU, milliseconds a solve, and how many times faster than the best peer with "
            "no more threads:",
            "",
            table(head, lines),
            "",
            f"Medians of {rounds} rounds in turns on {around['cpu']}, {around['cores']} cores, "
            f"{str(around['date'])[:10]}, commit {around['commit'][:12]}"
            + (" with uncommitted changes" if around.get("uncommitted_changes") else "")
            + ";",
            ", ".join(f"{name} {version}" for name, version in versions.items())
            + "; every answer compared with one that is proven.",
            "From `benchmarks/results/peers.json` ([how to measure](docs/how-to/measure.md)).",
        ]
    )


def measured(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Contenders of a run that have samples."""
    return [r for r in run["results"] if "median_seconds" in r]


def is_auto(result: dict[str, Any]) -> bool:
    """Whether nearfar chose the method itself."""
    return bool(result["name"] == "nearfar" and result["contender"].startswith("nearfar"))


# --- near_far@cuda -----------------------------------------------------------------------------


def defaults(result: dict[str, Any]) -> dict[str, Any]:
    """The row of a graph that was measured with default options."""
    return next(row for row in result["rows"] if not row["options"])


def flagship_table(document: dict[str, Any]) -> str:
    """Time, best peer, and what this project had set itself."""
    lines = []
    for result in document["results"]:
        took, peer, target = (
            defaults(result)["median_ms"],
            result["best_peer_ms"],
            result["target_ms"],
        )
        judged = [
            number(target),
            "reached" if took <= target else f"missed by {took / target - 1:.0%}",
        ]
        lines.append(
            [
                f"{result['graph']}: {result['n']:,} vertices, {result['m']:,} edges",
                number(took),
                number(peer) if peer else "not run",
                f"{peer / took:.1f}x" if peer else "-",
                *judged,
            ]
        )
    head = ["graph", "`near_far@cuda`", "best peer", "faster", "target", ""]
    return table(head, lines)


def flagship() -> str:
    """The one-launch engine beside the best peer and its target."""
    document = results("flagship.json")
    if document is None:
        return "On a GPU, measure with `python benchmarks/flagship.py`."
    rounds = max(len(defaults(r)["samples_ms"]) for r in document["results"])
    rows = [row for r in document["results"] for row in r["rows"]]
    wrong = sum(not row["right"] for row in rows)
    verdict = "every answer bit for bit that of the proven CPU engine"
    lines = [
        "Milliseconds a solve:",
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
            "On a GPU, milliseconds a solve, beside SciPy and this library on its host's cores:",
            "",
            table(head, lines),
            "",
            f"{around['gpu']['name']}, CuPy {around['gpu']['cupy']}, host {around['cpu']}, "
            f"{around['cores']} cores; {str(around['date'])[:10]}{which}. "
            "Device time with the",
            f"graph on the device, medians of {document['settings']['rounds']} rounds in turns; "
            f"{verdict}. From `benchmarks/results/beyond-cuda.json`",
            "([the graphs, and a roofline](docs/reproduction/beyond.md)). "
            "[The engine's page](docs/explanation/gpu-engine.md) has larger graphs and other "
            "libraries'",
            "times as their authors state them.",
        ]
    )


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


def front_doors() -> str:
    """Dijkstra of nearfar.csgraph over SciPy's."""
    document = results("front_doors.json")
    if document is None or "scipy" not in document:
        return "Not measured yet: `python benchmarks/front_doors.py -o benchmarks/results`."
    door = document["scipy"]
    rows = [
        [
            one["graph"],
            f"{one['n_vertices']:,}",
            f"{one['n_edges']:,}",
            str(one["n_sources"]),
            milliseconds(one["medians"]["scipy"]),
            *(f"{one['times_faster'][f'nearfar, {t}']:.1f}x" for t in ("1 thread", "2 threads")),
        ]
        for one in door["results"]
    ]
    head = ["graph", "vertices", "edges", "sources", "SciPy, ms", "one thread", "two threads"]
    where = door["environment"]
    return (
        f"{table(head, rows)}\n\n"
        f"`benchmarks/front_doors.py`, medians of interleaved rounds on {where['cores']} cores "
        f"({where['cpu']}, load average {where['load_average']:.1f} at the start, "
        f"{where['date'][:10]}); all samples are in `benchmarks/results/front_doors.json`."
    )
