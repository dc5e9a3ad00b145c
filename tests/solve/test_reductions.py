"""Reductions as monoids: partial results over columns combine to those of whole rows."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.registry import Partial
from nearfar.solve.many import distances
from nearfar.solve.rows.reductions import ReducingSink, Reduction, combine, finish, identity

KINDS = ("count", "sum", "mean", "max", "summary", "nearest:5", ("histogram", (0, 2.5, 40, 900)))


def rows_of(dtype: str) -> tuple[Graph, np.ndarray]:
    """Return a graph with vertices that nothing reaches, and all its rows."""
    rng = np.random.default_rng(3)
    weights = (rng.random(110) * 97).astype(dtype)
    graph = Graph.from_edges(*rng.integers(0, 60, (2, 110)), weights, n_vertices=60)
    return graph, distances(graph)


def partial(graph: Graph, rows: np.ndarray, reduction: Reduction, columns: np.ndarray) -> Partial:
    """Return the partial result of these columns."""
    every = np.arange(len(rows))
    sink = ReducingSink(reduction, every, columns, graph)
    (found,) = sink.of_rows(0, rows[:, columns].copy())
    return found


def same(one: Partial, other: Partial) -> None:
    for field in fields(Partial):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert (a is None) == (b is None)
        if a is not None:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_reduction_is_a_monoid(kind: Any, dtype: str) -> None:
    graph, rows = rows_of(dtype)
    reduction = Reduction.parse(kind)
    if dtype == "float32" and reduction.kind in ("sum", "mean", "summary"):
        rows = np.floor(rows)  # sums of other floats depend on the order of a whole row
    mixed = np.random.default_rng(2).integers(0, 4, graph.n_vertices)
    one, two, three = (np.flatnonzero(mixed == part) for part in (0, 1, 2))
    a, b, c = (partial(graph, rows, reduction, columns) for columns in (one, two, three))
    left = combine(reduction, combine(reduction, a, b), c)
    right = combine(reduction, a, combine(reduction, b, c))
    same(left, right)
    none = identity(reduction, len(rows), rows.dtype)
    same(combine(reduction, none, a), a)
    same(combine(reduction, a, none), a)
    every = np.sort(np.concatenate([one, two, three]))
    whole = finish(reduction, partial(graph, rows, reduction, every))
    joined = finish(reduction, left)
    if reduction.kind == "nearest":  # of equal distances in different parts any may come first
        np.testing.assert_array_equal(joined[1], whole[1])
        halves = (partial(graph, rows, reduction, half) for half in (every[:30], every[30:]))
        ordered = combine(reduction, *halves)
        joined = finish(reduction, ordered)
    for found, wanted in zip(as_tuple(joined), as_tuple(whole), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def test_nothing_reached_is_finished_alike() -> None:
    dtype = np.dtype(np.int32)
    wanted = {"count": 0, "sum": 0.0, "max": 2**31 - 1}
    for kind, value in wanted.items():
        reduction = Reduction(kind)
        assert finish(reduction, identity(reduction, 2, dtype)).tolist() == [value, value]
    mean = Reduction("mean")
    assert np.isnan(finish(mean, identity(mean, 2, dtype))).all()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_maximum_of_nothing_is_missing_and_not_a_distance(dtype: Any) -> None:
    """With negative weights -1 may be the greatest distance."""
    graph = Graph.from_edges([0], [1], np.array([-1], dtype), n_vertices=3)
    none = unreached_value(np.dtype(dtype))
    for kind in ("max", "summary"):
        found = distances(graph, reduce=kind)
        assert as_tuple(found)[-1].tolist() == [-1, none, none]


def test_maxima_of_rows_of_two_widths() -> None:
    """One row that does not fit 32 bits widens the missing value of the others."""
    graph = Graph.from_edges([0, 1], [1, 2], np.array([2**31 - 2, 9], np.int32), n_vertices=4)
    most = distances(graph, [3, 0, 1], reduce="max", block=1)
    assert (most.dtype, most.tolist()) == (np.int64, [2**63 - 1, 2**31 + 7, 9])
