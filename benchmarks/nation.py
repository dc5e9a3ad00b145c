"""Measure preparing a country on all cores, step by step, and queries on it.

    python benchmarks/nation.py -o benchmarks/results/nation.json [--parts preparing] [--scale tiny]

Preparing is measured in the first call, on fresh memory, as users experience it. Queries are
compared with searches. Orders are also measured on New York, if its file is available
(``NEARFAR_DATA``), and compared with METIS if it is installed.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import nearfar
from in_parts import Rows, answer
from nearfar import Graph, Prepared
from nearfar.graph.dtypes import unreached_value
from nearfar.lab.bench.suite import data_file
from nearfar.prepared.order.elimination import elimination_order, structure_of
from nearfar.prepared.order.tree import analyse
from nearfar.system.threads import default_threads
from prepared_graphs import metis_order

SIZES = {"paper": 5_000_000, "tiny": 3_000}
LARGEST = {"paper": 24_000_000, "tiny": 4_000}
PAIRS = 300


@cache
def country(vertices: int) -> Graph:
    """Generate roads of a country."""
    return nearfar.generate("country_roads", vertices=vertices, seed=1)


@cache
def ready(vertices: int) -> Prepared:
    """Prepare the country's roads on all cores."""
    return nearfar.prepare(country(vertices))


def preparing(scale: str) -> Rows:
    """Return the seconds of every step of preparing, on all cores and on one."""
    graph = country(SIZES[scale])
    for threads in (default_threads(), 1):
        began = time.perf_counter()
        made = ready(SIZES[scale]) if threads > 1 else nearfar.prepare(graph, threads=1)
        yield steps(made, threads, time.perf_counter() - began)


def largest(scale: str) -> Rows:
    """Return the same of a larger country, on all cores."""
    graph = country(LARGEST[scale])
    began = time.perf_counter()
    made = nearfar.prepare(graph)
    yield steps(made, default_threads(), time.perf_counter() - began)


def steps(made: Prepared, threads: int, seconds: float) -> dict[str, Any]:
    """Return the steps of preparing, and its result, as plain data."""
    figures = made.preparation.figures
    return {
        "vertices": made.n_vertices,
        "edges": made.n_edges,
        "threads": threads,
        "seconds": seconds,
        "steps": made.seconds,
        "arcs": figures.n_arcs,
        "triangles": figures.n_triangles,
        "height": figures.height,
        "bytes": made.nbytes,
        "label_bytes": made.label_bytes,
    }


def orders(scale: str) -> Rows:
    """Compare nearfar's order, on all cores and on one, with METIS's, which uses one core."""
    networks = {"country": country(1_000_000 if scale == "paper" else SIZES[scale])}
    try:
        networks["New York"] = nearfar.read(data_file("dimacs9-road/USA-road-d.NY.gr.xz"))
    except nearfar.MissingDependencyError as error:
        print(error)
    for name, graph in networks.items():
        structure = structure_of(graph)
        runs = [("multilevel", default_threads()), ("multilevel", 1)]
        if importlib.util.find_spec("pymetis"):
            runs.append(("metis", 1))
        for method, threads in runs:
            began = time.perf_counter()
            if method == "metis":
                order = metis_order(structure)
            else:
                order, _ = elimination_order(structure, threads=threads)
            seconds = time.perf_counter() - began
            figures = analyse(graph, structure, order)[1]
            yield {
                "graph": name,
                "vertices": graph.n_vertices,
                "order": method,
                "threads": threads,
                "seconds": seconds,
                "arcs": figures.n_arcs,
                "triangles": figures.n_triangles,
                "height": figures.height,
            }


def microseconds(ask: Callable[[int, int], Any], pairs: list[tuple[int, int]]) -> dict[str, float]:
    """Return median and least over rounds of all pairs, in microseconds per pair."""
    rounds = []
    for _ in range(6):
        began = time.perf_counter()
        for source, target in pairs:
            ask(source, target)
        rounds.append(1e6 * (time.perf_counter() - began) / len(pairs))
    return {"median": float(np.median(rounds[1:])), "least": min(rounds)}


