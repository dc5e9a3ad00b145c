"""Prepared graphs: what preparing takes and what each kind of query takes, beside other packages.

``python benchmarks/prepared.py -o benchmarks/results/prepared.json`` prepares New York's roads, the
topology of Colorado's (weights 1..10,000 drawn once), a road-like network of a million vertices, a
Delaunay mesh of 200,000 random points and a grid of 500 x 500, and measures on each, with one
worker and with all cores: order, analysis and arcs; customization; pruning; point queries by
walking, with the path, and by labels; one tree; rows of many sources; a table of 1,000 x 1,000.
Peers, where they are installed: SciPy's Dijkstra (rows), RoutingKit through ``pyroutingkit`` (its
own inertial order) and through ``routingkit-cch`` (the order used here), and pandana. Contenders
take turns within a round; all samples are kept. Answers of nearfar are compared with searches,
those of peers with nearfar's, outside the timed part.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import lzma
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import graphs_on_disk
import nearfar
from nearfar import Graph, Prepared, _cpu
from nearfar.generators import generate
from nearfar.graph.build import default_threads
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import write_json
from nearfar.lab.bench.suite import data_folder
from nearfar.prepared.metric import customized

PAIRS, TABLE, ROWS = 10_000, 1000, 256


def colorado() -> Graph:
    """Colorado's roads without their lengths: weights 1..10,000 drawn once."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("set NEARFAR_DATA to the folder of real graphs")
    file = folder / "dimacs9-topology" / "USA-road-topo.COL.tw.gr.xz"
    with lzma.open(file, "rt") as lines:
        listed = [line.split() for line in lines if line[:1] not in ("c", "p")]
    ends = np.array(listed, dtype=np.int64) - 1
    weights = np.random.default_rng(3).integers(1, 10_001, len(ends)).astype(np.int32)
    return Graph.from_edges(ends[:, 0], ends[:, 1], weights, directed=False)


def scaled(graph: Graph) -> Graph:
    """The graph with whole weights, so that all packages answer the same numbers."""
    if graph.weight_dtype == np.int32:
        return graph.without_names()
    weights = np.maximum(1, np.rint(graph.effective_weights * 1e4)).astype(np.int32)
    kept: dict[str, Any] = {"directed": graph.directed, "coordinates": graph.coordinates}
    return Graph(graph.indptr, graph.indices, weights, **kept)


GRAPHS: dict[str, Callable[[], Graph]] = {
    "ny-roads": lambda: graphs_on_disk.load("ny-roads", None),
    "colorado": colorado,
    "road-like-1m": lambda: generate("road_like", vertices=1_000_000),
    "delaunay-200k": lambda: generate("delaunay", vertices=200_000),
    "grid-500": lambda: generate("grid", rows=500, columns=500),
}


def installed(name: str) -> bool:
    """Whether a peer is here."""
    return importlib.util.find_spec(name) is not None


class Round:
    """Samples of contenders by name, in seconds per unit."""

    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = {}

    def time(self, name: str, work: Callable[[], Any], units: int = 1) -> Any:
        """Run once and keep the time for each unit."""
        began = time.perf_counter()
        result = work()
        self.samples.setdefault(name, []).append((time.perf_counter() - began) / units)
        return result


