"""Paths of many pairs: the edges that single paths have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import OptionError, UnreachableError, VertexError
from nearfar.prepared.pairs import PairPaths
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_graphs(dtype: Any, negative: bool) -> None:
    """Directed, in pieces, with loops and parallel edges; pairs of one vertex; no pairs."""
    rng = np.random.default_rng(1)
    for n, m, count in [(1, 0, 3), (9, 0, 9), (70, 120, 77), (60, 200, 77), (60, 200, 0)]:
        graph = random_graph(rng, n, m, dtype, negative=negative and n > 9)
        prepared = nearfar.prepare(graph, force=True)
        pairs = rng.integers(0, n, (count, 2))
        found = prepared.paths_of_pairs(pairs, threads=2)
        assert found.offsets.dtype == np.int64
        assert found.edges.dtype == np.int32
        assert found.offsets[0] == 0
        assert found.offsets[-1] == len(found.edges)
        assert len(found.offsets) == count + 1 == len(found.reached) + 1
        for i, (source, target) in enumerate(pairs.tolist()):
            edges = found.edges[found.offsets[i] : found.offsets[i + 1]]
            if found.reached[i]:
                np.testing.assert_array_equal(edges, prepared.path_edges(source, target))
                continue
            assert len(edges) == 0
            with pytest.raises(UnreachableError):
                prepared.path_edges(source, target)


@pytest.mark.usefixtures("emulated_gpu")
def test_arrays_stay_where_they_are() -> None:
    prepared = nearfar.prepare(nearfar.generate("grid", rows=12, columns=9), force=True)
    pairs = np.array([[3, 100], [9, 9]])
    found = prepared.paths_of_pairs(runtime.cupy().asarray(pairs))
    assert all(runtime.is_device_array(part) for part in found)
    wanted = prepared.paths_of_pairs(pairs)
    for one, other in zip(PairPaths(*map(runtime.download, found)), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_refusals() -> None:
    prepared = nearfar.prepare(nearfar.generate("grid", rows=12, columns=9), force=True)
    with pytest.raises(VertexError):
        prepared.paths_of_pairs([(0, 108)])
    with pytest.raises(OptionError):
        prepared.paths_of_pairs(np.zeros((2, 3), np.int64))
