"""Float rows get the least left-to-right sums, bit for bit, however inexact the input is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar import Graph, _cpu
from tests.strategies import graphs

FLOATS = ("float32", "float64")


def polished(graph: Graph, sources: Any, rows: np.ndarray, shift: Any = None) -> np.ndarray:
    rows = rows.copy()
    assert _cpu.polish_rows(graph.view, np.asarray(sources, np.int64), rows, shift, 2) == []
    return rows


def searched(graph: Graph, sources: Any) -> np.ndarray:
    found = [nearfar.sssp(graph, int(s), method="bellman_ford").distances for s in sources]
    return np.stack(found)


def same_bits(found: np.ndarray, want: np.ndarray) -> None:
    assert found.tobytes() == want.tobytes()


def lattice(weights: Any, side: int, dtype: str) -> Graph:
    plain = nearfar.generators.generate("grid", rows=side, columns=side)
    drawn = weights(plain.n_edges, np.random.default_rng(3))
    return Graph(plain.indptr, plain.indices, drawn.astype(dtype))


KINDS = {
    "unique": lambda m, rng: rng.random(m) + 0.01,
    "tenths": lambda m, _: np.full(m, 0.1),
    "zeros": lambda m, rng: rng.integers(0, 3, m) * 0.1,
    "magnitudes": lambda m, rng: 10.0 ** rng.integers(-30, 6, m),
    "absorbed": lambda m, rng: np.where(rng.random(m) < 0.3, 1.0, 1e-9 * rng.random(m)),
    "denormals": lambda m, rng: rng.integers(0, 9, m) * 1.5e-45,
    "overflowing": lambda m, rng: np.where(rng.random(m) < 0.9, 1.0, 3.4e38),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_prepared_graph_and_rows_that_are_far_off(kind: str, dtype: str) -> None:
    graph = lattice(KINDS[kind], 20, dtype)
    sources = [0, 210, 399]
    want = searched(graph, sources)
    prepared = nearfar.prepare(graph, force=True)
    given = {"method": "elimination_tree_rows", "sums": "search"}
    same_bits(nearfar.distances(prepared, sources, **given), want)
    # Rows that are too low need more slack, in the end no bounds; too high only costs time.
    for factor in (1 - 1e-6, 0.99, 0.5, 0.0, 1.01, 3.0):
        rows = want.copy()
        with np.errstate(over="ignore"):
            rows[want < np.inf] *= want.dtype.type(factor)
        same_bits(polished(graph, sources, rows), want)


@given(graph=graphs(dtypes=FLOATS), data=st.data())
def test_bits_do_not_depend_on_what_comes_in(graph: Graph, data: st.DataObject) -> None:
    """Also if an unreachable vertex has a distance, or a reachable one has none."""
    source = data.draw(st.integers(0, graph.n_vertices - 1))
    want = searched(graph, [source])
    width = 32 if graph.weight_dtype == np.float32 else 64
    value = st.floats(0, None, allow_nan=False, width=width)
    row = data.draw(st.lists(value, min_size=graph.n_vertices, max_size=graph.n_vertices))
    same_bits(polished(graph, [source], np.array([row], graph.weight_dtype)), want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_negative_weights_with_and_without_slack_enough(dtype: str) -> None:
    rng = np.random.default_rng(4)
    plain = lattice(KINDS["unique"], 15, dtype)
    height = (100 * rng.random(plain.n_vertices)).astype(dtype)
    tails = np.repeat(np.arange(plain.n_vertices), np.diff(plain.indptr))
    weights = plain.weights + height[tails] - height[plain.indices]
    graph = Graph(plain.indptr, plain.indices, weights)
    assert graph.n_negative
    want = searched(graph, [0, 7])
    for off in (0, 1e-4, 10, 1e4):
        same_bits(polished(graph, [0, 7], want - want.dtype.type(off), -height), want)


def test_a_row_that_improves_for_ever_is_returned() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], np.array([1.0, -1.5]))
    rows = np.array([[0.0, 1.0]])
    shift = np.array([0.0, 1.0])
    assert _cpu.polish_rows(graph.view, np.array([0]), rows, shift, 1) == [0]
