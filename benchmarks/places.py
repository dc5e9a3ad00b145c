"""Measure snapping, tables, the nearest and routes from coordinates, compared with other packages.

    python benchmarks/places.py -o benchmarks/results/places.json [--parts snapping] [--scale tiny]

Contenders alternate in one process, and every answer is compared. Installed peers are measured:
shapely's tree (which OSMnx uses for snapping), OSMnx itself on a small network, pandana, RoutingKit
(``pyroutingkit``) and igraph. Coordinates are metres on a plane, so that all packages compute equal
lengths. Peers support only vertices, so tables, the nearest and routes are compared between
vertices; places on edges have separate rows. Slow peers solve a part, and the time is per unit. One
thread, except for pandana, which uses OpenMP, and for tables of 10,000 places.
"""

from __future__ import annotations

import contextlib
import importlib.util
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

import nearfar
from in_parts import Rows, answer
from nearfar import Graph, Prepared
from nearfar.errors import MissingDependencyError
from nearfar.lab.bench.suite import data_file
from turns import line, take_turns

ROUNDS = 5
DEGREE = 111_194.93  # metres


def have(name: str) -> bool:
    """Return whether a peer is installed."""
    return importlib.util.find_spec(name) is not None


def on_plane(graph: Graph) -> Graph:
    """Return the network without names, with coordinates in metres from its centre."""
    xy = np.asarray(graph.coordinates)
    middle = xy.mean(axis=0)
    scale = np.array([np.cos(np.radians(middle[1])), 1.0]) * DEGREE
    return Graph.from_csr(
        graph.indptr,
        graph.indices,
        graph.weights,
        coordinates=(xy - middle) * scale,
        attributes={"geographic": False},
    )


@cache
def networks(scale: str) -> tuple[tuple[str, Graph], ...]:
    """Read New York, where its file is, and generate a country."""
    if scale == "tiny":
        made = nearfar.generate("country_roads", vertices=3000, seed=1)
        return (("country of 3,000", on_plane(made)),)
    found = []
    try:
        read = nearfar.read(data_file("dimacs9-road/USA-road-d.NY.gr.xz"))
        found.append(("New York", on_plane(read)))
    except MissingDependencyError as error:
        print(f"New York: {error}")
    made = nearfar.generate("country_roads", vertices=150_000, seed=1)
    found.append((f"country of {made.n_vertices:,}", on_plane(made)))
    return tuple(found)


@cache
def prepared(name: str, scale: str) -> Prepared:
    """Return a network, prepared."""
    return nearfar.prepare(dict(networks(scale))[name])


@cache
def pandana_of(name: str, scale: str) -> Any:
    """Return the network in pandana with weights over 1,000: pandana counts in thousandths."""
    import pandana
    import pandas

    graph = dict(networks(scale))[name]
    xy = np.asarray(graph.coordinates)
    ends = pandas.Series(graph.tails(np.int64)), pandas.Series(graph.indices.astype(np.int64))
    # pandana truncates weights
    costs = pandas.DataFrame({"w": (graph.effective_weights + 0.5) / 1000})
    with contextlib.redirect_stdout(None), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pandana.Network(
            pandas.Series(xy[:, 0]), pandas.Series(xy[:, 1]), *ends, costs, twoway=False
        )


def places_of(graph: Graph, count: int, seed: int) -> np.ndarray:
    """Return places a few steps away from random vertices."""
    rng = np.random.default_rng(seed)
    xy = np.asarray(graph.coordinates)
    found: np.ndarray = xy[rng.integers(0, len(xy), count)] + rng.normal(0, 100, (count, 2))
    return found


def close(one: Any, other: Any) -> bool:
    """Return whether numbers agree."""
    return bool(np.allclose(one, other, rtol=1e-6, atol=1e-3, equal_nan=True))


def nearly(one: Any, other: Any) -> bool:
    """Return whether numbers agree to two units: pandana's nearest is off by one."""
    return bool(np.abs(np.asarray(one) - other).max() <= 2)


def each(samples: dict[str, list[float]], units: dict[str, int]) -> dict[str, list[float]]:
    """Return the seconds per unit."""
    return {name: [t / units[name] for t in times] for name, times in samples.items()}


def snapping(scale: str) -> Rows:
    """Measure snapping places to the nearest point on an edge."""
    for name, graph in networks(scale):
        yield from snapping_on(name, graph, scale)
    yield from by_osmnx(scale)


