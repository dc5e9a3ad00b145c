"""Measure the time of each kernel of the papers' methods on a GPU.

``python benchmarks/kernel_times.py -o benchmarks/results/kernel_times.json`` runs, for each
question of the pages in docs/reproduction, the methods concerned: three times without
instrumentation for the time, once with every launch measured (:mod:`nearfar.cuda.kernel_times`).
Every answer is compared with a proven one. ``--parts`` selects questions and leaves the others in
the file unchanged; ``--scale tiny`` tests the script.

johnson   cost of flags, queue and prefix sum, on the paper's graphs and on larger ones
lists     savings by staging row bounds and flags on Martin's graphs
matrices  cost of an atomic, a plain store, and the read before either in the relax step
ortega    share of a solve that is launches and waits
davidson  reorganisation in Bucketing; narrower buckets; additional launch for load balancing
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from in_parts import answer
from nearfar.cuda.device_graph import C_NAMES
from nearfar.cuda.kernel_times import kernel_times
from nearfar.cuda.loops.settle import Criterion, Settle, Steps, settle_loop
from nearfar.generators import generate
from nearfar.graph.delta import paper_delta
from nearfar.graph.graph import Graph
from nearfar.lab.bench.cases import case, proven
from nearfar.lab.bench.suite import draw_sources
from nearfar.lab.experiments.solving import hub
from nearfar.options import LaunchOptions, build_options
from nearfar.papers.davidson_2014 import graphs as davidson_graphs
from nearfar.papers.johnson_apsp import graphs as johnson_graphs
from nearfar.papers.martin_2009.frontier.dense import dense_matrix
from nearfar.papers.ortega_arranz_2015 import graphs as ortega_graphs
from nearfar.papers.ortega_arranz_2015.run import DEFAULT_SHAPE
from nearfar.registry import Answer, Workspace, registered
from nearfar.system.devices import compiler, launching, runtime

ROUNDS = 3
PATIENCE = 0.5  # seconds; a slower solve is timed once
Run = Callable[[], Answer]


def measure(what: dict[str, Any], graph: Graph, truth: Any, run: Run) -> dict[str, Any]:
    """Measure one method on one graph: total seconds, seconds per kernel, and correctness."""
    samples: list[float] = []
    right = True
    for _ in range(ROUNDS + 1):
        timer = runtime.Timer().start()
        answer = run()
        took = timer.stop().seconds
        samples.append(float(answer.stats.get("device_seconds", took)))
        right = right and same(answer.distances, truth)
        if len(samples) == 2 and samples[1] > PATIENCE:
            break
    seconds = samples[1:]  # the first solve may include compilation
    with kernel_times() as times:
        answer = run()
    kernels = {
        name: {"launches": one.launches, "seconds": one.seconds}
        for name, one in times.found.items()
    }
    counts = ("iterations", "edges_relaxed", "vertices_processed")
    return {
        **what,
        "n": graph.n_vertices,
        "m": graph.n_edges,
        "seconds": statistics.median(seconds),
        "samples": seconds,
        "counters": {k: answer.stats[k] for k in counts if k in answer.stats},
        "kernels": kernels,
        "gap_seconds": times.gap,
        "right": right,
    }


def same(distances: Any, truth: Any) -> bool:
    """Return whether an answer, on the host or the device, is the proven one."""
    host = distances if isinstance(distances, np.ndarray) else runtime.download(distances)
    return bool(np.array_equal(host.reshape(truth.shape), truth))


def solver(graph: Graph, source: int, identity: str, **options: Any) -> Run:
    """Return a function that runs a registered single-source method."""
    one = case(identity, identity, **options)
    return lambda: one.variant.run(graph, source, one.options, Workspace())


# --- the questions -----------------------------------------------------------------------------


def johnson(scale: str) -> Iterator[dict[str, Any]]:
    """Measure flag, queue and prefix sum on the paper's graphs, and on larger ones."""
    graphs: dict[str, Callable[[], Graph]] = {}
    if scale == "paper":
        for key, (name, _, _) in johnson_graphs.GRAPHS.items():
            if name is not None:
                graphs[key] = lambda name=name: johnson_graphs.load(name)
    for power in (19, 21, 22) if scale == "paper" else (9,):
        graphs[f"2^{power} vertices"] = lambda power=power: generate(
            "uniform_random", vertices=1 << power, degree=12, low=1, high=100, seed=1
        )
    for name, make in graphs.items():
        graph = make()
        source = draw_sources(graph, 1)[0]
        truth = proven(graph, [source])[source]
        for form in ("flag", "queue", "prefix"):
            variant = registered(f"johnson_{form}@cuda")
            assert variant is not None
            options = build_options(variant.options, {}, variant.id)
            sources = np.array([source])
            yield measure(
                {"graph": name, "label": form},
                graph,
                truth,
                lambda v=variant, o=options, g=graph, s=sources: v.run(g, s, o, Workspace()),
            )


#: Ways in which relax_rows stores a sum: the kernel, and the replacement of its atomic branch.
STORES = {
    "atomic": ("relax_rows", "atomic_minimum(target, sum);"),
    "read, then atomic": ("relax_rows", "if (sum < *target) atomic_minimum(target, sum);"),
    "read, then plain store": ("relax_rows_no_atomics", "atomic_minimum(target, sum);"),
    "plain store, never read": ("relax_rows", "*target = sum;"),
}
_ATOMIC = "atomic_minimum(target, sum);"


