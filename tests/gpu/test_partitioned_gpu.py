"""One source over all available devices, against the CPU and against its own proof."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar.algorithms.near_far.partitioned import Partitioned
from nearfar.cuda.graph.kronecker_rows import kronecker_rows
from nearfar.system.devices import runtime


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", None])
@pytest.mark.parametrize("parts", [None, 3])
def test_partitioned_distances_are_right(dtype: str | None, parts: int | None) -> None:
    for graph in (
        nearfar.generate("kronecker", scale=12, weight_dtype=dtype),
        nearfar.generate("uniform_random", vertices=5000, degree=8, weight_dtype=dtype),
    ):
        want = nearfar.sssp(graph, 7, device="cpu")
        for turn in range(20):
            found = nearfar.sssp(
                graph, 7, method="near_far_partitioned", device="cuda", parts=parts, delta=2.0**turn
            )
            np.testing.assert_array_equal(runtime.download(found.distances), want.distances)


def test_rows_made_on_all_devices_are_solved_and_proven() -> None:
    devices = list(range(runtime.device_count()))
    parted = Partitioned(kronecker_rows(14, devices * 2), 1 << 14, symmetric=True)
    graph = nearfar.generate("kronecker", scale=14)
    for source in (1, 77, 9000):
        parted.solve(source, 64.0)
        want = nearfar.sssp(graph, source, device="cpu")
        np.testing.assert_array_equal(runtime.download(parted.distances()), want.distances)
        if graph.degrees[source]:
            assert parted.prove(source) == 0
        steps = parted.solve(source, 64.0, full=True)
        assert len(steps["kind"]) == steps["iterations"]
        np.testing.assert_array_equal(runtime.download(parted.distances()), want.distances)
