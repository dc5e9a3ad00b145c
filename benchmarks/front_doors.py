"""Compare nearfar's versions of other libraries' interfaces with the originals.

    python benchmarks/front_doors.py -o benchmarks/results/front_doors.json [--parts cupy]

The originals are SciPy, CuPy arrays, NetworkX and scikit-learn's Isomap. Contenders alternate in
one process, and every answer is compared. SciPy gets its own float64 CSR matrix, so that neither
library converts a dtype; nearfar starts from the plain matrix in every call, including the
conversion. NetworkX is timed on the New York roads, with the conversion cached on the graph and
without. Isomap needs scikit-learn, and CuPy a GPU. The file is written after every row; other parts
keep their earlier results. ``--scale tiny`` tests the script.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs
from scipy.spatial import KDTree

import nearfar.csgraph as ours
from in_parts import Rows, answer
from nearfar.lab.bench.suite import SUITE, draw_sources, load
from turns import line, take_turns

#: Graph of the suite -> factor by which it is smaller for 64 sources, to limit SciPy's time. One
#: source is solved in the graph of full size.
GRAPHS = {"newyork": 1, "kronecker": 8, "mesh": 4, "random": 8, "martin": 8}
ROUNDS = 5
SHRINK = {"paper": 1, "tiny": 2000}


def graphs(scale: str) -> Iterator[str]:
    """Return the names of available graphs; for tiny scale, only generated ones."""
    for name in GRAPHS:
        here = SUITE[name].available()
        if here is not True:
            print(f"{name}: {here}")
        elif scale == "paper" or SUITE[name].file is None:
            yield name


def scipy_door(scale: str) -> Rows:
    """Measure Dijkstra from one and from 64 sources."""
    for name in graphs(scale):
        for k, rounds, smaller in ((1, ROUNDS, 1), (64, 3, GRAPHS[name])):
            graph = load(name, smaller * SHRINK[scale])
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
            yield line(
                f"dijkstra, {name}, {k} source{'s' * (k > 1)}",
                "scipy",
                samples,
                graph=name,
                n_vertices=graph.n_vertices,
                n_edges=graph.n_edges,
                n_sources=k,
            )


def matrices(scale: str) -> Iterator[tuple[str, Any]]:
    """Return small and medium matrices of several kinds, fresh ones for every call's conversion."""
    rng = np.random.default_rng(7)
    small = SHRINK[scale] == 1

    def sparse(n: int, degree: float) -> Any:
        size = int(n * degree)
        s, t = rng.integers(0, n, size), rng.integers(0, n, size)
        return sp.coo_array((rng.random(size) + 0.01, (s, t)), shape=(n, n)).tocsr()

    def lattice(side: int) -> Any:
        cells = np.arange(side * side).reshape(side, side)
        s = np.concatenate((cells[:, :-1].ravel(), cells[:-1].ravel()))
        t = np.concatenate((cells[:, 1:].ravel(), cells[1:].ravel()))
        weights = rng.random(len(s)) + 0.01
        return sp.coo_array((weights, (s, t)), shape=(side * side,) * 2).tocsr()

    def near(n: int, k: int = 8) -> Any:
        points = rng.random((n, 3))
        lengths, found = KDTree(points).query(points, k + 1)
        arrays = lengths[:, 1:].ravel(), found[:, 1:].ravel(), np.arange(0, n * k + 1, k)
        return sp.csr_array(arrays, shape=(n, n))

    for n in (50, 200, 600) if small else (20,):
        yield f"dense {n}", rng.random((n, n)) + 0.01
    for n, degree in ((100, 4), (1_000, 5), (5_000, 1.2), (30_000, 6)) if small else ((50, 4),):
        yield f"random {n:,}, degree {degree}", sparse(n, degree)
    for side in (30, 200, 700) if small else (6,):
        yield f"lattice {side} x {side}", lattice(side)
    for n in (500, 30_000) if small else (30,):
        yield f"neighbours {n:,}", near(n)


