"""Aggregates within a limit, against sums over rows of distances."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import nearfar
from nearfar import Graph, NegativeWeightError, OptionError, VertexError


def drawn(seed: int, dtype: str = "float64") -> Graph:
    """A random graph with self-loops, parallel edges, dead ends and edges of weight 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120))
    m = int(rng.integers(0, 500))
    weights = rng.integers(0, 9, m).astype(dtype)
    return Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), weights, n_vertices=n)


FACTORS = {
    None: lambda d, limit: np.ones_like(d),
    "linear": lambda d, limit: 1 - d / limit,
    "exponential": lambda d, limit: np.exp(-d / limit),
    ("exponential", 3.0): lambda d, limit: np.exp(-d / 3),
    ("table", (2.0, 4.0, 6.0), (1.0, 0.5, 0.0)): lambda d, limit: np.interp(
        d, [2, 4, 6], [1, 0.5, 0]
    ),
}


@pytest.mark.parametrize("decay", FACTORS, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_aggregates_are_those_of_rows(decay: object, dtype: str) -> None:
    rng = np.random.default_rng(5)
    for seed in range(20):
        g = drawn(seed, dtype)
        limit = float(rng.integers(1, 30))
        values = rng.random((g.n_vertices, 2))
        values[rng.random(values.shape) < 0.2] = np.nan
        kinds = ["sum", "mean", "count", "min", "max"]
        found = nearfar.catchment(g, values, limit=limit, aggregate=kinds, decay=decay)
        rows = nearfar.distances(g, method="dijkstra").astype(float)
        for source, row in enumerate(rows):
            inside = row <= limit
            factor = FACTORS[decay](row[inside], limit)[:, None]  # type: ignore[index]
            here = values[inside]
            there = ~np.isnan(here)
            total = np.where(there, factor * np.nan_to_num(here), 0).sum(axis=0)
            share = (there * factor).sum(axis=0)
            np.testing.assert_allclose(found[source, :, 0], total, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(found[source, :, 2], share, rtol=1e-12, atol=1e-15)
            with np.errstate(invalid="ignore"):
                np.testing.assert_allclose(found[source, :, 1], total / share, rtol=1e-9)
            for column in range(2):
                some = here[there[:, column], column]
                want = (some.min(), some.max()) if len(some) else (np.nan, np.nan)
                np.testing.assert_array_equal(found[source, column, 3:], want)


def test_the_result_does_not_depend_on_threads_or_the_order_of_sources() -> None:
    g = nearfar.generate("road_like", vertices=3000, seed=1)
    values = np.random.default_rng(1).random(g.n_vertices)
    want = nearfar.catchment(g, values, limit=40_000.0, decay="linear", threads=1)
    order = np.random.default_rng(2).permutation(g.n_vertices)
    calls: list[tuple[float, float]] = []
    for threads in (1, 2, 3):
        found = nearfar.catchment(
            g, values, limit=40_000.0, decay="linear", threads=threads, sources=order,
            progress=lambda *done: calls.append(done),
        )  # fmt: skip
        np.testing.assert_array_equal(found, want[order])
    assert calls[-1] == (g.n_vertices, g.n_vertices)


def test_frames_keep_their_labels_and_count_each_row() -> None:
    g = Graph.from_edges(["a", "b"], ["b", "c"], [2.0, 5.0], directed=False)
    shops = pandas.DataFrame(
        {"area": [10.0, 20.0, 40.0], "rent": [1.0, np.nan, 3.0]},
        index=pandas.Index(["c", "c", "a"], name="corner"),
    )
    found = nearfar.catchment(g, shops, limit=5.0)
    assert found.index.tolist() == ["a", "b", "c"]
    assert found.index.name == "corner"
    assert found["area"].tolist() == [40.0, 70.0, 30.0]
    assert found["rent"].tolist() == [3.0, 4.0, 1.0]
    several = nearfar.catchment(g, shops, limit=5.0, aggregate=["count", "max"], sources=["b"])
    assert several.loc["b", ("area", "count")] == 3
    assert several.loc["b", ("rent", "max")] == 3
    series = nearfar.catchment(g, shops["area"], limit=0.0, aggregate="mean")
    assert series.name == "area"
    assert series["c"] == 15.0
    assert np.isnan(series["b"])


def test_bad_input_gets_one_sentence() -> None:
    g = Graph.from_edges([0, 1], [1, 2], [2.0, 5.0])
    ones = np.ones(3)
    for match, given in {
        "give a row for each of 3 vertices": {"values": np.ones(4)},
        "infinite number in row 1": {"values": np.array([0, np.inf, 1])},
        "limit is None": {"limit": None},
        "limit is NaN": {"limit": float("nan")},
        "aggregate is 'median'": {"aggregate": "median"},
        "aggregate is empty": {"aggregate": []},
        "decay is 'steep'": {"decay": "steep"},
        "decay is .*'table'": {"decay": ("table", [2, 1], [1, 0])},
    }.items():
        with pytest.raises(OptionError, match=match):
            nearfar.catchment(g, **{"values": ones, "limit": 3.0, **given})  # type: ignore[arg-type]
    with pytest.raises(VertexError, match="vertex of values 7"):
        nearfar.catchment(g, pandas.Series([1.0], index=[7]), limit=1.0)
    with pytest.raises(NegativeWeightError):
        nearfar.catchment(Graph.from_edges([0], [1], [-1.0]), np.ones(2), limit=1.0)