def queries(scale: str) -> Rows:
    """Measure queries of one pair at a time, from Python."""
    for vertices in (1_000_000, SIZES[scale]) if scale == "paper" else (SIZES[scale],):
        graph, made = country(vertices), ready(vertices)
        drawn = np.random.default_rng(4).integers(0, graph.n_vertices, (PAIRS, 2))
        pairs = [(int(source), int(target)) for source, target in drawn]
        right = all(
            made.distance(source, target) == nearfar.shortest_path(graph, source, target)[1]
            for source, target in pairs[:3]
        )
        edges = float(np.mean([len(made.path_edges(*pair)) for pair in pairs]))

        def alternatives(source: int, target: int, made: Prepared = made) -> Any:
            return nearfar.routes(made, source, target, 3, parts="all")

        def choice(source: int, target: int, made: Prepared = made) -> Any:
            return nearfar.routes(
                made, source, target, 1000, stretch=1.5, sharing=1, local=0.01, parts="all"
            )

        distinct = [len({one.edges.tobytes() for one in choice(*pair)}) for pair in pairs[:20]]
        yield {
            "vertices": graph.n_vertices,
            "right": right,
            "edges_of_a_path": edges,
            "microseconds": {
                "distance": microseconds(made.distance, pairs),
                "path_edges": microseconds(made.path_edges, pairs),
                "path": microseconds(made.path, pairs),
                "up to three routes": microseconds(alternatives, pairs[:50]),
                "up to 1,000 routes": microseconds(choice, pairs[:20]),
            },
            "distinct_routes_of_1000": distinct,
        }


def scenarios(scale: str) -> Rows:
    """Measure two hundred changed edges, and the first answer, in milliseconds."""
    for vertices in (264_000, 1_000_000) if scale == "paper" else (SIZES[scale],):
        made = ready(vertices)
        rng = np.random.default_rng(5)
        drawn = [rng.choice(made.n_edges, 200, replace=False) for _ in range(10)]
        calls: dict[str, Callable[[Any], Any]] = {
            "closed": lambda edges, made=made: made.scenario(closed=edges[:100]),
            "slower": lambda edges, made=made: made.scenario(factor=[(edges[:100], 1.3)]),
            "closed and slower": lambda edges, made=made: made.scenario(
                closed=edges[:100], factor=[(edges[100:], 1.3)]
            ),
            "closed, one core": lambda edges, made=made: made.scenario(
                closed=edges[:100], threads=1
            ),
        }
        found = {}
        for name, call in calls.items():
            times = []
            for edges in drawn:
                began = time.perf_counter()
                changed = call(edges).changed
                times.append(1e3 * (time.perf_counter() - began))
            found[name] = {"median": float(np.median(times[1:])), "least": min(times)}
        again = nearfar.prepare(Graph.from_csr(
            changed.indptr, changed.indices, changed.weights
        ), made.preparation.tree.vertex)  # fmt: skip
        pairs = rng.integers(0, made.n_vertices, (200, 2))
        yield {
            "vertices": made.n_vertices,
            "milliseconds": found,
            "right": bool(np.array_equal(
                changed.distances_of_pairs(pairs), again.distances_of_pairs(pairs)
            )),
        }  # fmt: skip


def unreached_to_inf(row: Any) -> Any:
    """Return distances as float64, infinite where unreached."""
    return np.where(row == unreached_value(row.dtype), np.inf, row.astype(np.float64))


def tables(scale: str) -> Rows:
    """Measure tables of 1,000 x 1,000 for integers and floats, in milliseconds."""
    made = ready(SIZES[scale])
    rng = np.random.default_rng(6)
    sources, targets = rng.integers(0, made.n_vertices, (2, 1000))
    floats = made.effective_weights / 3.0
    for dtype in ("int32", "int64", "float32", "float64"):
        kind = made.astype(dtype) if dtype[0] == "i" else made.reweight(floats.astype(dtype))
        samples, table = [], np.empty((1000, 1000), kind.weight_dtype)
        for _ in range(6):
            began = time.perf_counter()
            nearfar.distances(kind, sources, targets=targets, out=table, device="cpu")
            samples.append(1e3 * (time.perf_counter() - began))
        # In float64, since a search in float32 is less exact than the table.
        wide = kind.effective_weights.astype(np.float64)
        plain = Graph.from_csr(kind.indptr, kind.indices, wide)
        searched = nearfar.sssp(plain, int(sources[0])).distances[targets]
        yield {
            "vertices": made.n_vertices,
            "dtype": dtype,
            "threads": default_threads(),
            "first_ms": samples[0],
            "median_ms": float(np.median(samples[1:])),
            "right": bool(np.allclose(unreached_to_inf(table[0]), searched, rtol=1e-6)),
        }


def main() -> None:
    """Measure the parts that the command line names."""
    answer(
        __doc__ or "",
        {"preparing": preparing, "orders": orders, "queries": queries, "scenarios": scenarios,
         "tables": tables, "largest": largest},
        lambda part, row: print(part, row, flush=True),
    )  # fmt: skip


if __name__ == "__main__":
    main()
