"""Instrumentation of frontier methods: profiles of a run, sweeps over delta, and their plots.

A run with ``trace=True`` records one entry per iteration. :func:`profile` turns that into a small
JSON document; :func:`plot_profile` draws it as Figure 4 of Davidson et al. (2014),
:func:`delta_sweep` and :func:`plot_delta_sweep` make Figure 7: work and parallelism against delta.
TEPS, as the paper counts them, are the edges that a Dijkstra run touches, divided by the time, so
that repeated work does not count as speed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.paths import Paths
from nearfar.errors import GraphFormatError, MissingDependencyError, OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.given import as_numpy
from nearfar.graph.graph import Graph
from nearfar.solve.one import sssp
from nearfar.system.output import replacing

__all__ = [
    "delta_sweep",
    "dijkstra_edges",
    "plot_delta_sweep",
    "plot_profile",
    "profile",
    "read_profile",
    "write_profile",
]

_GIVE = "give a file that `nearfar sssp --profile` or `nearfar sweep -o` wrote"
_FORMAT = "nearfar profile 1"
_SERIES = ("frontier", "near", "far", "edges", "labelled", "final", "seconds")


def dijkstra_edges(graph: Graph, distances: Any) -> int:
    """Return the edges that a Dijkstra run touches: the out-edges of every reached vertex. O(n).

    Parameters
    ----------
    graph : Graph
    distances : array, shape (n,)
        NumPy or CuPy.

    Returns
    -------
    int
    """
    host = as_numpy(distances, "distances")
    reached = host != unreached_value(host.dtype)
    return int(graph.degrees[reached].sum(dtype=np.int64))


def profile(graph: Graph, paths: Paths) -> dict[str, Any]:
    """Return the records of a run as a document for JSON.

    Parameters
    ----------
    graph : Graph
        The graph.
    paths : Paths
        An answer made with ``trace=True``.

    Returns
    -------
    dict
        ``engine``, sizes, counters, ``work`` (edges touched over those of Dijkstra),
        ``average_parallelism`` (vertices per iteration), ``teps`` (Dijkstra's edges per second) and
        ``series``: lists with one entry per iteration.

    Raises
    ------
    OptionError
        If the run recorded nothing per iteration.
    """
    stats = paths.stats
    series = {k: np.asarray(stats[k]).tolist() for k in _SERIES if np.ndim(stats.get(k, 0)) == 1}
    if not series:
        raise OptionError(
            f"{paths.engine} recorded no iterations: solve with trace=True and a method that "
            "iterates, such as near_far or delta_stepping"
        )
    touched = dijkstra_edges(graph, paths.distances)
    counters = {k: v for k, v in stats.items() if isinstance(v, (bool, int, float, str))}
    iterations = max(int(stats.get("iterations", 0)), 1)
    processed = int(stats.get("vertices_processed", sum(series.get("frontier", ()))))
    seconds = float(stats.get("device_seconds", stats.get("seconds_solve", 0.0)) or 0.0)
    if not seconds and "seconds" in series:
        seconds = float(sum(series["seconds"]))
    return {
        "format": _FORMAT,
        "engine": paths.engine,
        "source": paths.source,
        "n_vertices": graph.n_vertices,
        "n_edges": graph.n_edges,
        "reached": paths.n_reached,
        "edges_of_dijkstra": touched,
        "work": int(stats.get("edges_relaxed", 0)) / max(touched, 1),
        "average_parallelism": processed / iterations,
        "teps": touched / seconds if seconds > 0 else None,
        "counters": counters,
        "series": series,
    }


def write_profile(document: dict[str, Any], path: Path) -> None:
    """Write a profile or a delta sweep as JSON.

    Parameters
    ----------
    document : dict
        From :func:`profile` or :func:`delta_sweep`.
    path : Path
    """
    with replacing(path) as place:
        place.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_profile(path: Path) -> dict[str, Any]:
    """Read a file written by :func:`write_profile`.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict

    Raises
    ------
    GraphFormatError
        If the file is something else.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise GraphFormatError(f"not a profile ({error}): {_GIVE}", path) from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise GraphFormatError(f'not a profile ("format" is not {_FORMAT!r}): {_GIVE}', path)
    if not _is_whole(document):
        raise GraphFormatError(f"not a profile (numbers are missing): {_GIVE}", path)
    return document


def _is_whole(document: dict[str, Any]) -> bool:
    """Return whether a profile or a sweep has all numbers that its plot needs."""
    try:
        if "rows" in document:
            drawn = [document["heuristic"]]
            for row in document["rows"]:
                drawn += [row["delta"], row["work"], row["average_parallelism"]]
        else:
            drawn = [document["n_vertices"], document["n_edges"], document["work"]]
            for values in document["series"].values():
                drawn += values
        return "engine" in document and all(isinstance(one, (int, float)) for one in drawn)
    except (AttributeError, KeyError, TypeError):
        return False


def delta_sweep(
    graph: Graph,
    source: Any,
    *,
    method: str = "near_far@cpu",
    factors: Sequence[float] = (1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64),
) -> dict[str, Any]:
    """Return work and parallelism of a method over multiples of the paper's delta (Figure 7).

    Parameters
    ----------
    graph : Graph
        Non-negative weights.
    source : vertex
        External name or index.
    method : str
        A method with a ``delta`` option.
    factors : sequence of float
        Multiples of 32 * mean weight / mean degree to try.

    Returns
    -------
    dict
        ``heuristic`` (the paper's delta) and ``rows`` with ``delta``, ``factor``, ``work``,
        ``average_parallelism``, ``iterations`` and ``seconds``.
    """
    from nearfar.graph.delta import paper_delta

    unit = float(paper_delta(graph))
    rows = []
    done: set[float] = set()
    for factor in factors:
        delta = unit * factor
        if graph.weight_dtype.kind == "i":
            delta = max(1.0, float(round(delta)))
        if delta in done:  # rounding made two values of delta equal
            continue
        done.add(delta)
        begun = time.perf_counter()
        paths = sssp(graph, source, method=method, delta=delta, predecessors=False)
        elapsed = time.perf_counter() - begun
        stats, touched = paths.stats, dijkstra_edges(graph, paths.distances)
        iterations = max(int(stats["iterations"]), 1)
        rows.append(
            {
                "factor": factor,
                "delta": delta,
                "work": int(stats["edges_relaxed"]) / max(touched, 1),
                "average_parallelism": int(stats.get("vertices_processed", 0)) / iterations,
                "iterations": iterations,
                "seconds": float(stats.get("device_seconds", elapsed)),
            }
        )
    return {"format": _FORMAT, "engine": method, "heuristic": unit, "rows": rows}


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingDependencyError("plots need matplotlib: pip install 'nearfar[plot]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def plot_profile(document: dict[str, Any], path: Path) -> None:
    """Draw Figure 4: frontier, far pile, labelled and final vertices, edges touched.

    Queues are in a panel of their own with a logarithmic axis, because they may hold a thousandth
    of the vertices; cumulative counts are shown as shares of their final value. With many
    iterations a line is the mean of adjacent iterations, within a band from the least to the
    greatest value.

    Parameters
    ----------
    document : dict
        From :func:`profile`.
    path : Path
        Image to write; its ending chooses the format (png, svg, pdf).
    """
    if "rows" in document:
        plot_delta_sweep(document, path)
        return
    plt = _pyplot()
    series = document["series"]
    figure, (upper, lower) = plt.subplots(
        2, 1, figsize=(8, 6), layout="constrained", sharex=True, height_ratios=(3, 2)
    )
    for key, label in (("frontier", "frontier"), ("far", "far pile")):
        if any(series.get(key, ())):
            at, mean, least, most = _thinned(np.asarray(series[key], np.float64))
            (line,) = upper.plot(at, mean, label=label, linewidth=1.2)
            upper.fill_between(at, least, most, color=line.get_color(), alpha=0.25, linewidth=0)
    upper.set_yscale("symlog", linthresh=1)  # a pile may be empty
    upper.set_ylim(bottom=0)
    upper.yaxis.set_major_formatter("{x:,.0f}")
    upper.set_ylabel("vertices queued")
    for key, label, style in (
        ("labelled", "vertices labelled", {}),
        ("final", "vertices final", {"linestyle": "--"}),
        ("edges", "edges touched", {"color": "black", "linewidth": 0.9}),
    ):
        if any(series.get(key, ())):
            grown = np.cumsum(series[key])
            at, mean, _, _ = _thinned(grown / grown[-1])
            lower.plot(at, 100 * mean, label=label, **style)
    lower.set_ylim(0, 103)
    lower.set_ylabel("% of all in the end")
    lower.set_xlabel("iteration")
    lower.xaxis.set_major_formatter("{x:,.0f}")
    for axes in (upper, lower):
        axes.grid(axis="y", linewidth=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
    figure.suptitle(
        f"{document['engine']}: {document['n_vertices']:,} vertices, {document['n_edges']:,} "
        f"edges; {document['work']:.2f} times the edges that Dijkstra touches",
        fontsize=10,
    )
    with replacing(path) as place:
        figure.savefig(place)
    plt.close(figure)


def _thinned(
    values: NDArray[Any], most: int = 600
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return iteration, mean, least and greatest value of each run of adjacent iterations."""
    cuts = np.unique(np.linspace(0, len(values), min(most, len(values)) + 1).astype(np.int64))
    first, sizes = cuts[:-1], np.diff(cuts)
    mean = np.add.reduceat(values, first) / sizes
    least, greatest = np.minimum.reduceat(values, first), np.maximum.reduceat(values, first)
    return first + (sizes + 1) / 2, mean, least, greatest


def plot_delta_sweep(document: dict[str, Any], path: Path) -> None:
    """Draw Figure 7: work and average parallelism against delta, the paper's delta marked.

    Parameters
    ----------
    document : dict
        From :func:`delta_sweep`.
    path : Path
        Image to write; its ending chooses the format.
    """
    plt = _pyplot()
    rows = sorted(document["rows"], key=lambda row: row["delta"])
    deltas = [row["delta"] for row in rows]
    figure, left = plt.subplots(figsize=(8, 4.5), layout="constrained")
    left.plot(deltas, [row["work"] for row in rows], marker="o", color="tab:blue")
    left.set_xscale("log")
    left.set_xlabel("delta")
    left.set_yscale("log")
    left.set_ylabel("edges touched / Dijkstra's", color="tab:blue")
    right = left.twinx()
    parallelism = [row["average_parallelism"] for row in rows]
    right.plot(deltas, parallelism, marker="s", color="tab:red")
    right.set_yscale("log")
    right.set_ylabel("vertices per iteration", color="tab:red")
    for axis in (left.xaxis, left.yaxis, right.yaxis):
        axis.set_major_formatter("{x:,.10g}")
    left.yaxis.set_minor_formatter("{x:,g}" if max(row["work"] for row in rows) < 8 else "")
    left.axvline(document["heuristic"], color="black", linewidth=0.8, linestyle=":")
    beside = left.get_xaxis_transform()
    left.text(document["heuristic"], 0.97, " the paper's delta", fontsize=8, transform=beside)
    left.set_title(f"{document['engine']}: work against parallelism")
    with replacing(path) as place:
        figure.savefig(place)
    plt.close(figure)
