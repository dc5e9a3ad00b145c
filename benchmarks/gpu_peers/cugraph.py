"""cuGraph (RAPIDS): ``sssp``, and ``bfs`` for graphs without weights, through ``pylibcugraph``.

It is used if ``pylibcugraph-cu13`` is installed. Its graph is built twice beforehand: with the
given vertex numbers, and with its own numbering by degree. Memory comes from a pool. A whole call
counts, with the device synchronised before and after: the median of ten calls after a first one, or
of three if they are slow; a solve that takes more than five seconds runs only once. A solve tries
every form, and the fastest counts. Predecessors are part of every answer, because the library
always computes them. Weights are float32, so distances above 2^24 would be rounded.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nearfar.system.devices import runtime

from .forms import Forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nearfar.graph.graph import Graph

__all__ = ["CuGraph"]

_ROUNDS, _FEWEST = 10, 3
_ENOUGH = 1.0  # seconds of a form from which the minimum number of rounds is used
_LIMIT = 5.0  # seconds of all forms after which no solve is repeated and no form is tried
_POOL = 2**30  # initial bytes of the pool, which grows


class CuGraph(Forms):
    """Fastest form of cuGraph."""

    name = "cugraph"
    package = "pylibcugraph-cu13"

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self._handle: Any = None
        self._graphs: dict[str, Any] = {}
        self._levels = self._symmetric = False

    def available(self) -> Literal[True] | str:
        """Return whether it is installed."""
        answer = super().available()
        return True if answer is True else f"{self.package} is not installed"

    def takes(self, graph: Graph) -> Literal[True] | str:
        """Return whether ids fit 32 bits and weights are exact in float32."""
        if max(graph.n_vertices, graph.n_edges) >= 2**31 - 1:
            return "too many vertices or edges for 32-bit ids"
        if graph.max_weight > 2**24:
            return "float32 does not represent its weights"
        return super().takes(graph)

    def prepare(self, graph: Graph) -> None:
        """Build both graphs on the device."""
        import pylibcugraph
        import rmm

        self.n_vertices = graph.n_vertices
        self._levels, self._symmetric = graph.weights is None, not graph.directed
        pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=_POOL)
        rmm.mr.set_current_device_resource(pool)
        self._handle = pylibcugraph.ResourceHandle()
        offsets = runtime.upload(graph.indptr.astype(np.int32))
        targets = runtime.upload(graph.indices.astype(np.int32))
        weights = (
            None if self._levels else runtime.upload(graph.effective_weights.astype(np.float32))
        )
        kind = pylibcugraph.GraphProperties(is_symmetric=self._symmetric, is_multigraph=True)
        for form, renumber in (("as numbered", False), ("by degree", True)):
            try:
                self._graphs[form] = pylibcugraph.SGGraph(
                    self._handle,
                    kind,
                    offsets,
                    targets,
                    weight_array=weights,
                    renumber=renumber,
                    input_array_format="CSR",
                )
            except MemoryError as problem:
                raise RuntimeError(f"its graph does not fit the GPU's memory: {problem}") from None

    def _calls(self, source: int) -> dict[str, Callable[[], tuple[Any, Any, Any]]]:
        """Return the function to call for each form."""
        import pylibcugraph

        if not self._levels:
            return {
                form: partial(pylibcugraph.sssp, self._handle, graph, source, np.inf, True, False)
                for form, graph in self._graphs.items()
            }
        bfs, sources = pylibcugraph.bfs, runtime.upload(np.array([source], dtype=np.int32))
        return {
            form + turns: partial(bfs, self._handle, graph, sources, bool(turns), -1, True, False)
            for form, graph in self._graphs.items()
            for turns in (("", ", pulling") if self._symmetric else ("",))
        }

    def solve(self, source: int) -> Any:
        """Return the result of the fastest form."""
        self.forms, self.failed = {}, {}
        found, spent = {}, 0.0
        for form, call in self._calls(source).items():
            if spent > _LIMIT:
                self.failed[form] = f"left out after {spent:.0f} s of the others"
                continue
            samples: list[float] = []
            try:
                while len(samples) <= (_ROUNDS if sum(samples) < _ENOUGH else _FEWEST):
                    runtime.synchronize()
                    began = time.perf_counter()
                    found[form] = call()
                    runtime.synchronize()
                    samples.append(time.perf_counter() - began)
                    spent += samples[-1]
                    if spent > _LIMIT:
                        break
            except (RuntimeError, MemoryError) as problem:
                self.failed[form] = str(problem)
                continue
            self.forms[form] = statistics.median(samples[1:] or samples) * 1e3
        return found[self.fastest()]

    def distances(self, answer: Any) -> NDArray[np.float64]:
        """Return distances in the order of the vertices; the dtype's maximum is unreached."""
        found, vertices = answer[::2] if self._levels else (answer[1], answer[0])
        found, vertices = runtime.download(found), runtime.download(vertices)
        limits: Any = np.iinfo if found.dtype.kind == "i" else np.finfo
        values = np.full(self.n_vertices, np.inf)
        values[vertices] = np.where(found >= limits(found.dtype).max, np.inf, found)
        return values

    def close(self) -> None:
        """Free its graphs and its pool."""
        if self._handle is not None:
            import rmm

            self._graphs.clear()
            self._handle = None
            rmm.mr.set_current_device_resource(rmm.mr.CudaMemoryResource())
