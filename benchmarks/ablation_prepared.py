"""Measure the effect of each trick of prepared graphs: with all tricks, and without one each.

    NEARFAR_DATA=... python benchmarks/ablation_prepared.py -o FILE [--quick]

The procedure is that of ablation.py: for each of PREPARED_TRICKS a copy of the package without it
is built and runs in a separate process, the processes alternate, and all answers must be equal. A
ratio is the time of a query without the trick over the time with all tricks, of the least processor
times of one thread. The row "nothing" is a second process with the same code and shows the noise.
Before every timed run 64 MiB of other memory are written, since successive queries of a server
rarely find its arrays in the caches. Writes ablation_prepared.json; takes about 5 minutes on 16
cores.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
import prepared_graphs
from ablation import built, processes, run_part, show_columns, summary, take_turns
from ablation_tricks import PREPARED_TRICKS

GRAPHS = ("ny-roads", "colorado", "delaunay-200k")
#: Minimum total time of the timed runs of a turn, in milliseconds, by query.
QUERIES = {
    "customization": 60,
    "with pruning": 120,
    "pairs by walking": 60,
    "pairs by labels": 30,
    "paths": 60,
    "tree": 30,
    "rows": 100,
    "table": 100,
}

# Program of the separate processes: reads one request per line, writes one answer per line.
SERVER = r"""
import hashlib, json, sys, time
where = sys.argv[1]
# An editable installation would import the package from elsewhere.
sys.meta_path[:] = [one for one in sys.meta_path if "Redirecting" not in type(one).__name__]
sys.path.insert(0, where)
import numpy as np
import nearfar
from nearfar import _cpu
from nearfar.prepared.metric.arc_weights import customized
if not nearfar.__file__.startswith(where):
    raise SystemExit(f"expected nearfar from {where}, got {nearfar.__file__}")
other = np.zeros(2**23)

def load(file):
    global queries
    arrays = np.load(file)
    graph = nearfar.Graph(arrays["indptr"], arrays["indices"], arrays["weights"], directed=False)
    p = nearfar.prepare(graph, arrays["order"], threads=1)
    n, view, arcs = graph.n_vertices, p.metric_view, p.preparation.view
    n_arcs = p.preparation.arcs.n_arcs
    pairs, some = arrays["pairs"], arrays["pairs"][:500].tolist()
    sources, targets = np.ascontiguousarray(pairs[:1000, 0]), np.ascontiguousarray(pairs[:1000, 1])
    labels = []
    out = np.empty((64, n), np.int32), np.empty((1000, 1000), np.int32), np.empty(n, np.int32)

    def by_labels():
        if not labels:
            labels.append(p.label(threads=1))
        return labels[0].distances_of_pairs(pairs, 1)

    def rows(starts, ends, to):
        _cpu.prepared_distances(view, starts, ends, to, 0, 1)
        return to

    def paths():
        return np.array([graph.effective_weights[p.path_edges(s, t)].sum() for s, t in some])

    queries = {
        "customization": lambda: customized(arcs, graph, False, 1).weights,
        "with pruning": lambda: customized(arcs, graph, True, 1).up.weight,
        "pairs by walking": lambda: p.distances_of_pairs(pairs, 1),
        "pairs by labels": by_labels,
        "paths": paths,
        "tree": lambda: rows(sources[:1], None, out[2]),
        "rows": lambda: rows(sources[:64], None, out[0]),
        "table": lambda: rows(sources, targets, out[1]),
    }
    return n_arcs

def query(name, least_ms):
    wall, processor = [], []
    answer = queries[name]()
    while sum(wall) < least_ms:
        other[:] = len(wall)
        began, used = time.perf_counter(), time.process_time()
        answer = queries[name]()
        wall.append(1e3 * (time.perf_counter() - began))
        processor.append(1e3 * (time.process_time() - used))
    digest = hashlib.sha256(np.ascontiguousarray(answer)).hexdigest()
    return {"wall": wall, "processor": processor, "digest": digest}

for line in sys.stdin:
    name, *given = json.loads(line)
    print(json.dumps(globals()[name](*given)), flush=True)
"""


def write_graph(name: str, file: Path) -> None:
    """Write a graph, its order, and pairs of vertices with a path, for all processes."""
    graph = prepared_graphs.scaled(prepared_graphs.GRAPHS[name]())
    prepared = nearfar.prepare(graph)
    reached = np.flatnonzero(nearfar.sssp(graph, graph.widest_vertex).reachable)
    pairs = np.random.default_rng(0).choice(reached, (10_000, 2))
    np.savez(
        file,
        indptr=graph.indptr,
        indices=graph.indices,
        weights=graph.effective_weights,
        order=prepared.preparation.tree.vertex,
        pairs=pairs,
    )


def measure(folder: Path, graphs: list[str], rounds: int) -> list[dict[str, Any]]:
    """Measure every query without each trick, on every graph."""
    tricks, trees = built(folder, PREPARED_TRICKS)
    results = []
    for name in graphs:
        file = folder / f"{name}.npz"
        write_graph(name, file)
        with processes(trees, tricks, None, SERVER) as started:
            for one in started.values():
                one.ask("load", str(file))
            n_arcs = {one.answer() for one in started.values()}.pop()
            queries = {}
            for query, least_ms in QUERIES.items():
                found = take_turns(started, rounds, ("query", query, least_ms), None)
                queries[query] = summary(found, "processor")
        results.append({"graph": name, "arcs": n_arcs, "queries": queries})
    return results


def show(results: list[dict[str, Any]]) -> None:
    """Print a table per graph."""
    for result in results:
        print(f"== {result['graph']}: {result['arcs']:,} arcs")
        show_columns(result["queries"])


if __name__ == "__main__":
    sys.exit(run_part(__doc__, GRAPHS, 7, ("ny-roads", 3), measure, show, "prepared"))
