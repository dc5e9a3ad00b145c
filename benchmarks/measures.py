"""Compare betweenness, closeness, extents, edge loads and assignment with other packages.

    python benchmarks/measures.py -o FILE [--only betweenness extents networkx loads traffic]
                                  [--graphs NAME ...] [--threads N ...]

The packages are igraph, NetworKit, NetworkX and AequilibraE. Contenders alternate in one process,
and every answer is compared. Weights of unweighted graphs are integers up to 100. igraph runs on
one core; NetworKit and AequilibraE use as many threads as nearfar in rows with "threads". NetworKit
computes only all sources, so it is measured where nearfar computes them as well. Missing packages
are left out, and the JSON lists them. Real graphs come from the folder that NEARFAR_DATA names.
Writes measures.json with all samples, or measures_extents.json; other rows are kept, each with its
environment.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar import Graph
from nearfar.lab.bench.suite import data_file
from nearfar.measures import betweenness, closeness, diameter, eccentricity, edge_loads
from nearfar.system.threads import default_threads
from result_file import Rows, add_output
from turns import line, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL, ROADS = "snap-johnson/p2p-Gnutella08.txt.xz", "dimacs9-road/USA-road-d.NY.gr.xz"
ROUNDS = 5
PATIENCE = 4.0  # seconds
#: Name, function that builds the graph, number of sources (0 for all).
GRAPHS: tuple[tuple[str, Callable[[], Graph], int], ...] = (
    ("p2p-Gnutella08", lambda: nearfar.read(data_file(SMALL)), 0),
    (
        "loc-brightkite",
        lambda: nearfar.read(data_file("snap-johnson/loc-brightkite.txt.xz"), directed=False),
        256,
    ),
    ("New York roads", lambda: nearfar.read(data_file(ROADS)), 256),
    ("Delaunay 20,000", lambda: nearfar.generate("delaunay", vertices=20_000), 512),
)

#: The same, undirected, and the number of vertices of which closeness is computed (0 for all).
EXTENTS: tuple[tuple[str, Callable[[], Graph], int], ...] = (
    ("p2p-Gnutella08", lambda: nearfar.read(data_file(SMALL), directed=False), 0),
    (
        "loc-brightkite",
        lambda: nearfar.read(data_file("snap-johnson/loc-brightkite.txt.xz"), directed=False),
        1024,
    ),
    ("small world 10,000", lambda: nearfar.generate("small_world", vertices=10_000), 0),
    ("Delaunay 20,000", lambda: nearfar.generate("delaunay", vertices=20_000), 512),
)

#: Graphs for which preparing pays.
MESHES = ("New York roads", "Delaunay 20,000")


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def weighted(graph: Graph) -> Graph:
    """Return integer weights, equal in both directions: the graph's own, or from 1 to 100.

    Floats are converted to millionths, because igraph treats some unequal sums as ties.
    """
    if graph.weight_dtype.kind == "f":
        return graph.with_weights(np.ceil(graph.effective_weights * 1e6).astype(np.int32))
    if graph.is_weighted:
        return graph
    low = np.minimum(graph.tails(np.int64), graph.indices)
    high = np.maximum(graph.tails(np.int64), graph.indices)
    return graph.with_weights((1 + (low * 7919 + high * 104_729) % 100).astype(np.int32))


def prepared(graph: Graph) -> tuple[Graph, float]:
    """Return the prepared graph and the seconds of preparing on one core."""
    began = time.perf_counter()
    ready = nearfar.prepare(graph, threads=1)
    return ready, time.perf_counter() - began


def near(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-6 * float(np.max(a, initial=1.0))))


def peers(graph: Graph, sources: Any, threads: int) -> dict[str, Callable[[], Any]]:
    """Return igraph and NetworKit calls on the same edges, with one edge per pair of directions."""
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    kept = np.arange(len(tails)) if graph.directed else np.flatnonzero(tails < heads)
    pairs = np.stack([tails[kept], heads[kept]], axis=1)
    weights = None if graph.weights is None else graph.weights[kept].astype(float)
    found: dict[str, Callable[[], Any]] = {}
    if installed("igraph"):
        import igraph

        other = igraph.Graph(n=graph.n_vertices, edges=pairs, directed=graph.directed)
        listed = None if weights is None else weights.tolist()
        some = None if sources is None else sources.tolist()
        found["igraph"] = lambda: np.array(
            other.betweenness(directed=graph.directed, weights=listed, sources=some)
        )
    if installed("networkit") and sources is None:
        import networkit

        made = networkit.Graph(
            graph.n_vertices, weighted=weights is not None, directed=graph.directed
        )
        for (u, v), w in zip(
            pairs.tolist(), [1.0] * len(pairs) if weights is None else weights, strict=True
        ):
            made.addEdge(u, v, float(w))
        half = 1.0 if graph.directed else 0.5

        def run() -> Any:
            networkit.setNumberOfThreads(threads)
            measure = networkit.centrality.Betweenness(made)
            measure.run()
            return np.array(measure.scores()) * half

        found[f"networkit, threads: {threads}"] = run
    return found


def betweenness_part(rounds: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = []
    for name, make, count in GRAPHS:
        if not any(wanted.lower() in name.lower() for wanted in options.graphs):
            continue
        graph = make()
        rng = np.random.default_rng(1)
        sources = None if count == 0 else np.sort(rng.permutation(graph.n_vertices)[:count])
        names = None if sources is None else graph.name_of(sources)
        for kind, solved in (
            ("unweighted", graph.without_weights()),
            ("weighted", weighted(graph)),
        ):
            if name == "New York roads":  # igraph counts parallel edges as different paths
                merged = solved.to_scipy()
                solved = Graph.from_scipy(merged)
                solved = solved if kind == "weighted" else solved.without_weights()
                names = sources
            contenders: dict[str, Callable[[], Any]] = {}
            more: dict[str, Any] = {}
            for threads in sorted(set(options.threads)):
                contenders[f"nearfar, threads: {threads}"] = (
                    lambda solved=solved, names=names, threads=threads: betweenness(
                        solved, names, normalized=False, threads=threads
                    )
                )
            if kind == "weighted" and name in MESHES:
                ready, preparing = prepared(solved)
                more = {"seconds_to_prepare": preparing}
                contenders["nearfar, prepared, threads: 1"] = lambda ready=ready, names=names: (
                    betweenness(ready, names, normalized=False, threads=1)
                )
            contenders |= peers(solved, sources, 1)
            rows.append(
                line(
                    f"{name}, {kind}",
                    "nearfar, threads: 1",
                    take_turns(contenders, rounds, near, PATIENCE),
                    part="betweenness",
                    vertices=graph.n_vertices,
                    edges=graph.n_edges,
                    sources=graph.n_vertices if sources is None else count,
                    **more,
                )
            )
    return rows


def extents_part(rounds: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure closeness, diameter and eccentricities of connected graphs without weights."""
    rows = []
    for name, make, most in EXTENTS:
        if not any(wanted.lower() in name.lower() for wanted in options.graphs):
            continue
        graph = make().without_weights().largest_component().without_names()
        n = graph.n_vertices
        some = np.sort(np.random.default_rng(1).permutation(n)[: most or n])
        for measure, contenders in extents(graph, some, {1, *options.threads} & {1, 2}).items():
            of = len(some) if measure == "closeness" else n
            rows.append(
                line(
                    f"{name}, {measure} of {of:,} vertices",
                    "nearfar, threads: 1",
                    take_turns(contenders, rounds, near, PATIENCE),
                    part="extents",
                    vertices=n,
                    edges=graph.n_edges,
                )
            )
    return rows


