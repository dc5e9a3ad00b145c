"""Instrumentation of frontier methods: profiles of a run, sweeps over delta, and their plots.

A run with ``trace=True`` records one entry per iteration. :func:`profile` turns that into a
small JSON document; :func:`plot_profile` draws it as Figure 4 of Davidson et al. (2014),
:func:`delta_sweep` and :func:`plot_delta_sweep` make Figure 7: work and parallelism against
delta. TEPS, as the paper counts them, are the edges that a Dijkstra run touches, over the time:
wasted work never looks like speed.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import GraphFormatError, MissingDependencyError, OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.system.output import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nearfar.answer.paths import Paths
    from nearfar.graph.graph import Graph

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
    """Edges that a Dijkstra run touches: the out-edges of every reached vertex. O(n).

    Parameters
    ----------
    graph : Graph
    distances : array, shape (n,)
        NumPy or CuPy.

    Returns
    -------
    int
    """
    from nearfar.graph.build import as_numpy

    host = as_numpy(distances, "distances")
    reached = host != unreached_value(host.dtype)
    return int(graph.degrees[reached].sum(dtype=np.int64))


def profile(graph: Graph, paths: Paths) -> dict[str, Any]:
    """A document with what a run recorded, to be written as JSON.

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
            "goes in iterations, such as near_far or delta_stepping"
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
    """Read what :func:`write_profile` wrote.

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
    return document


def delta_sweep(
    graph: Graph,
    source: Any,
    *,
    method: str = "near_far@cpu",
    factors: Sequence[float] = (1 / 64, 1 / 16, 1 / 4, 1, 4, 16, 64),
) -> dict[str, Any]:
    """Work and parallelism of a method over multiples of the paper's delta (Figure 7).

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
    from nearfar.algorithms.near_far.options import paper_delta
    from nearfar.solve.one import sssp

    unit = float(paper_delta(graph))
    rows = []
    done: set[float] = set()
    for factor in factors:
        delta = unit * factor
        if graph.weight_dtype.kind == "i":
            delta = max(1.0, float(round(delta)))
        if delta in done:  # rounding made two factors the same
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
    figure, left = plt.subplots(figsize=(8, 4.5), layout="constrained")
    names = {"frontier": "frontier", "far": "far pile", "labelled": "labelled", "final": "final"}
    for key, label in names.items():
        if key in series and any(series[key]):
            values = np.cumsum(series[key]) if key in ("labelled", "final") else series[key]
            style = {"linestyle": "--"} if key in ("labelled", "final") else {}
            left.plot(np.arange(1, len(values) + 1), values, label=label, **style)
    left.set_xlabel("iteration")
    left.set_ylabel("vertices")
    right = left.twinx()
    if "edges" in series:
        touched = np.cumsum(series["edges"])
        right.plot(np.arange(1, len(touched) + 1), touched, color="black", linewidth=0.8)
        right.set_ylabel("edges touched (black)")
        right.set_ylim(bottom=0)
    left.set_ylim(bottom=0)
    left.legend(loc="upper left")
    left.set_title(
        f"{document['engine']}: {document['n_vertices']:,} vertices, "
        f"{document['n_edges']:,} edges, work {document['work']:.2f} of Dijkstra's"
    )
    with replacing(path) as place:
        figure.savefig(place)
    plt.close(figure)


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
    left.set_ylabel("edges touched / Dijkstra's", color="tab:blue")
    right = left.twinx()
    parallelism = [row["average_parallelism"] for row in rows]
    right.plot(deltas, parallelism, marker="s", color="tab:red")
    right.set_yscale("log")
    right.set_ylabel("vertices per iteration", color="tab:red")
    left.axvline(document["heuristic"], color="black", linewidth=0.8, linestyle=":")
    left.set_title(f"{document['engine']}: work against parallelism")
    with replacing(path) as place:
        figure.savefig(place)
    plt.close(figure)