def peers(graph: Graph, prepared: Prepared) -> dict[str, Any]:
    """What the peers need, built once and not timed."""
    made: dict[str, Any] = {}
    tails, heads = graph.tails().astype(np.uint32), graph.indices.astype(np.uint32)
    weights = graph.effective_weights.astype(np.uint32)
    xy = graph.coordinates
    if installed("pyroutingkit") and xy is not None:
        import pyroutingkit

        topology = pyroutingkit.CCHTopology()
        x, y = xy[:, 0].astype(np.float32), xy[:, 1].astype(np.float32)
        topology.build(tails, heads, y, x, graph.n_vertices)
        metric = pyroutingkit.CCHMetric(topology)
        metric.customize(weights)
        made["pyroutingkit"] = metric, weights
    if installed("routingkit_cch"):
        import routingkit_cch

        order = prepared.preparation.tree.vertex.tolist()
        cch = routingkit_cch.CCH(order, tails.tolist(), heads.tolist(), False)
        listed = weights.tolist()
        made["routingkit_cch"] = routingkit_cch.CCHMetric(cch, listed), listed
    if installed("pandana") and xy is not None:
        import pandana
        import pandas

        ends = pandas.Series(tails.astype(np.int64)), pandas.Series(heads.astype(np.int64))
        costs = pandas.DataFrame({"w": graph.effective_weights.astype(np.float64)})
        places = pandas.Series(xy[:, 0]), pandas.Series(xy[:, 1])
        with contextlib.redirect_stdout(None):
            made["pandana"] = pandana.Network(*places, *ends, costs, twoway=False)
    return made


def measure_peers(
    clock: Round, made: dict[str, Any], pairs: np.ndarray, sources: np.ndarray, targets: np.ndarray
) -> dict[str, Any]:
    """One turn of each peer; what they answered."""
    found: dict[str, Any] = {}
    if "pyroutingkit" in made:
        metric, weights = made["pyroutingkit"]
        clock.time("pyroutingkit: customization, 1", lambda: metric.customize(weights, 1))
        some = pairs[:1000].tolist()
        answers = clock.time(
            "pyroutingkit: pair with path", lambda: [metric.query(s, t) for s, t in some], 1000
        )
        found["pyroutingkit"] = pairs[:1000], [int(answer[0]) for answer in answers]
        unsigned = sources.astype(np.uint32), targets.astype(np.uint32)
        clock.time("pyroutingkit: table", lambda: metric.distances_many_to_many(*unsigned))
    if "routingkit_cch" in made:
        import routingkit_cch

        metric, listed = made["routingkit_cch"]
        clock.time("routingkit_cch: customization, 1", lambda: metric.reset(listed))
        query = routingkit_cch.CCHQuery(metric)

        def both(source: int, target: int) -> Any:
            """Distance and path; a query holds one answer at a time."""
            answer = query.run(source, target)
            _ = answer.arc_path
            return answer.distance

        some = pairs[:1000].tolist()
        got = clock.time(
            "routingkit_cch: pair with path", lambda: [both(s, t) for s, t in some], 1000
        )
        found["routingkit_cch"] = pairs[:1000], got
        pinned = routingkit_cch.CCHOneToMany(metric, targets.tolist())
        clock.time(
            "routingkit_cch: table",
            lambda: [pinned.distances_from(s) for s in sources.tolist()],
        )
    if "pandana" in made:
        starts, ends = pairs[:, 0].tolist(), pairs[:, 1].tolist()
        lengths = clock.time(
            "pandana: pairs, all cores",
            lambda: made["pandana"].shortest_path_lengths(starts, ends),
            len(pairs),
        )
        found["pandana"] = pairs, lengths
    return found