def extents(graph: Graph, some: Any, counts: set[int]) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return contenders by measure; those without a choice of vertices only for all of them."""
    every = len(some) == graph.n_vertices
    found: dict[str, dict[str, Callable[[], Any]]]
    found = {"closeness": {}, "diameter": {}, "eccentricity": {}}
    for threads in sorted(counts):
        key, call = f"nearfar, threads: {threads}", {"threads": threads, "device": "cpu"}
        found["closeness"][key] = lambda call=call: closeness(graph, some, **call)
        found["diameter"][key] = lambda call=call: diameter(graph, **call)
        found["eccentricity"][key] = lambda call=call: eccentricity(graph, **call)
    theirs = others(graph)
    if "igraph" in theirs:
        vertices = some.tolist()
        found["closeness"]["igraph"] = lambda: np.array(theirs["igraph"].closeness(vertices))
        if every:
            found["diameter"]["igraph"] = theirs["igraph"].diameter
            found["eccentricity"]["igraph"] = lambda: np.array(theirs["igraph"].eccentricity())
    if "networkit" in theirs:
        import networkit

        networkit.setNumberOfThreads(1)
        made, kind = theirs["networkit"], networkit.centrality.ClosenessVariant.STANDARD
        exact = networkit.distance.DiameterAlgo.EXACT
        if every:
            found["closeness"]["networkit"] = lambda: np.array(
                networkit.centrality.Closeness(made, True, kind).run().scores()
            )
        found["diameter"]["networkit"] = lambda: (
            networkit.distance.Diameter(made, algo=exact).run().getDiameter()[0]
        )
    return found


def others(graph: Graph) -> dict[str, Any]:
    """Return an undirected graph without weights in the packages that are installed."""
    tails, heads = graph.tails(np.int64), graph.indices.astype(np.int64)
    pairs = np.stack([tails, heads], axis=1)[tails < heads]
    found: dict[str, Any] = {}
    if installed("igraph"):
        import igraph

        found["igraph"] = igraph.Graph(n=graph.n_vertices, edges=pairs)
    if installed("networkit"):
        import networkit

        made = networkit.Graph(graph.n_vertices)
        for u, v in pairs.tolist():
            made.addEdge(u, v)
        found["networkit"] = made
    return found


def networkx_part(rounds: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Compare NetworkX's own function with the same call through the backend, on 100 sources."""
    found = importlib.metadata.entry_points(group="networkx.backends", name="nearfar")
    if not installed("networkx") or not found:
        print("left out: NetworkX with the backend, which an installed nearfar brings", flush=True)
        return []
    import networkx as nx

    graph = nearfar.read(data_file(SMALL))
    other = nx.DiGraph(list(zip(graph.tails().tolist(), graph.indices.tolist(), strict=True)))
    contenders = {
        name: lambda backend=backend: list(
            nx.betweenness_centrality(other, k=100, seed=1, backend=backend).values()
        )
        for name, backend in (("nearfar backend", "nearfar"), ("networkx", "networkx"))
    }
    return [
        line(
            "p2p-Gnutella08 through NetworkX, 100 sources",
            "nearfar backend",
            take_turns(contenders, rounds, near, PATIENCE),
            part="networkx",
        )
    ]


