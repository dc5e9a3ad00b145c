"""Measure the effect of each trick of betweenness: with all tricks, and without one each.

    NEARFAR_DATA=... python benchmarks/ablation_measures.py -o FILE [--quick]

The procedure is that of ablation.py: for each of MEASURE_TRICKS a copy of the package without it is
built and runs in a separate process, the processes alternate, and the sums of all answers must
agree. A ratio is the time of a call without the trick over the time with all tricks, of the least
processor times of one thread. The row "nothing" is a second process with the same code and shows
the noise. The graphs are those of measures.py except New York. Writes ablation_measures.json.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from ablation import built, processes, run_part, show_columns, summary, take_turns
from ablation_tricks import MEASURE_TRICKS
from measures import GRAPHS, weighted
from nearfar import Graph

NAMES = tuple(name for name, _, _ in GRAPHS if name != "New York roads")
KINDS = ("unweighted", "weighted", "edges")

# Program of the separate processes: reads one request per line, writes one answer per line.
SERVER = r"""
import json, sys, time
where = sys.argv[1]
# An editable installation would import the package from elsewhere.
sys.meta_path[:] = [one for one in sys.meta_path if "Redirecting" not in type(one).__name__]
sys.path.insert(0, where)
import numpy as np
import nearfar
from nearfar.measures import betweenness
if not nearfar.__file__.startswith(where):
    raise SystemExit(f"expected nearfar from {where}, got {nearfar.__file__}")

def load(file):
    global graphs, sources
    arrays = np.load(file)
    given = dict(directed=bool(arrays["directed"]))
    plain, heavy = (
        nearfar.Graph(arrays["indptr"], arrays["indices"], weights, **given)
        for weights in (None, arrays["weights"])
    )
    graphs = {"unweighted": plain, "weighted": heavy, "edges": plain}
    sources = arrays["sources"]
    return plain.n_vertices

def query(kind, least_ms):
    wall, processor = [], []
    how = dict(normalized=False, threads=1, edges=kind == "edges", device="cpu")
    while sum(wall) < least_ms or not wall:
        began, used = time.perf_counter(), time.process_time()
        answer = betweenness(graphs[kind], sources, **how)
        wall.append(1e3 * (time.perf_counter() - began))
        processor.append(1e3 * (time.process_time() - used))
    return {"wall": wall, "processor": processor, "digest": f"{answer.sum():.9e}"}

for line in sys.stdin:
    name, *given = json.loads(line)
    print(json.dumps(globals()[name](*given)), flush=True)
"""


def write_graph(name: str, file: Path) -> None:
    """Write a graph, integer weights and sources for all processes."""
    make, count = next((make, count) for one, make, count in GRAPHS if one == name)
    graph: Graph = make()
    n = graph.n_vertices
    np.savez(
        file,
        indptr=graph.indptr,
        indices=graph.indices,
        weights=weighted(graph).weights,
        directed=graph.directed,
        sources=np.sort(np.random.default_rng(1).permutation(n)[: count or n]),
    )


def measure(folder: Path, graphs: list[str], rounds: int) -> list[dict[str, Any]]:
    """Measure every kind of betweenness without each trick, on every graph."""
    tricks, trees = built(folder, MEASURE_TRICKS)
    results = []
    for name in graphs:
        file = folder / f"{name}.npz"
        write_graph(name, file)
        with processes(trees, tricks, None, SERVER) as started:
            for one in started.values():
                one.call("load", str(file))
            kinds = {
                kind: summary(take_turns(started, rounds, ("query", kind, 100), None), "processor")
                for kind in KINDS
            }
        results.append({"graph": name, "kinds": kinds})
    return results


def show(results: list[dict[str, Any]]) -> None:
    """Print a table per graph."""
    for result in results:
        print(f"== {result['graph']}")
        show_columns(result["kinds"])


if __name__ == "__main__":
    sys.exit(
        run_part(
            __doc__.splitlines()[0], NAMES, 5, ("Delaunay 20,000", 2), measure, show, "measures"
        )
    )
