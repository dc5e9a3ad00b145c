"""Report of a measurement: a Markdown table with ratios, JSON with every sample, and a plot."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from nearfar.errors import MissingDependencyError
from nearfar.lab.bench.result import Result, Run
from nearfar.system.output import replacing

SCHEMA = "nearfar-bench-peers/1"


def document(
    runs: Sequence[Run], environment: dict[str, Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """Return all as plain data: environment, settings, and each run with all samples."""
    return {
        "schema": SCHEMA,
        "environment": environment,
        "settings": settings,
        "runs": [run.as_dict() for run in runs],
    }


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write readable JSON; lists of numbers, such as a sample, take one line each.

    A missing folder is created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=1, allow_nan=False)
    numbers = re.compile(r"\[\s+([-+.\deE,\s]+?)\s+\]")
    with replacing(path) as place:
        place.write_text(numbers.sub(lambda m: "[" + " ".join(m[1].split()) + "]", text) + "\n")


def milliseconds(seconds: float) -> str:
    """Return seconds as milliseconds; see :func:`number`."""
    return number(seconds * 1e3)


def number(value: float) -> str:
    """Format a number with three digits, or a longer integer in full."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _columns(runs: Iterable[Run]) -> list[str]:
    """Return contenders that were measured at least once, in order of measurement."""
    return list(dict.fromkeys(r.contender for run in runs for r in run.results if r.samples))


def _cell(run: Run, result: Result | None, base: str) -> str:
    if result is None:
        return "-"
    text = milliseconds(result.median)
    ratio = run.ratio(result, base)
    if result.contender != base and not math.isnan(ratio):
        text += f" ({ratio:.2f}x)"
    return text + (" WRONG" if result.answer == "wrong" else "")


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> list[str]:
    """Return lines of a Markdown table with aligned columns; ``left`` to the left, others right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        placed = [
            cell.ljust(w) if i in left else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(placed)} |"

    rule = ["-" * w if i in left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return [line(header), "| " + " | ".join(rule) + " |", *(line(row) for row in rows)]


def left_out(runs: Iterable[Run]) -> list[str]:
    """List the peers that were left out with graph and reason, one line per peer and reason."""
    places: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        for result in run.results:
            if result.skipped:
                places.setdefault((result.name, result.skipped), []).append(run.graph)
    return [
        f"{who}: {why} ({', '.join(dict.fromkeys(where))})" for (who, why), where in places.items()
    ]


def _engines(runs: Iterable[Run]) -> str:
    """Describe the variants that ``auto`` and the named methods ran, and their devices."""
    where: dict[str, dict[str, list[str]]] = {}
    for run in runs:
        for result in run.results:
            if result.engine and result.samples:
                graphs = where.setdefault(result.engine, {})
                graphs.setdefault(run.graph, []).append(str(result.threads))
    return "; ".join(
        f"{engine} on "
        + ", ".join(f"{graph} ({' and '.join(dict.fromkeys(t))})" for graph, t in graphs.items())
        for engine, graphs in where.items()
    )


def markdown(runs: Sequence[Run], environment: dict[str, Any], base: str = "scipy") -> list[str]:
    """Return lines of the report: table, engines, omissions, method of measurement."""
    columns = _columns(runs)
    header = ["graph", *columns]
    rows = [[run.graph, *(_cell(run, run.find(name), base) for name in columns)] for run in runs]
    lines = [
        f"Milliseconds per solve, median; in brackets how many times faster than {base}.",
        "",
        *table(header, rows),
        "",
    ]
    lines += [
        f"- {run.graph}: {run.summary}; n = {run.n_vertices:,}, m = {run.n_edges:,}" for run in runs
    ]
    beside = [
        f"- {run.graph}: "
        + ", ".join(
            f"{line['contender']} {line['best_peer_over_ours']:.2f}x ({line['best_peer']})"
            for line in run.beside_peers()
        )
        for run in runs
        if run.beside_peers()
    ]
    if beside:
        lines += ["", "Best peer with as many threads or fewer over ours:", "", *beside]
    engines = _engines(runs)
    if engines:
        lines += ["", f"Engines, with threads in brackets: {engines}."]
    out = left_out(runs)
    if out:
        lines += ["", "Left out:", *(f"- {line}" for line in out)]
    return [*lines, "", how(runs, environment)]


def how(runs: Sequence[Run], environment: dict[str, Any]) -> str:
    """Return one paragraph on the method of measurement."""
    versions = {
        result.name: result.version for run in runs for result in run.results if result.samples
    }
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    rounds = sorted({run.rounds for run in runs})
    changed = " with uncommitted changes" if environment.get("uncommitted_changes") else ""
    return (
        f"{environment['cpu']}, {environment['cores']} cores, Python "
        f"{environment['versions']['python']}; {named}; commit "
        f"{environment['commit'][:12]}{changed}, {environment['date']}. "
        f"{'/'.join(map(str, rounds))} interleaved rounds in one process after a warm-up; every "
        "answer compared with one that the certificate has proven."
    )


def plot(runs: Sequence[Run], path: Path, base: str = "scipy") -> None:
    """Draw bars: how many times faster than ``base`` each contender is, one group per graph."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "the plot needs Matplotlib: pip install 'nearfar[plot]'"
        ) from None
    columns = [name for name in _columns(runs) if name != base]
    height = 0.8 / max(len(columns), 1)
    figure = Figure(figsize=(8, 0.8 + len(runs) * (0.35 + 0.16 * len(columns))), dpi=120)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    shades = ["#1b6ca8", "#64b5e6", "#0d3b5c", "#a8d5f2"]
    greys = ["#c9c9c9", "#b0a89f", "#9fb09f", "#b09fa8", "#9f9fb0", "#808080", "#606060"]
    for i, name in enumerate(columns):
        own = name.startswith("nearfar")
        palette = shades if own else greys
        colour = palette[sum(c.startswith("nearfar") == own for c in columns[:i]) % len(palette)]
        ratios, places = [], []
        for row, run in enumerate(runs):
            found = run.find(name)
            ratio = run.ratio(found, base) if found else math.nan
            if not math.isnan(ratio):
                ratios.append(ratio)
                places.append(row + (i - (len(columns) - 1) / 2) * height)
        axes.barh(places, ratios, height * 0.92, color=colour, label=name)
        for place, ratio in zip(places, ratios, strict=True):
            axes.annotate(
                f"{ratio:.1f}" if ratio >= 0.95 else f"{ratio:.2f}",
                (ratio, place),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(range(len(runs)), [run.graph for run in runs])
    axes.set_ylim(len(runs) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel(f"times faster than {base} (log scale; medians of one run)")
    axes.margins(x=0.12)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    with replacing(path) as there:
        figure.savefig(there, metadata={"Software": None})


def link_share(row: dict[str, Any]) -> float | None:
    """Return the share of the kernels' time in reads between devices; None if unknown."""
    steps = row.get("profile")
    if not steps or row["devices"] == 1:
        return None
    slowest: list[dict[str, Any]] = [
        {name: max(step[name]) for name in ("step", "pieces", "fetch")} | {"kind": step["kind"]}
        for step in steps
    ]
    link = sum(one["fetch"] + (one["step"] if one["kind"] == "learn" else 0) for one in slowest)
    return float(link / sum(one[name] for one in slowest for name in ("step", "pieces", "fetch")))