def loads_part(rounds: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure 1,000 sources with 1,000 targets each, compared with the searches only."""
    graph = nearfar.read(data_file(ROADS)).without_names()
    rng = np.random.default_rng(2)
    sources, targets = (rng.permutation(graph.n_vertices)[:1000] for _ in range(2))
    demand = np.repeat(sources, 1000), np.tile(targets, 1000), rng.integers(1, 50, 1_000_000)
    graph.entering()
    rows = []
    for count in sorted({1, max(options.threads)}):
        some = 1000 if count > 4 else 200  # fewer sources, since one thread would take a minute
        part = sources[:some], tuple(column[: some * 1000] for column in demand)
        contenders: dict[str, Callable[[], Any]] = {
            "searches": lambda count=count, part=part: nearfar.distances(
                graph, part[0], targets=targets, threads=count, method="worker_per_source"
            ),
            "edge_loads": lambda count=count, part=part: (
                edge_loads(graph, part[1], threads=count).loads
            ),
        }
        rows.append(
            line(
                f"New York roads, {some:,} x 1,000 demand, threads: {count}",
                "searches",
                take_turns(contenders, rounds, lambda a, b: True, PATIENCE),
                part="loads",
                threads=count,
            )
        )
    return rows


def traffic_part(rounds: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure one all-or-nothing assignment, as in an iteration, of three towns."""
    from nearfar.formats import read_traffic

    threads = max(options.threads)
    rows = []
    for name in ("SiouxFalls", "Anaheim", "ChicagoSketch"):
        files = (data_file(f"tntp/{name}_{kind}.tntp.xz") for kind in ("net", "trips"))
        town = read_traffic(*files)
        time_now = town.links["free_flow_time"] + 0.04 * town.links["length"]

        def ours(town: Any = town, time_now: Any = time_now) -> Any:
            found = edge_loads(
                town.searched.with_weights(time_now),
                town.demand,
                zones=town.zones,
                threads=threads,
            )
            return lambda: np.array([found.total_length])

        contenders: dict[str, Callable[[], Any]] = {"nearfar": ours}
        if installed("aequilibrae"):
            contenders["aequilibrae"] = aequilibrae(town, time_now, threads)
        rows.append(
            line(
                f"{name}, all-or-nothing as in an iteration",
                "nearfar",
                take_turns(contenders, rounds, lambda a, b: near(a(), b()), PATIENCE),
                part="traffic",
                threads=threads,
            )
        )
    return rows


def aequilibrae(town: Any, time_now: Any, threads: int) -> Callable[[], Any]:
    """Run the same assignment in AequilibraE; its set-up is not timed."""
    os.environ["AEQ_SHOW_PROGRESS"] = "FALSE"
    import pandas
    from aequilibrae.matrix import AequilibraeMatrix
    from aequilibrae.paths import Graph as TheirGraph
    from aequilibrae.paths import TrafficClass
    from aequilibrae.paths.all_or_nothing import allOrNothing

    graph, zones = town.graph, np.array(town.zones)
    tails, heads = graph.tails(np.int64) + 1, graph.indices.astype(np.int64) + 1
    other = TheirGraph()
    other.network = pandas.DataFrame(
        {
            "link_id": np.arange(1, len(tails) + 1),
            "a_node": tails,
            "b_node": heads,
            "direction": np.ones(len(tails), np.int8),
            "cost": time_now,
        }
    )
    other.prepare_graph(zones)
    other.set_graph("cost")
    other.set_blocked_centroid_flows(town.searched is not town.graph)
    matrix = AequilibraeMatrix()
    matrix.create_empty(zones=len(zones), matrix_names=["trips"], memory_only=True)
    matrix.index[:] = zones
    matrix.matrix["trips"][:, :] = town.demand.toarray()
    matrix.computational_view(["trips"])
    kind = TrafficClass("car", other, matrix)
    kind.results.set_cores(threads)

    kind.results.prepare(other, matrix)

    def run() -> Any:
        kind.results.reset()
        allOrNothing("car", matrix, other, kind.results).execute()
        return total

    def total() -> Any:
        flows = kind.results.get_load_results()["trips_ab"].to_numpy()
        return np.array([float(flows @ time_now)])

    return run


PARTS: dict[str, Callable[[int, argparse.Namespace], list[dict[str, Any]]]] = {
    "betweenness": betweenness_part,
    "extents": extents_part,
    "networkx": networkx_part,
    "loads": loads_part,
    "traffic": traffic_part,
}


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--graphs", nargs="+", default=[""], help="parts of their names")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, default_threads()])
    options = parser.parse_args()
    peers = {name: version(name) for name in ("igraph", "networkit", "networkx", "aequilibrae")}
    file = options.output
    rows = Rows(file, [], by="what", under="rows")
    for part in options.only:
        for row in PARTS[part](options.rounds, options):
            rows.add({**row, "peers": peers})
    return 0


if __name__ == "__main__":
    sys.exit(main())
