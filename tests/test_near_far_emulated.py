"""The one-launch engine's logic on the emulated device: steps, overflow, watchdog, early stops."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar

from . import oracle
from .zoo import DTYPES, ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("local_limit", [0, None], ids=["grid", "local"])
def test_zoo(dtype: str, local_limit: int | None) -> None:
    for name in ("zero_cycle", "grid", "skewed", "complete", "wide_weights", "disconnected"):
        graph = as_dtype(ZOO[name](), dtype)
        paths = nearfar.sssp(
            graph, 0, method="near_far@cuda", predecessors=True, local_limit=local_limit
        )
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        nearfar.verify(graph, paths)


def test_queues_that_overflow_are_found_again() -> None:
    graph = ZOO["complete"]()
    paths = nearfar.sssp(graph, 0, method="near_far@cuda", queue_factor=1.0, delta=1e9)
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
