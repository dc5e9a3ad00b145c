"""Adapter of nearfar itself, measured through its public functions as its peers are."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import nearfar
from nearfar.answer.paths import Paths
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer
from nearfar.registry import Request, find


class Nearfar(Peer):
    """``nearfar.sssp`` on the CPU."""

    name = "nearfar"
    parallel = True

    def __init__(self, threads: int = 1, method: str = "auto", **options: Any) -> None:
        super().__init__(threads)
        self.method = method
        self.options = options
        self.engine = ""

    @property
    def label(self) -> str:
        """Name in tables."""
        what = "nearfar" if self.method == "auto" else self.method
        return f"{what} ({self.threads} thr)"

    def version(self) -> str:
        """Return the version of this library."""
        return nearfar.__version__

    def takes(self, graph: Graph) -> Literal[True] | str:
        """Return whether the method supports this graph."""
        if self.method == "auto":
            return True
        reasons = [
            v.can_run(graph, Request(device="cpu", threads=self.threads))
            for v in find(self.method, "cpu")
        ]
        return True if True in reasons else "; ".join(str(r) for r in reasons)

    def prepare(self, graph: Graph) -> None:
        """Keep the graph; edges are packed by the warm-up."""
        self.graph = graph

    def solve(self, source: int) -> Paths:
        """Run ``nearfar.sssp``."""
        paths = nearfar.sssp(
            self.graph,
            source,
            method=self.method,
            device="cpu",
            threads=self.threads,
            **self.options,
        )
        self.engine = paths.engine
        return paths

    def distances(self, answer: Paths) -> NDArray[np.float64]:
        """Return the distances with inf for the unreached."""
        values = answer.distances
        out: NDArray[np.float64] = values.astype(np.float64)
        out[values == unreached_value(values.dtype)] = np.inf
        return out
