"""Measure prepared graphs: preparing and each kind of query, compared with other packages.

``python benchmarks/prepared.py -o benchmarks/results/prepared.json`` prepares road maps (New York;
the topologies of Colorado and, if its file is available, Florida, with weights 1..10,000 drawn
once), the two generated road networks of a million vertices, a Delaunay mesh of 200,000 random
points and a grid of 500 x 500. On each it measures, with one worker and with all cores: order and
analysis; customization, plain and with pruning; new weights for all edges and for a hundred; point
queries by walking, with the path, and by labels; one tree; rows of 256 sources; a table of 1,000 x
1,000; the five nearest of a hundred places; and the cost of float results that equal those of a
search. It also predicts, from the symbolic analysis alone, New York in every order, and graphs that
do not pay.

Contenders alternate within a round; all samples are kept. Answers are compared with searches, those
of peers (``prepared_peers.py``) with nearfar's, outside the timed part. ``--limit`` is the time for
the whole run: each graph (``prepared_graphs.py``) gets an equal share of the remaining time and
stops after the round that exceeds it, so it has at least one round and at most ``--rounds``.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from functools import partial
from typing import Any

import numpy as np

import nearfar
from nearfar import Graph, Prepared
from nearfar.errors import MissingDependencyError
from nearfar.lab.bench.environment import environment
from nearfar.prepared.order.elimination import elimination_order, structure_of
from nearfar.prepared.order.tree import analyse
from nearfar.system.threads import default_threads
from prepared_graphs import FORESEEN, GRAPHS, LARGE, SMALL, foresee, scaled
from prepared_peers import PEERS, Clock, build_peers, measure_peers
from result_file import add_output, write_result

PAIRS, TABLE, ROWS, PLACES, NEAREST, CHANGED, EXACT = 10_000, 1000, 256, 100, 5, 100, 16
ROWS_METHOD, TREE_METHOD = "elimination_tree_rows", "elimination_tree"
LABELS_LIMIT = 2**34  # bytes


@dataclasses.dataclass
class Asked:
    """Queries for all contenders, drawn once among the vertices that the widest vertex reaches."""

    pairs: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    many: np.ndarray
    places: np.ndarray
    edges: np.ndarray
    new: np.ndarray

    @classmethod
    def of(cls, graph: Graph) -> Asked:
        """Draw the queries of a graph."""
        rng = np.random.default_rng(0)
        reached = np.flatnonzero(nearfar.sssp(graph, graph.widest_vertex, threads=1).reachable)
        edges = rng.choice(graph.n_edges, min(CHANGED, graph.n_edges), replace=False)
        return cls(
            pairs=rng.choice(reached, (PAIRS, 2)),
            sources=rng.choice(reached, TABLE),
            targets=rng.choice(reached, TABLE),
            many=rng.choice(reached, ROWS),
            places=rng.choice(reached, PLACES),
            edges=edges,
            new=(graph.effective_weights[edges] * 3 // 2 + 1).astype(np.int32),
        )


class Contest:
    """Prepared graph with the rows of nearfar, and whether they are right."""

    def __init__(self, graph: Graph, threads: int, clock: Clock) -> None:
        self.graph, self.clock = graph, clock
        self.workers = sorted({1, threads})
        self.asked = Asked.of(graph)
        self.prepared = nearfar.prepare(graph, threads=threads)
        tree = self.prepared.preparation.tree
        self.plain = nearfar.prepare(graph, tree.vertex, perfect=False, threads=threads)
        fits = self.prepared.label_bytes < LABELS_LIMIT
        self.labels = self.prepared.label(threads=threads) if fits else None
        # Thirds, so that no sum is exact.
        self.floats = self.prepared.reweight(graph.effective_weights / 3.0, threads)
        self.plain_floats = Graph(
            graph.indptr, graph.indices, self.floats.weights, directed=graph.directed
        )
        self.rows = np.empty((ROWS, graph.n_vertices), np.int32)
        self.table = np.empty((TABLE, TABLE), np.int32)
        self.float_rows = np.empty((EXACT, graph.n_vertices))
        narrow = self.floats.weights.astype(np.float32)
        whole = self.prepared.astype(np.int64)
        forms = (self.prepared, whole, self.prepared.reweight(narrow), self.floats)
        self.widths = {
            form.weight_dtype.name: (form, np.empty((EXACT, graph.n_vertices), form.weight_dtype))
            for form in forms
        }
        self.many_pairs = np.random.default_rng(5).integers(0, graph.n_vertices, (2**20, 2))
        for form in forms:  # data of walks and paths is built once
            form.path_edges(*self.asked.pairs[0].tolist())

    def turn(self, order: bool) -> None:
        """Measure all rows once; the order only if wanted, since it takes seconds."""
        if order:
            self.clock.time("order and analysis", self._order)
        for workers in self.workers:
            self._metric(workers)
            self._queries(workers)
        self._single()
        self._floats()

    def _order(self) -> None:
        structure = structure_of(self.graph)
        analyse(self.graph, structure, elimination_order(structure)[0])

    def _metric(self, w: int) -> None:
        clock, asked, weights = self.clock, self.asked, self.graph.effective_weights
        basic = self.plain.reweight(weights, w)
        clock.add(f"basic customization, {w}", basic.seconds["customization"])
        perfect = clock.time(f"reweight, {w}", lambda: self.prepared.reweight(weights, w))
        clock.add(f"perfect customization and pruning, {w}", perfect.seconds["customization"])
        clock.time(
            f"update of {CHANGED} edges, {w}",
            lambda: self.prepared.update(asked.edges, asked.new, w),
        )
        clock.time(
            f"update of {CHANGED} edges without pruning, {w}",
            lambda: self.plain.update(asked.edges, asked.new, w),
        )

    def _queries(self, w: int) -> None:
        clock, asked, prepared = self.clock, self.asked, self.prepared
        clock.time(
            f"pair by walking, {w}",
            lambda: prepared.distances_of_pairs(asked.pairs, w, memory=0),
            PAIRS,
        )
        if (labels := self.labels) is not None:
            clock.time(
                f"pair by labels, {w}", lambda: labels.distances_of_pairs(asked.pairs, w), PAIRS
            )
        for lanes in (16, 32):
            shared: dict[str, Any] = {"method": ROWS_METHOD, "threads": w, "lanes": lanes}
            rows = partial(nearfar.distances, prepared, asked.many, out=self.rows, **shared)
            clock.time(f"row of many, {lanes} lanes, {w}", rows, ROWS)
            table = partial(
                nearfar.distances, prepared, asked.sources, targets=asked.targets, **shared
            )
            clock.time(f"table, {lanes} lanes, {w}", partial(table, out=self.table))
        for said, asked_of in (("", prepared), (" by searches", self.graph)):
            clock.time(
                f"{NEAREST} nearest of {PLACES}{said}, {w}",
                partial(nearfar.nearest, asked_of, asked.places, k=NEAREST, threads=w),
            )

    def _single(self) -> None:
        clock, asked, prepared = self.clock, self.asked, self.prepared
        some = asked.pairs[:1000].tolist()
        clock.time(
            "pair with path", lambda: [prepared.path_edges(s, t) for s, t in some], len(some)
        )
        begin = int(asked.many[0])
        clock.time("one tree", lambda: nearfar.sssp(prepared, begin, method=TREE_METHOD, threads=1))
        clock.time("one search", lambda: nearfar.sssp(self.graph, begin, device="cpu", threads=1))

    def _floats(self) -> None:
        """Compare floats with integers of the same width, and measure the sums of a search."""
        clock, asked, floats = self.clock, self.asked, self.floats
        few, some = asked.many[:EXACT], asked.pairs[:1000]
        shared: dict[str, Any] = {"method": ROWS_METHOD, "threads": 1}
        for form, (ready, memory_of_rows) in self.widths.items():
            rows = partial(nearfar.distances, ready, few, out=memory_of_rows, **shared)
            clock.time(f"row of many, {form}, 1", rows, EXACT)
            table = partial(nearfar.distances, ready, asked.sources, targets=asked.targets)
            clock.time(f"table, {form}, 1", partial(table, **shared))
            pairs = partial(ready.distances_of_pairs, some, 1, memory=0)
            clock.time(f"pair, {form}, 1", pairs, 1000)
            clock.time(
                f"pair with path, {form}, 1",
                lambda ready=ready: [ready.path_edges(s, t) for s, t in some[:200].tolist()],
                200,
            )
            if self.labels is not None:
                labels = partial(ready.distances_of_pairs, self.many_pairs, 1)
                clock.time(f"pair by labels in one call, {form}, 1", labels, len(self.many_pairs))
        rows = partial(nearfar.distances, floats, few, out=self.float_rows, **shared)
        clock.time("float rows, exact, 1", partial(rows, sums="search"), EXACT)
        pairs = partial(floats.distances_of_pairs, some, 1, sums="search")
        clock.time("float pairs, exact, 1", pairs, 1000)
        clock.time(
            "float search",
            lambda: nearfar.sssp(self.plain_floats, int(asked.many[0]), device="cpu", threads=1),
        )

    def right(self) -> bool:
        """Return whether every form of query agrees with searches."""
        asked, prepared = self.asked, self.prepared
        want = nearfar.distances(self.graph, asked.many[:4], device="cpu")
        ways = np.stack([asked.sources, asked.targets], axis=1)
        pairs = prepared.distances_of_pairs(asked.pairs)
        found = [
            np.array_equal(self.rows[:4], want),
            np.array_equal(np.diag(self.table), prepared.distances_of_pairs(ways)),
            self.labels is None
            or np.array_equal(self.labels.distances_of_pairs(asked.pairs), pairs),
        ]
        changed = self.graph.effective_weights.copy()
        changed[asked.edges] = asked.new
        other = self.graph.with_weights(changed)
        renewed = prepared.update(asked.edges, asked.new)
        row = nearfar.sssp(renewed, int(asked.many[0]), method=TREE_METHOD).distances
        found.append(np.array_equal(row, nearfar.sssp(other, int(asked.many[0])).distances))
        exact = nearfar.distances(self.plain_floats, asked.many[:1], device="cpu")
        row = nearfar.distances(self.floats, asked.many[:1], method=ROWS_METHOD, sums="search")
        found.append(np.array_equal(row, exact))
        near = [
            nearfar.nearest(of, asked.places, k=NEAREST).distances for of in (prepared, self.graph)
        ]
        found.append(np.array_equal(*near))
        return all(found)

    def float_difference(self) -> float:
        """Return the largest relative difference between fixed point and a search in a row."""
        one = self.asked.many[:1]
        exact = nearfar.distances(self.floats, one, method=ROWS_METHOD, sums="search")
        rough = nearfar.distances(self.floats, one, method=ROWS_METHOD)
        kept = np.isfinite(exact) & (exact > 0)
        return float(np.max(np.abs(rough[kept] / exact[kept] - 1), initial=0.0))


def array_bytes(holder: Any) -> int:
    """Return the bytes of the arrays of a dataclass or a named tuple."""
    held = (
        holder
        if isinstance(holder, tuple)
        else (getattr(holder, field.name) for field in dataclasses.fields(holder))
    )
    return sum(array.nbytes for array in held if isinstance(array, np.ndarray))


def memory(prepared: Prepared) -> dict[str, int]:
    """Return the bytes besides the graph: tree and arcs, metric, paths and labels."""
    preparation = prepared.preparation
    return {
        "structure_bytes": array_bytes(preparation.tree) + array_bytes(preparation.arcs),
        "metric_bytes": prepared.metric.nbytes,
        "path_bytes": 16 * preparation.arcs.n_arcs,
        "label_bytes": prepared.label_bytes,
    }


def measure(name: str, rounds: int, threads: int, wanted: set[str], limit: float) -> dict[str, Any]:
    """Measure all contenders on one graph, for ``limit`` seconds or ``rounds``."""
    began, clock = time.perf_counter(), Clock()
    graph = scaled(GRAPHS[name]())
    contest = Contest(graph, threads, clock)
    prepared = contest.prepared
    peers = build_peers(graph, prepared, wanted)
    asked, answers = contest.asked, {}
    done = 0
    while done < rounds and (done == 0 or time.perf_counter() - began < limit):
        contest.turn(order=done < 3)
        answers = measure_peers(clock, peers, asked.pairs, asked.sources, asked.targets)
        done += 1
    agree = {
        peer: float(np.mean(prepared.distances_of_pairs(pairs) == np.array(got, dtype=np.float64)))
        for peer, (pairs, got) in answers.items()
    }
    figures = prepared.preparation.figures
    return {
        "graph": name,
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "order": prepared.preparation.method,
        "seconds": prepared.seconds,
        "peer_seconds": peers["seconds"],
        "rounds": done,
        "threads": threads,
        "arcs": figures.n_arcs,
        "arcs_needed": len(prepared.metric.down.weight),
        "triangles": figures.n_triangles,
        "height": figures.height,
        "sides": prepared.metric.sides,
        **memory(prepared),
        "float_difference": contest.float_difference(),
        "right": contest.right(),
        "peers_agree": agree,
        "samples": clock.samples,
    }


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--graphs",
        nargs="+",
        default=[n for n in GRAPHS if n not in (SMALL, LARGE)],
        choices=list(GRAPHS),
    )
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument(
        "--foresee", nargs="*", default=[n for n in FORESEEN if n != SMALL], choices=list(FORESEEN)
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float, default=400.0, help="seconds for all graphs")
    parser.add_argument("--threads", type=int, default=default_threads())
    add_output(parser)
    given = parser.parse_args()
    results: list[dict[str, Any]] = []
    foreseen: list[dict[str, Any]] = []
    began = time.perf_counter()

    def keep() -> None:
        if given.output:
            kept = {"environment": environment(), "foreseen": foreseen, "results": results}
            write_result(given.output, kept)

    for name in given.foresee:
        try:
            found = foresee(name)
        except MissingDependencyError as error:
            print(f"== {name}: left out: {error}", flush=True)
            continue
        foreseen += found
        for row in found:
            print(
                f"== {name}, {row['order']}: {row['n_arcs']:,} arcs, {row['n_triangles']:,} ",
                end="",
            )
            print(f"triangles, height {row['height']}, {row['order_seconds']:.2f} s", flush=True)
        keep()
    for place, name in enumerate(given.graphs):
        left = given.limit - (time.perf_counter() - began)
        share = left / (len(given.graphs) - place)
        try:
            result = measure(name, given.rounds, given.threads, set(given.peers), share)
        except MissingDependencyError as error:
            print(f"== {name}: left out: {error}", flush=True)
            continue
        results.append(result)
        print(f"== {name}: {result['arcs']:,} arcs, height {result['height']}, ", end="")
        print("right" if result["right"] else "WRONG", result["peers_agree"], end=" ")
        print(f"{result['rounds']} rounds, {time.perf_counter() - began:.0f} s so far")
        print(f"   {result['seconds']}, peers {result['peer_seconds']}")
        for label, samples in result["samples"].items():
            print(f"   {min(samples) * 1e3:12.5f} ms  {label}", flush=True)
        keep()
    wrong = [r["graph"] for r in results if not r["right"]]
    if wrong:
        print(f"wrong answers on {', '.join(wrong)}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
