"""Count the work of the papers' methods, for questions of the pages in docs/reproduction.

``python benchmarks/paper_counts.py -o benchmarks/results/paper_counts.json`` runs the rounds of
compound frontiers (Martin et al. 2009, Crauser's criterion as in Ortega-Arranz et al. 2015) in an
independent NumPy form, and counts in every round. The counts do not depend on the device. Distances
are compared with proven ones, and the rounds with those of nearfar's variant.

threads   Ortega-Arranz section 5.1 d: working threads of the relax kernel, by each reading of
          "working", and the number of warps with both working and idle threads
rows      Johnson: the longest row in a frontier, which one thread processes while the others wait
threshold Ortega-Arranz section 5.1 a: cost of the threshold of CPU Crauser per iteration, by a run
          whose lightest out-edges are all 0. It has the rounds and edges of CPU Martin and reads
          one more array (a ratio of times, in alternation in one process)

``--scale tiny`` tests the script.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import nearfar
from in_parts import answer
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.lab.bench.cases import case, proven, time_once
from nearfar.lab.bench.suite import draw_sources
from nearfar.papers.johnson_apsp import graphs as johnson
from nearfar.papers.ortega_arranz_2015.crauser.lightest import LIGHTEST_OUT

WARP = 32
_TURNS = 15
Flags = NDArray[np.bool_]


class Round(NamedTuple):
    """Relax step, with its state before the step and its effect.

    Attributes
    ----------
    frontier, unsettled : array of bool, shape (n,)
    looked : array of int
        Ends of the frontier's edges, one per edge.
    lowered : array of int
        Unsettled vertices whose distance the step lowered.
    degrees : array of int
        Out-degrees of the frontier's vertices.
    """

    frontier: Flags
    unsettled: Flags
    looked: NDArray[Any]
    lowered: NDArray[Any]
    degrees: NDArray[Any]


def rounds(
    graph: Graph, source: int, criterion: str, note: Callable[[Round], None]
) -> tuple[NDArray[Any], int]:
    """Return distances and the number of rounds of ``frontier`` or ``crauser``."""
    n, far = graph.n_vertices, unreached_value(graph.weight_dtype)
    weights: NDArray[Any] = np.asarray(graph.weights)
    distances = np.full(n, far, dtype=np.int64)
    distances[source] = 0
    unsettled, frontier = np.ones(n, bool), np.zeros(n, bool)
    unsettled[source], frontier[source] = False, True
    lightest = np.zeros(n, np.int64)
    if criterion == "crauser":
        lightest[:] = far  # a vertex without out-edges does not bound the threshold
        has = graph.degrees > 0
        lightest[has] = np.minimum.reduceat(weights, graph.indptr[:-1][has])
    count = 0
    while True:
        count += 1
        members = np.flatnonzero(frontier)
        degrees = graph.degrees[members].astype(np.int64)
        starts = np.repeat(graph.indptr[members] - np.cumsum(degrees) + degrees, degrees)
        edges = starts + np.arange(degrees.sum())
        targets = graph.indices[edges]
        sums = np.repeat(distances[members], degrees) + weights[edges]
        better = unsettled[targets] & (sums < distances[targets])
        note(Round(frontier, unsettled, targets, np.unique(targets[better]), degrees))
        np.minimum.at(distances, targets[better], sums[better])
        waiting = unsettled & (distances < far)
        threshold = (distances[waiting] + lightest[waiting]).min(initial=far)
        if threshold >= far:  # no unsettled vertex is left, or none with an edge
            return distances, count
        frontier = waiting & (distances <= threshold)
        unsettled &= ~frontier


def checked(graph: Graph, source: int, criterion: str, note: Callable[[Round], None]) -> int:
    """Return the rounds of a search after comparing its answer and their number.

    Raises
    ------
    SystemExit
        If they differ from the proven distances, or from nearfar's form.
    """
    found, count = rounds(graph, source, criterion, note)
    if not np.array_equal(found, proven(graph, [source])[source]):
        raise SystemExit(f"{criterion}: wrong distances")
    method = f"{criterion}_successors@cpu"
    stats = nearfar.sssp(graph, source, method=method, predecessors=False).stats
    if stats["iterations"] != count:
        raise SystemExit(f"{criterion}: {count} rounds, {method} has {stats['iterations']}")
    return count


# --- the questions -----------------------------------------------------------------------------


def mixed_warps(working: Flags) -> int:
    """Return the number of warps of 32 consecutive vertices with working and idle threads."""
    held = np.zeros(-(-len(working) // WARP) * WARP, bool)
    held[: len(working)] = working
    lanes = held.reshape(-1, WARP).sum(axis=1)
    return int(((lanes > 0) & (lanes < WARP)).sum())


def threads(scale: str) -> Iterator[dict[str, Any]]:
    """Count the threads of the relax kernel on Martin's graphs, by each reading of "working"."""
    for k in (1, 4) if scale == "paper" else (1,):
        n = k << (20 if scale == "paper" else 8)
        graph = generate("martin", vertices=n, seed=1)
        source = int(np.flatnonzero(graph.degrees)[0])
        for criterion in ("frontier", "crauser"):
            sums = dict.fromkeys(("frontier", "unsettled", "finds", "lowers", "mixed_succ"), 0)
            sums |= {"mixed_pred": 0, "warps": 0}

            def note(at: Round, sums: dict[str, int] = sums, n: int = n) -> None:
                sums["frontier"] += int(at.frontier.sum())
                sums["unsettled"] += int(at.unsettled.sum())
                touched = np.zeros(n, bool)
                touched[at.looked] = True
                sums["finds"] += int((touched & at.unsettled).sum())
                sums["lowers"] += len(at.lowered)
                sums["mixed_succ"] += mixed_warps(at.frontier)
                sums["mixed_pred"] += mixed_warps(at.unsettled)
                sums["warps"] += -(-n // WARP)

            count = checked(graph, source, criterion, note)
            what = {"graph": f"martin {n:,}", "criterion": criterion, "n": n, "m": graph.n_edges}
            yield {**what, "iterations": count, "threads": count * n, **sums}


def rows(scale: str) -> Iterator[dict[str, Any]]:
    """Count members, edges and longest row of the frontiers of Crauser's criterion."""
    names = {k: name for k, (name, _, _) in johnson.GRAPHS.items() if name is not None}
    for key, name in names.items() if scale == "paper" else [("graph1", names["graph1"])]:
        graph = johnson.load(name)
        source = draw_sources(graph, 1)[0]
        longest: list[int] = []
        edges: list[int] = []

        def note(at: Round, longest: list[int] = longest, edges: list[int] = edges) -> None:
            longest.append(int(at.degrees.max(initial=0)))
            edges.append(int(at.degrees.sum()))

        count = checked(graph, source, "crauser", note)
        what = {"graph": key, "n": graph.n_vertices, "m": graph.n_edges, "iterations": count}
        steps = {"longest_row_mean": float(np.mean(longest)), "longest_row": max(longest)}
        yield {**what, **steps, "edges_mean": float(np.mean(edges))}


def threshold(scale: str) -> Iterator[dict[str, Any]]:
    """Time CPU Martin, CPU Crauser, and Crauser with lightest out-edges of 0, in alternation."""
    for n in (1 << 15, 1 << 17, 1 << 20) if scale == "paper" else (1 << 8,):
        graph = generate("martin", vertices=n, seed=1)
        graph.transpose()
        blind = Graph(graph.indptr, graph.indices, graph.weights)
        blind.transpose()
        LIGHTEST_OUT.put(blind, np.zeros(n, graph.weight_dtype))
        source = int(np.flatnonzero(graph.degrees)[0])
        for form in ("successors", "predecessors"):
            martin, crauser = (case(x, f"{x}_{form}@cpu") for x in ("frontier", "crauser"))
            runs = {"martin": (martin, graph), "crauser": (crauser, graph)}
            runs["crauser, all 0"] = (crauser, blind)
            seconds: dict[str, list[float]] = {label: [] for label in runs}
            counts: dict[str, dict[str, int]] = {}
            for turn in range(_TURNS + 1):
                order = list(runs)
                random.Random(turn).shuffle(order)  # the preceding method affects the caches
                for label in order:
                    took, answer = time_once(*runs[label], source)
                    seconds[label].append(took)
                    kept = ("iterations", "edges_relaxed")
                    counts[label] = {k: int(answer.stats[k]) for k in kept}
            if counts["martin"] != counts["crauser, all 0"]:
                raise SystemExit(f"not the same rounds: {counts}")
            samples = {label: values[1:] for label, values in seconds.items()}
            what = {"graph": f"martin {n:,}", "n": n, "form": form}
            yield {**what, "counters": counts, "samples": samples}


PARTS = {"threads": threads, "rows": rows, "threshold": threshold}


def main() -> None:
    """Measure, print, write."""

    def show(part: str, row: dict[str, Any]) -> None:
        print(part, row, flush=True)

    answer((__doc__ or "").splitlines()[0], PARTS, show)


if __name__ == "__main__":
    main()