def measure(name: str, rounds: int, threads: int) -> dict[str, Any]:
    """All contenders on one graph."""
    graph = scaled(GRAPHS[name]())
    n = graph.n_vertices
    prepared = nearfar.prepare(graph, threads=threads)
    preparation = prepared.preparation
    rng = np.random.default_rng(0)
    # Of what the widest vertex reaches, so that every pair has a path.
    reached = np.flatnonzero(nearfar.sssp(graph, graph.widest_vertex, threads=1).reachable)
    pairs = rng.choice(reached, (PAIRS, 2))
    sources, targets = rng.choice(reached, TABLE), rng.choice(reached, TABLE)
    many = rng.choice(reached, ROWS)
    rows = np.empty((ROWS, n), np.int32)
    table, one = np.empty((TABLE, TABLE), np.int32), np.empty(n, np.int32)
    view, n_arcs = prepared.metric_view, preparation.arcs.n_arcs
    labels = prepared.label(threads=threads) if prepared.label_bytes < 2**35 else None
    made = peers(graph, prepared)
    matrix = graph.to_scipy().astype(np.float64)
    _ = prepared.path_edges(int(pairs[0, 0]), int(pairs[0, 0]))
    some = pairs[:1000].tolist()
    clock = Round()
    answers: dict[str, Any] = {}
    for _ in range(rounds):
        for workers in sorted({1, threads}):
            end = f", {workers}"
            clock.time(
                "basic customization" + end,
                lambda w=workers: customized(preparation.view, n_arcs, graph, False, w),
            )
            clock.time(
                "perfect customization and pruning" + end,
                lambda w=workers: customized(preparation.view, n_arcs, graph, True, w),
            )
            clock.time(
                "pair by walking" + end,
                lambda w=workers: prepared.distances_of_pairs(pairs, w),
                PAIRS,
            )
            if labels is not None:
                clock.time(
                    "pair by labels" + end,
                    lambda w=workers: labels.distances_of_pairs(pairs, w),
                    PAIRS,
                )
            for lanes in (16, 32):
                clock.time(
                    f"row of many, {lanes} lanes" + end,
                    lambda w=workers, k=lanes: _cpu.prepared_distances(
                        view, many, None, rows, k, w
                    ),
                    ROWS,
                )
                clock.time(
                    f"table, {lanes} lanes" + end,
                    lambda w=workers, k=lanes: _cpu.prepared_distances(
                        view, sources, targets, table, k, w
                    ),
                )
        clock.time("pair with path", lambda: [prepared.path_edges(s, t) for s, t in some], 1000)
        clock.time(
            "one tree",
            lambda: _cpu.prepared_distances(view, many[:1], None, one, 0, 1),
        )
        clock.time(
            "one search",
            lambda: nearfar.sssp(graph, int(many[0]), device="cpu", threads=1),
        )
        if installed("scipy"):
            from scipy.sparse.csgraph import dijkstra

            clock.time("scipy: one tree", lambda: dijkstra(matrix, indices=int(many[0])))
        answers = measure_peers(clock, made, pairs, sources, targets)
    want = nearfar.distances(graph, many[:4], device="cpu")
    right = bool((rows[:4] == want).all() and (one == want[0]).all())
    walked = prepared.distances_of_pairs(pairs)
    if labels is not None:
        right &= bool((labels.distances_of_pairs(pairs) == walked).all())
    right &= bool((np.diag(table) == prepared.distances_of_pairs(
        np.stack([sources, targets], axis=1))).all())  # fmt: skip
    agree = {
        peer: float(np.mean(prepared.distances_of_pairs(asked) == np.array(got, dtype=np.float64)))
        for peer, (asked, got) in answers.items()
    }
    figures = preparation.figures
    return {
        "graph": name,
        "n": n,
        "m": graph.n_edges,
        "order": preparation.method,
        "seconds": prepared.seconds,
        "arcs": n_arcs,
        "arcs_needed": len(prepared.metric.down.weight),
        "triangles": figures.n_triangles,
        "height": figures.height,
        "sides": prepared.metric.sides,
        "metric_bytes": prepared.metric.nbytes,
        "label_bytes": prepared.label_bytes,
        "right": right,
        "peers_agree": agree,
        "samples": clock.samples,
    }


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("-o", "--output", type=Path, default=None)
    given = parser.parse_args()
    results = []
    for name in given.graphs:
        result = measure(name, given.rounds, given.threads)
        results.append(result)
        print(f"== {name}: {result['arcs']:,} arcs, height {result['height']}, ", end="")
        print("right" if result["right"] else "WRONG", result["peers_agree"], result["seconds"])
        for label, samples in result["samples"].items():
            print(f"   {min(samples) * 1e3:12.5f} ms  {label}", flush=True)
        if given.output:
            write_json(given.output, {"environment": environment(), "results": results})
    return int(not all(result["right"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
