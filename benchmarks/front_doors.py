"""The interfaces of other libraries beside the originals: SciPy, CuPy arrays, NetworkX, Isomap.

    python benchmarks/front_doors.py -o benchmarks/results [--only scipy cupy networkx isomap]

One process; contenders take turns; every answer is compared. SciPy gets the float64 CSR matrix
it works in, so neither side converts a dtype; nearfar starts from the bare matrix each time, its
conversion included. NetworkX is timed on the New York roads, with the conversion kept on the graph
and without. Isomap needs scikit-learn, and CuPy's a GPU. Writes front_doors.json with all
samples; a part that was not run keeps its earlier results.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs

import nearfar.csgraph as ours
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import milliseconds, table, write_json
from nearfar.lab.bench.suite import SUITE, draw_sources

if TYPE_CHECKING:
    from collections.abc import Callable

#: Graph of the suite -> how much smaller than there for 64 sources, so that SciPy ends in time. One
#: source is drawn in the graph as it is.
GRAPHS = {"newyork": 1, "kronecker": 8, "mesh": 4, "random": 8, "martin": 8}
ROUNDS = 5


def take_turns(
    contenders: dict[str, Callable[[], Any]], rounds: int, same: Callable[[Any, Any], bool]
) -> dict[str, list[float]]:
    """Seconds of every round; answers are compared outside the timed part."""
    answers = {name: run() for name, run in contenders.items()}
    first = next(iter(answers.values()))
    for name, answer in answers.items():
        if not same(first, answer):
            raise SystemExit(f"{name} gave another answer")
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            began = time.perf_counter()
            run()
            samples[name].append(time.perf_counter() - began)
    return samples


def line(what: str, base: str, samples: dict[str, list[float]], **more: Any) -> dict[str, Any]:
    """One result: medians, ratios to the base, samples."""
    medians = {name: statistics.median(times) for name, times in samples.items()}
    times_faster = {name: medians[base] / value for name, value in medians.items() if name != base}
    text = ", ".join(
        f"{name} {milliseconds(value)} ms"
        + (f" ({times_faster[name]:.1f}x)" if name in times_faster else "")
        for name, value in medians.items()
    )
    print(f"{what}: {text}", flush=True)
    return {
        "what": what,
        **more,
        "medians": medians,
        "times_faster": times_faster,
        "samples": samples,
    }


def scipy_door() -> list[dict[str, Any]]:
    """Dijkstra from one and from 64 sources."""
    found = []
    for name, shrink in GRAPHS.items():
        entry = SUITE[name]
        if entry.available() is not True:
            print(f"{name}: {entry.available()}")
            continue
        for k, rounds, smaller in ((1, ROUNDS, 1), (64, 3, shrink)):
            graph = entry.make(smaller)
            parts = graph.effective_weights.astype(np.float64), graph.indices, graph.indptr
            shape = (graph.n_vertices, graph.n_vertices)

            def matrix(parts: Any = parts, shape: Any = shape) -> Any:
                return sp.csr_array(parts, shape=shape)

            rows = np.asarray(draw_sources(graph, k))
            contenders = {
                "scipy": lambda rows=rows, matrix=matrix: theirs.dijkstra(matrix(), indices=rows)
            }
            for threads in (1, 2):
                contenders[f"nearfar, {threads} thread{'s' * (threads > 1)}"] = (
                    lambda rows=rows, threads=threads, matrix=matrix: ours.dijkstra(
                        matrix(), indices=rows, threads=threads
                    )
                )
            samples = take_turns(contenders, rounds, np.array_equal)
            found.append(
                line(
                    f"dijkstra, {name}, {k} source{'s' * (k > 1)}",
                    "scipy",
                    samples,
                    graph=name,
                    n_vertices=graph.n_vertices,
                    n_edges=graph.n_edges,
                    n_sources=k,
                )
            )
    return found


def cupy_door() -> list[dict[str, Any]]:
    """Dijkstra from one source of a cupyx matrix: on the device, or over the host by SciPy."""
    from nearfar.system.devices import runtime

    if runtime.available() is not True:
        print(f"CuPy: {runtime.available()}")
        return []
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    found = []
    for name in GRAPHS:
        entry = SUITE[name]
        if entry.available() is not True:
            print(f"{name}: {entry.available()}")
            continue
        graph = entry.make(1)
        arrays = graph.effective_weights.astype(np.float64), graph.indices, graph.indptr
        matrix = csr_matrix(tuple(map(cupy.asarray, arrays)), shape=(graph.n_vertices,) * 2)
        source = int(draw_sources(graph, 1)[0])

        def over_the_host(matrix: Any = matrix, source: int = source) -> Any:
            answer = cupy.asarray(theirs.dijkstra(matrix.get(), indices=source))
            runtime.synchronize()
            return answer

        def there(matrix: Any = matrix, source: int = source) -> Any:
            answer = ours.dijkstra(matrix, indices=source)
            runtime.synchronize()
            return answer

        samples = take_turns(
            {"scipy, over the host": over_the_host, "nearfar, on the device": there},
            ROUNDS,
            lambda a, b: bool((a == b).all()),
        )
        sizes = {"n_vertices": graph.n_vertices, "n_edges": graph.n_edges}
        what = f"dijkstra, cupyx matrix, {name}, 1 source"
        found.append(line(what, "scipy, over the host", samples, graph=name, **sizes))
    return found


def networkx_door() -> list[dict[str, Any]]:
    """single_source_dijkstra_path_length on the New York roads."""
    import networkx as nx
    from nearfar.networkx import convert_from_nx, single_source_dijkstra_path_length

    entry = SUITE["newyork"]
    if entry.available() is not True:
        print(f"NetworkX: {entry.available()}")
        return []
    graph = entry.make(1)
    sources = graph.tails(np.int64)
    roads = nx.DiGraph()
    roads.add_nodes_from(range(graph.n_vertices))
    lightest: dict[tuple[int, int], int] = {}
    for u, v, w in zip(
        sources.tolist(), graph.indices.tolist(), graph.effective_weights.tolist(), strict=True
    ):
        lightest[u, v] = min(w, lightest.get((u, v), w))
    roads.add_weighted_edges_from((u, v, w) for (u, v), w in lightest.items())
    roads.__networkx_cache__ = None  # conversions are timed by hand
    start = int(draw_sources(graph, 1)[0])
    kept = convert_from_nx(roads, edge_attrs={"weight": 1})
    nx.config.warnings_to_ignore.add("cache")
    cache: dict[str, Any] = {}

    def through_networkx() -> Any:
        """What a user types: NetworkX finds the backend and the conversion kept on the graph."""
        roads.__networkx_cache__ = cache
        try:
            return nx.single_source_dijkstra_path_length(roads, start, backend="nearfar")
        finally:
            roads.__networkx_cache__ = None

    samples = take_turns(
        {
            "networkx": lambda: nx.single_source_dijkstra_path_length.orig_func(roads, start),
            "nearfar, conversion kept": lambda: single_source_dijkstra_path_length(kept, start),
            "nearfar, conversion kept, through NetworkX": through_networkx,
            "nearfar, conversion included": lambda: single_source_dijkstra_path_length(
                convert_from_nx(roads, edge_attrs={"weight": 1}), start
            ),
        },
        ROUNDS,
        lambda a, b: a == b,
    )
    what = "single_source_dijkstra_path_length, newyork"
    return [line(what, "networkx", samples, n_vertices=len(roads), n_edges=roads.size())]


def isomap_door() -> list[dict[str, Any]]:
    """Isomap of a Swiss roll, scikit-learn's shortest_path replaced by ours."""
    try:
        import sklearn.manifold._isomap as module
        from sklearn.datasets import make_swiss_roll
        from sklearn.manifold import Isomap
    except ImportError:
        print("Isomap: scikit-learn is not installed")
        return []
    points, _ = make_swiss_roll(2000, random_state=1)
    before = module.shortest_path

    def fit(shortest_path: Any) -> Any:
        module.shortest_path = shortest_path
        try:
            return Isomap(n_neighbors=10).fit(points).dist_matrix_
        finally:
            module.shortest_path = before

    seconds: dict[str, list[float]] = {"scipy": [], "nearfar": []}

    def clocked(name: str, function: Any) -> Any:
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            answer = function(*args, **kwargs)
            seconds[name].append(time.perf_counter() - began)
            return answer

        return wrapper

    samples = take_turns(
        {
            "scikit-learn": lambda: fit(clocked("scipy", before)),
            "scikit-learn on nearfar": lambda: fit(clocked("nearfar", ours.shortest_path)),
        },
        2,
        np.array_equal,
    )
    points_only = {"n_points": len(points), "n_neighbors": 10}
    inner = {name: times[1:] for name, times in seconds.items()}
    return [
        line("Isomap.fit, the whole", "scikit-learn", samples, **points_only),
        line("Isomap.fit, its shortest paths", "scipy", inner, **points_only),
    ]


DOORS = {"scipy": scipy_door, "cupy": cupy_door, "networkx": networkx_door, "isomap": isomap_door}


def main() -> int:
    """Run the chosen parts and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--only", nargs="+", choices=DOORS, default=list(DOORS))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "front_doors.json"
    document = json.loads(path.read_text()) if path.exists() else {}
    results = {name: DOORS[name]() for name in options.only}
    for name, found in results.items():
        if found:
            document[name] = {
                "environment": environment(),
                "settings": {"rounds": ROUNDS},
                "results": found,
            }
    write_json(path, document)
    rows = [
        [one["what"], *(f"{v:.1f}x" for v in one["times_faster"].values())]
        for door in results.values()
        for one in door
        if len(one["times_faster"]) == 2
    ]
    if rows:
        print("\n".join(table(["what", "first", "second"], rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
