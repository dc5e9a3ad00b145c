"""Small run of every CUDA variant for compute-sanitizer, under which it is slow.

``compute-sanitizer --tool memcheck python -m tests.gpu.sanitizer_suite`` (or ``initcheck``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import nearfar
from nearfar.cuda.graph import longer_edges
from nearfar.generators import generate
from nearfar.measures import betweenness, edge_loads, path_counts
from nearfar.papers.davidson_2014.near_far.options import TRAVERSALS
from nearfar.registry import Request, variants
from nearfar.solve.steps.plan import search_on_device
from nearfar.system.devices import runtime
from tests import oracle
from tests.zoo import ZOO, as_dtype

METHOD = "elimination_tree_rows@cuda"

# compute-sanitizer does not support launches from the device: it does not see the writes of child
# kernels, and initcheck reports their results as uninitialised memory.
OUT_OF_REACH = {"bellman_ford_child_launches@cuda"}
GRAPHS = ("skewed", "zero_cycle", "disconnected")


def main() -> None:
    runtime.cupy().cuda.set_allocator(None)  # a pool would hide reads past an array's end
    ran = 0
    for name in GRAPHS:
        for dtype in ("int32", "float64"):
            graph = as_dtype(ZOO[name](), dtype)
            want = oracle.dijkstra(graph, 0)
            for variant in variants(device="cuda", problem="sssp"):
                if variant.fits(graph, Request(device="cuda")) is not True:
                    continue
                if variant.id in OUT_OF_REACH:
                    continue
                slots = getattr(variant.options, "__slots__", ())
                fields = getattr(variant.options, "__dataclass_fields__", slots)
                choices: list[dict[str, Any]] = [{}]
                if "traversal" in fields:
                    choices = [{"traversal": traversal} for traversal in TRAVERSALS]
                elif "sort_rows" in fields:
                    choices += [{"sort_rows": True}, {"distance_bits": 8}, {"distance_bits": 16}]
                for options in choices:
                    paths = nearfar.sssp(graph, 0, method=variant.id, **options)
                    if not np.array_equal(paths.distances, want):
                        raise SystemExit(f"{variant.id} is wrong on {name}, {dtype}, {options}")
                    ran += 1
    print(f"{ran + shorter_graphs() + prepared_graphs() + shares()} solves")


def shorter_graphs() -> int:
    """Leave out longer edges."""
    made = generate("delaunay", vertices=500, seed=4)
    keys = 1 + made.tails(np.int64) * made.indices % 997
    ran = 0
    for dtype in ("int32", "float64"):
        for directed in (False, True):
            graph = nearfar.Graph(made.indptr, made.indices, keys.astype(dtype), directed=directed)
            found = longer_edges.without_longer(graph, search_on_device)
            if found is None:
                raise SystemExit("no longer edges are found")
            on_host = nearfar.Graph(found.indptr, found.indices, found.weights)
            if not np.array_equal(oracle.dijkstra(on_host, 0), oracle.dijkstra(graph, 0)):
                raise SystemExit(f"edges are missing, {dtype}")
            ran += 1
    return ran


def prepared_graphs(dtypes: tuple[str, ...] = ("int32", "float64")) -> int:
    """Run every form of query of a prepared graph."""
    cp = runtime.cupy()
    ran = 0
    for dtype in dtypes:
        graph = as_dtype(generate("grid", rows=13, columns=17), dtype)
        prepared = nearfar.prepare(graph, order="multilevel")
        truth = nearfar.all_pairs(prepared, method="elimination_tree_rows@cpu")
        weights = cp.asarray(graph.effective_weights)
        pairs = cp.asarray(np.random.default_rng(1).integers(0, graph.n_vertices, (500, 2)))
        wanted = truth[tuple(pairs.get().T)]
        for one in (prepared, prepared.reweight(weights), *prepared.reweight_each(weights[None])):
            for count in (40, graph.n_vertices):
                rows = nearfar.distances(one, range(count), method=METHOD)
                if not np.array_equal(runtime.download(cp.asarray(rows)), truth[:count]):
                    raise SystemExit(f"rows of a prepared graph are wrong, {dtype}")
                ran += 1
            if dtype == "int32":
                ran += reductions(graph, one)
            paths = one.paths_of_pairs(pairs.get(), device="cuda")
            for found_part, part in zip(paths, one.paths_of_pairs(pairs.get()), strict=True):
                if not np.array_equal(found_part, part):
                    raise SystemExit(f"paths of a prepared graph are wrong, {dtype}")
            ran += 1
            for asked in (one, one.label(device="cuda")):
                found = asked.distances_of_pairs(pairs).get()
                if not np.allclose(found, wanted, rtol=1e-12, atol=0):
                    raise SystemExit(f"pairs of a prepared graph are wrong, {dtype}")
                ran += 1
    return ran


def reductions(graph: nearfar.Graph, prepared: nearfar.Graph) -> int:
    """Run reductions of all vertices, and of some, without rows."""
    ran = 0
    for kind in ("summary", "nearest:3", ("histogram", (0.0, 9.0, 40.0))):
        for targets in (None, range(0, graph.n_vertices, 2)):
            given: dict[str, Any] = {"reduce": kind, "targets": targets}
            wanted = nearfar.distances(graph, range(140), device="cpu", **given)
            found = nearfar.distances(prepared, range(140), method=METHOD, **given)
            both = (found, wanted) if isinstance(wanted, tuple) else ([found], [wanted])
            for one, other in zip(*both, strict=True):
                if not np.array_equal(runtime.download(runtime.upload(one)), other):
                    raise SystemExit(f"{kind} of a prepared graph is wrong")
            ran += 1
    return ran


def shares() -> int:
    """Run betweenness and numbers of paths."""
    ran = 0
    graphs = [as_dtype(ZOO["grid"](), dtype) for dtype in ("unweighted", "int32", "float64")]
    graphs += [as_dtype(ZOO["dag_with_long_detours"](), "int32")]
    graphs += [ZOO["disconnected"]().without_weights()]
    for graph in graphs:
        sources = range(0, graph.n_vertices, 12)
        for edges in (False, True):
            found, wanted = (
                betweenness(graph, sources, edges=edges, device=device)
                for device in ("cuda", "cpu")
            )
            if not np.allclose(found, wanted, rtol=1e-12, atol=0):
                raise SystemExit("betweenness is wrong")
            ran += 1
        demand = (np.arange(20) % 5, np.arange(20) % graph.n_vertices, np.linspace(0.5, 9, 20))
        loads, wanted = (edge_loads(graph, demand, device=d).loads for d in ("cuda", "cpu"))
        if not np.allclose(loads, wanted, rtol=1e-12, atol=0):
            raise SystemExit("loads of edges are wrong")
        ran += 1
        counts = path_counts(graph, 0, device="cuda").mantissas
        if not np.array_equal(counts, path_counts(graph, 0, device="cpu").mantissas):
            raise SystemExit("numbers of paths are wrong")
        ran += 1
    return ran


if __name__ == "__main__":
    main()