def calls_door(scale: str) -> Rows:
    """Measure calls of small and medium matrices with the arguments that SciPy has."""
    for name, matrix in matrices(scale):
        n, longest = matrix.shape[0], float(matrix.max())
        many = np.arange(0, n, -(-n // 30))
        asked: dict[str, dict[str, Any]] = {
            "one source": {"indices": 0},
            "one source, predecessors": {"indices": 0, "return_predecessors": True},
            "one source, limit": {"indices": 0, "limit": longest},
            "30 sources": {"indices": many},
            "30 sources, predecessors": {"indices": many, "return_predecessors": True},
            "30 sources, limit": {"indices": many, "limit": longest},
            "nearest of 30": {"indices": many, "min_only": True},
            "30 sources, unweighted": {"indices": many, "unweighted": True},
        }
        if n <= 1_000:
            asked["all"] = {}
        for what, directed in itertools.product(asked, (True, False)):
            given = {**asked[what], "directed": directed}

            def run(module: Any, often: int, matrix: Any = matrix, given: Any = given) -> Any:
                for _ in range(often):
                    found = module.dijkstra(matrix, **given)
                return found[0] if isinstance(found, tuple) else found

            began = time.perf_counter()
            run(theirs, 1)
            often = max(1, int(2e-3 / (time.perf_counter() - began)))
            samples = take_turns(
                {
                    "scipy": functools.partial(run, theirs, often),
                    "nearfar": functools.partial(run, ours, often),
                },
                ROUNDS,
                np.array_equal,
                2.0,
            )
            call = what if directed else f"{what}, undirected"
            more = {"matrix": name, "call": call, "n_vertices": n, "calls_per_sample": often}
            yield line(f"{name}: {call}", "nearfar", samples, **more)


def cupy_door(scale: str) -> Rows:
    """Measure Dijkstra of a cupyx matrix from one source: on the device, or by SciPy."""
    from nearfar.system.devices import runtime

    if runtime.available() is not True:
        print(f"CuPy: {runtime.available()}")
        return
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    for name in graphs(scale):
        graph = load(name, SHRINK[scale])
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
        yield line(what, "scipy, over the host", samples, graph=name, **sizes)


def networkx_door(scale: str) -> Rows:
    """Measure single_source_dijkstra_path_length on the New York roads."""
    import networkx as nx
    from nearfar.networkx import convert_from_nx, single_source_dijkstra_path_length

    name = "newyork" if scale == "paper" else "grid"
    if SUITE[name].available() is not True:
        print(f"NetworkX: {SUITE[name].available()}")
        return
    graph = load(name, SHRINK[scale])
    sources = graph.tails(np.int64)
    roads = nx.DiGraph()
    roads.add_nodes_from(range(graph.n_vertices))
    lightest: dict[tuple[int, int], int] = {}
    for u, v, w in zip(
        sources.tolist(), graph.indices.tolist(), graph.effective_weights.tolist(), strict=True
    ):
        lightest[u, v] = min(w, lightest.get((u, v), w))
    roads.add_weighted_edges_from((u, v, w) for (u, v), w in lightest.items())
    roads.__networkx_cache__ = None  # conversions are timed separately
    start = int(draw_sources(graph, 1)[0])
    kept = convert_from_nx(roads, edge_attrs={"weight": 1})
    nx.config.warnings_to_ignore.add("cache")
    cache: dict[str, Any] = {}

    def through_networkx() -> Any:
        """Call NetworkX's function, which finds the backend and the cached conversion."""
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
    what = f"single_source_dijkstra_path_length, {name}"
    yield line(what, "networkx", samples, n_vertices=len(roads), n_edges=roads.size())


def isomap_door(scale: str) -> Rows:
    """Measure Isomap of a Swiss roll, with scikit-learn's shortest_path replaced by nearfar's."""
    try:
        import sklearn.manifold._isomap as module
        from sklearn.datasets import make_swiss_roll
        from sklearn.manifold import Isomap
    except ImportError:
        print("Isomap: scikit-learn is not installed")
        return
    points, _ = make_swiss_roll(max(2000 // SHRINK[scale], 50), random_state=1)
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
    yield line("Isomap.fit, the whole", "scikit-learn", samples, **points_only)
    yield line("Isomap.fit, its shortest paths", "scipy", inner, **points_only)


DOORS = {
    "scipy": scipy_door,
    "calls": calls_door,
    "cupy": cupy_door,
    "networkx": networkx_door,
    "isomap": isomap_door,
}


if __name__ == "__main__":
    answer((__doc__ or "").splitlines()[0], DOORS, lambda part, row: None)
