"""A small run of every CUDA variant for compute-sanitizer (slow under it, so few graphs).

``compute-sanitizer --tool memcheck python -m tests.gpu.sanitizer_suite`` (or ``initcheck``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import nearfar
from nearfar.algorithms.near_far.options import TRAVERSALS
from nearfar.generators import generate
from nearfar.registry import Request, variants
from nearfar.system.devices import runtime
from tests import oracle
from tests.zoo import ZOO, as_dtype

# compute-sanitizer says of itself that it does not support launches from the device: it does not
# see what the children write, and initcheck takes their results for uninitialised memory.
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
    print(f"{ran + prepared_graphs()} solves")


def prepared_graphs() -> int:
    """Every form of query of a prepared graph."""
    cp = runtime.cupy()
    ran = 0
    for dtype in ("int32", "float64"):
        graph = as_dtype(generate("grid", rows=13, columns=17), dtype)
        prepared = nearfar.prepare(graph)
        truth = nearfar.all_pairs(graph, device="cpu")
        weights = cp.asarray(graph.effective_weights)
        pairs = cp.asarray(np.random.default_rng(1).integers(0, graph.n_vertices, (500, 2)))
        wanted = truth[tuple(pairs.get().T)]
        for one in (prepared, prepared.reweight(weights), *prepared.reweight_each(weights[None])):
            for count in (40, graph.n_vertices):
                rows = nearfar.distances(one, range(count), method="elimination_tree_rows@cuda")
                if not np.array_equal(runtime.download(cp.asarray(rows)), truth[:count]):
                    raise SystemExit(f"rows of a prepared graph are wrong, {dtype}")
                ran += 1
            for asked in (one, one.label(device="cuda")):
                found = asked.distances_of_pairs(pairs, exact=False).get()
                if not np.allclose(found, wanted, rtol=1e-12, atol=0):
                    raise SystemExit(f"pairs of a prepared graph are wrong, {dtype}")
                ran += 1
    return ran


if __name__ == "__main__":
    main()
