"""Graphs uploaded to the emulated device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nearfar import Graph
from nearfar.cuda import device_graph as module
from nearfar.cuda.device_graph import device_graph
from nearfar.generators import generate
from nearfar.system.devices import launching, runtime

pytestmark = pytest.mark.usefixtures("emulated_gpu")


def copies_arrive(graph: Graph) -> bool:
    """Return whether the records on the device are the graph's edges."""
    there = device_graph(graph)
    records = np.asarray(there.edges.get()).view(np.int32).reshape(-1, 2)
    return bool(
        np.array_equal(records[:, 0], graph.indices)
        and np.array_equal(records[:, 1], graph.weights)
        and np.array_equal(there.offsets.get(), graph.indptr)
    )


@pytest.mark.parametrize("fails", [False, True])
def test_the_first_upload_has_the_first_cooperative_launch_beside_it(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, ...]] = []

    def launch(*given: Any) -> None:
        seen.append(given)
        if fails:
            raise RuntimeError("no cooperative launches here")

    monkeypatch.setattr(runtime.cupy().cuda.driver, "launchCooperativeKernel", launch)
    monkeypatch.setattr(launching, "_cooperative", set())
    assert copies_arrive(generate("grid", rows=9, columns=7))
    assert len(seen) == 1
    assert copies_arrive(generate("grid", rows=5, columns=5))
    assert len(seen) == 1


def test_very_long_rows_have_wide_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels multiply up to twice the length of a row in the type of offsets."""
    star, path = generate("star", vertices=9), generate("path", vertices=9)
    assert module._types(star, False)[1] == module._types(path, False)[1] == np.int32
    monkeypatch.setattr(module, "_LONGEST", 5)
    assert module._types(star, False)[1] == np.int64
    assert module._types(path, False)[1] == np.int32