def stored(graph: Graph, source: int, matrix: Any, kernel: str, text: str) -> Run:
    """Return F-GPU on a matrix with another way to store sums."""
    files = ("papers/martin_2009/frontier/frontier.cuh", "papers/martin_2009/frontier/matrix.cuh")
    original = compiler.assemble(files)
    if original.count(_ATOMIC) != 1:
        raise SystemExit("matrix.cuh has changed: update the text to replace")
    macros = {"INDEX_T": "int", "OFFSET_T": "long long", "WEIGHTED": 1}
    macros |= {"WEIGHT_T": C_NAMES[graph.weight_dtype.name]}
    here = runtime.device()
    options = compiler.options_for(here.arch, macros, original)
    code = compiler.compile_kernel(files[-1], original.replace(_ATOMIC, text), options)
    program = launching.Program(runtime.cupy(), code, here.multiprocessors, files, macros)

    def run() -> Answer:
        settle = Settle(program, graph, source, LaunchOptions(), "frontier_matrix_successors")
        criterion = Criterion()
        relax = settle.relax(kernel, matrix=matrix, shared_per_thread=1)
        steps = Steps(relax, settle.minimum(criterion), settle.update(criterion))
        return settle_loop(settle, steps, Workspace())

    return run


def matrices(scale: str) -> Iterator[dict[str, Any]]:
    """Measure the relax step on matrices with atomics and without."""
    for n in (3_072, 8_192, 15_360) if scale == "paper" else (64,):
        graph = generate("martin_matrix", vertices=n, seed=1)
        source = int(np.flatnonzero(graph.degrees)[0])
        truth = proven(graph, [source])[source]
        what = {"graph": f"matrix {n:,}"}
        run = solver(graph, source, "frontier_matrix_predecessors@cuda")
        yield measure({**what, "label": "U-GPU"}, graph, truth, run)
        matrix = runtime.upload(dense_matrix(graph))
        for label, (kernel, text) in STORES.items():
            run = stored(graph, source, matrix, kernel, text)
            yield measure({**what, "label": label}, graph, truth, run)


def lists(scale: str) -> Iterator[dict[str, Any]]:
    """Measure U-GPU and U-GPU-PLUS, which differ in reading row bounds and flags."""
    for n in (1 << 20, 8 << 20) if scale == "paper" else (256,):
        graph = generate("martin", vertices=n, seed=1)
        source = int(np.flatnonzero(graph.degrees)[0])
        truth = proven(graph, [source])[source]
        for label, idea in (
            ("U-GPU", "frontier_predecessors"),
            ("U-GPU-PLUS", "frontier_predecessors_plus"),
        ):
            run = solver(graph, source, f"{idea}@cuda")
            yield measure({"graph": f"martin {n:,}", "label": label}, graph, truth, run)


def ortega(scale: str) -> Iterator[dict[str, Any]]:
    """Measure Martin's and Crauser's successors on graphs with few and with many iterations."""
    wanted: list[dict[str, Any]] = [
        {"kind": "random", "vertices": n, "degree": d, "seed": 1}
        for n, d in (
            ((24_576, 2), (98_304, 20), (98_304, 2_000)) if scale == "paper" else ((64, 2),)
        )
    ]
    if scale == "paper":
        wanted.append({"kind": "martin", "vertices": 4 << 20, "seed": 1})
    for what in wanted:
        graph = ortega_graphs.graph_of(what, scale)
        source = draw_sources(graph, 1)[0]
        truth = proven(graph, [source])[source]
        name = " ".join(str(v) for k, v in what.items() if k != "seed")
        for label in ("frontier_successors", "crauser_successors"):
            run = solver(graph, source, f"{label}@cuda", **DEFAULT_SHAPE)
            yield measure({"graph": name, "label": label}, graph, truth, run)


def davidson(scale: str) -> Iterator[dict[str, Any]]:
    """Measure Near-Far by two traversals, Bucketing, and Bucketing with narrower buckets."""
    for name in ("road-cal", "delaunay", "circuit"):
        paper = davidson_graphs.GRAPHS[name]
        graph = paper.make(paper.vertices if scale == "paper" else 64)
        source = hub(graph)
        truth = proven(graph, [source])[source]
        delta = float(paper_delta(graph))
        every: list[tuple[str, str, dict[str, Any]]] = [
            ("Bellman-Ford", "bellman_ford@cuda", {}),
            ("Near-Far, thread", "near_far_host_loop@cuda", {"traversal": "thread"}),
            ("Near-Far, load balanced", "near_far_host_loop@cuda", {"traversal": "load_balanced"}),
            ("Bucketing", "bucketing@cuda", {}),
        ]
        if paper.kind != "road":  # roads take tens of thousands of iterations
            every += [
                (
                    f"Bucketing, delta / {part}",
                    "bucketing@cuda",
                    {"delta": max(round(delta / part), 1)},
                )
                for part in (2, 10)
            ]
        for label, identity, options in every:
            run = solver(graph, source, identity, **options)
            yield measure({"graph": name, "label": label}, graph, truth, run)


PARTS = {
    "johnson": johnson,
    "lists": lists,
    "matrices": matrices,
    "ortega": ortega,
    "davidson": davidson,
}


def main() -> None:
    """Measure, print, write."""
    began = time.monotonic()

    def show(part: str, row: dict[str, Any]) -> None:
        kernels = {k: round(v["seconds"] * 1e6) for k, v in row["kernels"].items()}
        print(
            f"{time.monotonic() - began:6.1f} s {part} {row['graph']} {row['label']}: "
            f"{row['seconds'] * 1e3:.3f} ms, right {row['right']}, "
            f"{row['counters'].get('iterations')} iterations, us by kernel {kernels}",
            flush=True,
        )

    answer((__doc__ or "").splitlines()[0], PARTS, show)


if __name__ == "__main__":
    main()
