"""Johnson's method on CUDA with the paper's three inner forms, one source after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.algorithms.johnson.cpu import fits_shifted, shift_rows, shifted
from nearfar.cuda.device_graph import device_graph
from nearfar.graph.dtypes import unreached_value
from nearfar.options import NoOptions
from nearfar.registry import Answer, Request, Workspace, variant
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph

_KERNELS = "papers/johnson_apsp/johnson/inner.cuh"
_BLOCK = 256
Form = Literal["flag", "queue", "prefix"]


def _fits(graph: Graph, request: Request) -> Literal[True] | str:
    if graph.n_vertices > 2**31 - 2**16:
        return "the prefix sum counts in 32 bits"
    return fits_shifted(graph, request)


class _Inner:
    """Device arrays and prepared launches of the inner Dijkstra on a reweighted graph."""

    def __init__(self, graph: Graph, h: NDArray[Any], form: Form) -> None:
        cp = runtime.cupy()
        base = device_graph(graph)
        self.n, self.form = base.n, form
        weight = base.weight_dtype
        runtime.require_memory(base.m * base.record + self.n * (2 * weight.itemsize + 14))
        self.edges = base.edges.copy()
        self.distance = cp.empty(self.n, dtype=weight)
        self.lightest = cp.empty(self.n, dtype=weight)
        self.unsettled = cp.empty(self.n, dtype=np.uint8)
        self.frontier = cp.empty(self.n, dtype=np.uint8)
        self.queue = cp.empty(self.n, dtype=base.vertex_dtype)
        self.mark = cp.empty(self.n, dtype=np.int32)
        self.state = cp.empty(1, dtype=weight)
        self.count = cp.zeros(1, dtype=np.uint32)
        self.none = unreached_value(weight)
        self._prepare(base, cp.asarray(h))

    def _prepare(self, base: DeviceGraph, h: Any) -> None:
        program = runtime.program(_KERNELS, base.macros)
        grid, n = runtime.device().multiprocessors * 8, np.int64(self.n)
        arrays = {
            "offsets": base.offsets,
            "edges": self.edges,
            "h": h,
            "n": n,
            "source": np.int64(0),
            "place": None,
        }
        held = ("distance", "lightest", "unsettled", "frontier", "queue", "mark", "state", "count")
        arrays |= {name: getattr(self, name) for name in held}

        def launch(name: str, **others: Any) -> runtime.Launch:
            kernel, given = program.kernel(name), {**arrays, **others}
            arguments = {name: given[name] for name in kernel.parameters}
            return runtime.Launch(kernel, grid, _BLOCK, arguments)

        launch("reweight")()
        launch("lightest_edges")()
        self.start = launch("start_inner")
        self.relax = launch("relax_flags" if self.form == "flag" else "relax_queue")
        self.minimum = launch("minimum_threshold")
        self.update_flags = launch("update_flags")
        self.update_queue = launch("update_queue")
        self.mark_next = launch("mark_next")

        def place(sums: Any) -> None:
            launch("update_prefix", place=sums)()

        self.place = place

    def solve(self, source: int) -> int:
        """Write shifted distances from one source into ``distance``; return the iterations."""
        cp = runtime.cupy()
        self.start.set(source=np.int64(source))
        self.start()
        iterations = 0
        while True:
            iterations += 1
            self.relax()
            self.minimum()
            if self.state.get()[0] == self.none:
                return iterations
            if self.form == "flag":
                self.update_flags()
            elif self.form == "queue":
                self.update_queue()
            else:
                self.mark_next()
                self.place(cp.cumsum(self.mark, dtype=np.int32))


def _solve(graph: Graph, sources: NDArray[np.int64], workspace: Workspace, form: Form) -> Answer:
    plan = shifted(graph)
    n, dtype = graph.n_vertices, plan.base.weight_dtype
    floating = dtype.kind == "f"
    columns = None if floating else workspace.columns
    every = np.arange(n, dtype=np.int64) if columns is None else columns
    rows = np.empty((len(sources), len(every)), dtype=dtype)
    stats: dict[str, Any] = {"iterations": 0, "inner": form}
    if n and len(sources):
        timer = runtime.Timer().start()
        # Without weights no shift is needed: every edge counts 1.
        weighted = plan.base if plan.base.is_weighted else plan.graph
        inner = _Inner(weighted, plan.potentials, form)
        picked = None if columns is None else runtime.cupy().asarray(columns)
        for row, source in enumerate(sources):
            stats["iterations"] += inner.solve(int(source))
            found = inner.distance if picked is None else inner.distance[picked]
            rows[row] = runtime.download(found)
        stats["device_seconds"] = timer.stop().seconds
    stats["saturated"] = False
    return Answer(shift_rows(plan, rows, sources, workspace, stats), stats)


def _register(form: Form, section: str, summary: str) -> Any:
    @variant(
        f"johnson_{form}",
        device="cuda",
        problems={"batch", "all_pairs"},
        weights="any",
        options=NoOptions,
        requires=_fits,
        paper="johnson-cuda",
        section=section,
        summary=summary,
        complexity="O(n m + k n * iterations)",
    )
    def solve(
        graph: Graph, sources: NDArray[np.int64], options: NoOptions, workspace: Workspace
    ) -> Answer:
        """Run the paper's method, one source after the other."""
        return _solve(graph, sources, replace(workspace, limit=None), form)

    return solve


johnson_flag = _register(
    "flag", "5.3, Algorithms 5-7", "inner parallel Dijkstra with flags for the frontier"
)
johnson_queue = _register(
    "queue", "5.3, Algorithms 8-9", "inner parallel Dijkstra with a queue filled by atomics"
)
johnson_prefix = _register(
    "prefix", "5.3, Algorithm 10", "inner parallel Dijkstra with a queue placed by a prefix sum"
)