def snapping_on(name: str, graph: Graph, scale: str) -> Rows:
    """Measure snapping on one network."""
    points = places_of(graph, 200_000 if scale == "paper" else 2000, 1)
    few = points[: len(points) // 10]
    units = {"edges, nearfar": len(points)}
    contenders: dict[str, Any] = {
        "edges, nearfar": lambda: graph.snap(*points.T, parts="all", threads=1).distance[: len(few)]
    }
    if have("shapely"):
        tree, lines = shapely_tree(graph)
        units["edges, shapely"] = len(few)
        contenders["edges, shapely"] = lambda: by_shapely(tree, lines, few)
    samples = each(take_turns(contenders, ROUNDS, close), units)
    yield line(f"{name}: a place to an edge", "edges, nearfar", samples, network=name, **units)


def shapely_tree(graph: Graph) -> tuple[Any, Any]:
    """Return shapely's tree of the edges, with each street once."""
    import shapely

    xy = np.asarray(graph.coordinates)
    ends = np.sort(np.stack([graph.tails(), graph.indices]), axis=0)
    a, b = np.unique(ends[:, ends[0] < ends[1]], axis=1)
    lines = shapely.linestrings(np.stack([xy[a], xy[b]], axis=1))
    return shapely.STRtree(lines), lines


def by_shapely(tree: Any, lines: Any, points: np.ndarray) -> np.ndarray:
    """Return distances to the nearest lines, as OSMnx computes them."""
    import shapely

    made = shapely.points(points)
    found: np.ndarray = shapely.distance(made, lines[tree.nearest(made)])
    return found


def by_osmnx(scale: str) -> Iterator[dict[str, Any]]:
    """Measure OSMnx's own function, on a network in its form."""
    if not have("osmnx"):
        return
    import osmnx

    import networkx

    made = nearfar.generate("country_roads", vertices=20_000 if scale == "paper" else 500, seed=2)
    graph = on_plane(made)
    xy = np.asarray(graph.coordinates)
    theirs = networkx.MultiDiGraph(crs="epsg:3857")
    theirs.add_nodes_from((v, {"x": x, "y": y}) for v, (x, y) in enumerate(xy.tolist()))
    ends = zip(graph.tails().tolist(), graph.indices.tolist(), strict=True)
    theirs.add_edges_from((u, v, {"length": 1.0}) for u, v in ends)
    points = places_of(graph, 2000, 3)
    nearest = osmnx.distance.nearest_edges
    samples = take_turns(
        {
            "nearfar": lambda: graph.snap(*points.T, parts="all", threads=1).distance,
            "osmnx": lambda: nearest(theirs, *points.T, return_dist=True)[1],
        },
        2,
        close,
    )
    yield line(
        f"{len(points):,} places to edges of {graph.n_vertices:,} vertices", "nearfar", samples
    )


def tables(scale: str) -> Rows:
    """Measure tables of a thousand by a thousand places."""
    for name, graph in networks(scale):
        yield from tables_on(name, graph, scale)


def tables_on(name: str, graph: Graph, scale: str) -> Rows:
    """Measure tables on one network."""
    count = 1000 if scale == "paper" else 50
    part = 10
    ready = prepared(name, scale)
    origins, destinations = (places_of(graph, count, seed) for seed in (4, 5))
    a, b = (graph.snap(*p.T, to="vertex", parts="all") for p in (origins, destinations))
    starts, ends = a.vertex, b.vertex
    units = {"vertices, nearfar": count}
    contenders: dict[str, Any] = {
        "vertices, nearfar": lambda: nearfar.table(ready, a, b, threads=1)[:part]
    }
    if have("pandana"):
        network = pandana_of(name, scale)
        units["vertices, pandana"] = part
        pairs = np.repeat(starts[:part], count).tolist(), np.tile(ends, part).tolist()
        contenders["vertices, pandana"] = lambda: np.reshape(
            np.multiply(network.shortest_path_lengths(*pairs), 1000), (part, count)
        )
    if have("pyroutingkit"):
        metric, _topology = routingkit(name, scale)
        units["vertices, RoutingKit"] = part
        contenders["vertices, RoutingKit"] = lambda: np.reshape(
            metric.distances_many_to_many(starts[:part].astype(np.uint32), ends.astype(np.uint32)),
            (part, count),
        )
    if have("igraph"):
        theirs = graph.to_igraph()
        units["vertices, igraph"] = part
        contenders["vertices, igraph"] = lambda: np.array(
            theirs.distances(starts[:part].tolist(), np.unique(ends).tolist(), weights="weight")
        )[:, np.unique(ends, return_inverse=True)[1]]
    samples = each(take_turns(contenders, ROUNDS, close, patience=4), units)
    yield line(
        f"{name}: a row of {count:,} vertices", "vertices, nearfar", samples,
        network=name, prepared_seconds=ready.seconds, rows_of=units,
    )  # fmt: skip
    on_edges = {
        "places, snapped and solved": lambda: nearfar.table(
            ready, origins, destinations, parts="all", threads=1
        ),
        "places, snapped before": lambda: nearfar.table(ready, *snapped, threads=1),
    }
    snapped = [graph.snap(*p.T, parts="all") for p in (origins, destinations)]
    samples = take_turns(on_edges, ROUNDS, close)
    yield line(
        f"{name}: {count:,} x {count:,} places", "places, snapped and solved", samples,
        network=name, pairs=count * count,
    )  # fmt: skip


def few(scale: str) -> Rows:
    """Measure tables of many vertices by few without preparing, in both directions."""
    count, width = (1000, 5) if scale == "paper" else (60, 3)
    for name, given in networks(scale):
        for dtype, factor in (("int32", 1), ("float64", 1.2345)):
            weights = (np.asarray(given.weights) * factor).astype(dtype)
            graph = Graph.from_csr(given.indptr, given.indices, weights, directed=given.directed)
            rng = np.random.default_rng(7)
            starts, ends = (rng.choice(graph.n_vertices, k, replace=False) for k in (count, width))

            def solved(graph: Graph = graph, a: Any = starts, b: Any = ends, **how: Any) -> Any:
                return nearfar.distances(graph, a, targets=b, device="cpu", threads=1, **how)

            contenders: dict[str, Any] = {
                "nearfar": solved,
                "from the sources, nearfar": lambda run=solved: run(method="worker_per_source"),
            }
            if have("igraph"):
                theirs, ids = graph.to_igraph(), (starts.tolist(), ends.tolist())
                contenders["igraph"] = lambda theirs=theirs, ids=ids: np.array(
                    theirs.distances(*ids, weights="weight")
                )
            samples = take_turns(contenders, ROUNDS, close, patience=4)
            yield line(
                f"{name}, {dtype}: {count:,} x {width} vertices, not prepared", "nearfar", samples,
                network=name,
            )  # fmt: skip


def large(scale: str) -> Rows:
    """Measure tables between ten thousand places, on all cores."""
    for name, graph in networks(scale):
        ready = prepared(name, scale)
        count = 10_000 if scale == "paper" else 500
        origins, destinations = (places_of(graph, count, seed) for seed in (10, 11))

        def solve(ready: Any = ready, places: Any = (origins, destinations)) -> Any:
            return nearfar.table(ready, *places, parts="all")

        def snap(graph: Any = graph, places: Any = (origins, destinations)) -> Any:
            found = [graph.snap(*p.T, parts="all").distance for p in places]
            return found[0]

        samples = take_turns({"snapped and solved": solve}, 3, close)
        samples |= take_turns({"snapped": snap}, 3, close)
        yield line(
            f"{name}: {count:,} x {count:,} places", "snapped and solved", samples,
            network=name, pairs=count * count,
        )  # fmt: skip


@cache
def routingkit(name: str, scale: str) -> tuple[Any, Any]:
    """Return RoutingKit's customized hierarchy, with its own order along coordinates."""
    import pyroutingkit

    graph = dict(networks(scale))[name]
    xy = np.asarray(graph.coordinates)
    x, y = xy.T.astype(np.float32)
    topology = pyroutingkit.CCHTopology()
    tails, heads = graph.tails().astype(np.uint32), graph.indices.astype(np.uint32)
    topology.build(tails, heads, y, x, graph.n_vertices)
    metric = pyroutingkit.CCHMetric(topology)
    metric.customize(graph.effective_weights.astype(np.uint32))
    return metric, topology  # the metric refers to the topology


def nearest(scale: str) -> Rows:
    """Measure the three nearest of few and of many destinations."""
    for name, graph in networks(scale):
        for destinations in (200, 5_000) if scale == "paper" else (20,):
            yield from nearest_on(name, graph, scale, destinations)


def nearest_on(name: str, graph: Graph, scale: str, destinations: int) -> Rows:
    """Measure the nearest on one network."""
    ready = prepared(name, scale)
    count = 10_000 if scale == "paper" else 200
    a = graph.snap(*places_of(graph, count, 6).T, to="vertex", parts="all")
    b = graph.snap(*places_of(graph, destinations, 7).T, to="vertex", parts="all")
    distinct = np.unique(b.vertex)
    units = {"origins, nearfar": count}
    contenders: dict[str, Any] = {
        "origins, nearfar": lambda: (
            nearfar.nearest_places(ready, a, distinct, 3, threads=1).distances
        ),
    }
    if have("pandana"):
        network = pandana_of(name, scale)
        xy = np.asarray(graph.coordinates)[distinct]
        far = 1e6
        network.set_pois("b", far, 3, *xy.T)
        units["every vertex, pandana"] = graph.n_vertices
        contenders["every vertex, pandana"] = lambda: (
            1000 * network.nearest_pois(far, "b", num_pois=3).to_numpy()[a.vertex]
        )
    samples = each(take_turns(contenders, ROUNDS, nearly, patience=10), units)
    what = f"{name}: the three nearest of {destinations:,}, per origin"
    yield line(what, "origins, nearfar", samples, **units)


def routes(scale: str) -> Rows:
    """Measure routes of pairs, and alternatives."""
    for name, graph in networks(scale):
        yield from routes_on(name, graph, scale)


def routes_on(name: str, graph: Graph, scale: str) -> Rows:
    """Measure routes on one network."""
    ready = prepared(name, scale)
    count = 500 if scale == "paper" else 20
    origins, destinations = (places_of(graph, count, seed) for seed in (8, 9))
    a, b = (graph.snap(*p.T, to="vertex", parts="all") for p in (origins, destinations))
    starts, ends, weights = a.vertex, b.vertex, graph.effective_weights
    few = min(count, 20)
    units = {"nearfar": count}

    def ours(ready: Any = ready, a: Any = a, b: Any = b) -> Any:
        return [one.length for one in nearfar.route(ready, a, b, threads=1)]

    contenders: dict[str, Any] = {"nearfar": lambda: ours()[:few]}
    if have("pandana"):
        network = pandana_of(name, scale)
        units["pandana"] = count
        contenders["pandana"] = lambda: [
            along(graph, path)
            for path in network.shortest_paths(starts.tolist(), ends.tolist())[:few]
        ]
    if have("pyroutingkit"):
        metric, _topology = routingkit(name, scale)
        units["RoutingKit"] = count
        pairs = list(zip(starts.tolist(), ends.tolist(), strict=True))
        contenders["RoutingKit"] = lambda: [metric.query(s, t)[0] for s, t in pairs][:few]
    if have("igraph"):
        theirs = graph.to_igraph()
        units["igraph"] = few
        contenders["igraph"] = lambda: [
            float(weights[theirs.get_shortest_path(
                s, t, weights="weight", output="epath"
            )].sum())
            for s, t in zip(starts[:few].tolist(), ends[:few].tolist(), strict=True)
        ]  # fmt: skip
    samples = each(take_turns(contenders, ROUNDS, close, patience=4), units)
    yield line(f"{name}: a route", "nearfar", samples, network=name, **units)
    places = [tuple(p) for p in origins.tolist()], [tuple(p) for p in destinations.tolist()]
    found: list[int] = []

    def alternatives(ready: Any = ready, places: Any = places, found: Any = found) -> Any:
        found[:] = [len(nearfar.routes(ready, s, t, 3, parts="all"))
                    for s, t in zip(*places, strict=True)]  # fmt: skip
        return np.zeros(1)

    def between(ready: Any = ready, places: Any = places) -> Any:
        for s, t in zip(*places, strict=True):
            nearfar.route(ready, s, t, parts="all", threads=1)
        return np.zeros(1)

    contenders = {"one route": between, "up to three": alternatives}
    samples = take_turns(contenders, ROUNDS, close)
    samples = each(samples, dict.fromkeys(samples, count))
    yield line(
        f"{name}: a call for places", "one route", samples, network=name,
        with_alternatives=float(np.mean(np.array(found) > 1)),
    )  # fmt: skip


def along(graph: Graph, path: Any) -> float:
    """Return the length of a path of vertices, over the lightest of parallel edges."""
    total = 0.0
    for u, v in pairwise(path):
        total += float(graph.effective_weights[graph.edges_between(int(u), int(v))].min())
    return total


if __name__ == "__main__":
    answer(
        __doc__ or "", {"snapping": snapping, "tables": tables, "few": few, "large": large,
                        "nearest": nearest, "routes": routes},
        lambda part, row: None,
    )  # fmt: skip
