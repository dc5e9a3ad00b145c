"""Integer weights in other dtypes, solved in int32 on the device: every size and bound."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances.integer_weights import in_int32
from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import to_host


@pytest.mark.parametrize("scale", [1, 2**12, 2**22])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_same_answers_as_with_the_weights_as_given(dtype: str, scale: int) -> None:
    for made in (
        generate("road_like", vertices=30_000),
        generate("kronecker", scale=13),
        generate("uniform_random", vertices=1000, degree=200),
    ):
        weights = (np.asarray(made.weights).astype(np.int64) * scale).astype(dtype)
        graph = Graph.from_csr(made.indptr, made.indices, weights, directed=made.directed)
        there = Graph.from_csr(
            *map(runtime.upload, (graph.indptr, graph.indices, weights)), directed=made.directed
        )
        sources = [int(np.argmax(graph.degrees)), 7, 500, 501]
        want = nearfar.distances(graph, sources, method="worker_per_source", device="cpu")
        for _ in range(3):
            rows = nearfar.distances(there, sources)
            assert rows.dtype == dtype
            np.testing.assert_array_equal(to_host(rows), want)
            paths = nearfar.sssp(there, sources[0])
            assert paths.distances.dtype == dtype
            np.testing.assert_array_equal(to_host(paths.distances), want[0])
        solved = in_int32(there) is not None
        assert solved == ("solved in int32" in paths.reason)
        assert solved or scale > 1
