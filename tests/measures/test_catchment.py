"""Aggregates within a limit, compared with sums over rows of distances."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas
import pytest

import nearfar
from nearfar import Graph, NegativeWeightError, OptionError, VertexError
from nearfar.cli.main import main
from nearfar.measures import catchment as catchments


def drawn(seed: int, dtype: str = "float64") -> Graph:
    """Return a random graph with self-loops, parallel edges, dead ends and edges of weight 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120))
    m = int(rng.integers(0, 500))
    weights = rng.integers(0, 9, m).astype(dtype)
    return Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), weights, n_vertices=n)


WEIGHTS = ("int32", "int64", "float32", "float64")
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
@pytest.mark.parametrize("dtype", WEIGHTS)
def test_whole_rows_give_the_same_bits(
    decay: object, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many sources the first are searched both ways, and the faster one is kept."""
    rng = np.random.default_rng(9)
    ends = rng.integers(0, 150, (2, 900))
    g = Graph.from_edges(*ends, rng.integers(0, 9, 900).astype(dtype), n_vertices=150)
    values = np.where(rng.random((150, 2)) < 0.2, np.nan, rng.random((150, 2)))
    given: dict[str, Any] = {"limit": 7, "aggregate": ["sum", "mean", "min"], "decay": decay}
    with monkeypatch.context() as few:
        few.setattr(catchments, "_MANY", 1000)
        want = nearfar.catchment(g, values, **given, threads=1)
    made, distances = [], catchments.distances

    def noted(graph: Graph, sources: Any, **how: Any) -> Any:
        made.append(len(sources))
        return distances(graph, sources, **how)

    monkeypatch.setattr(catchments, "_ROWS", 8 * 150 * 20)  # twenty rows at a time
    monkeypatch.setattr(catchments, "distances", noted)
    for within, whole in ((10, 1), (1, 10)):
        ticks = iter([0, 0, within, 0, whole])  # of the call, and of the two
        clock = SimpleNamespace(perf_counter=functools.partial(next, ticks, 99))
        monkeypatch.setattr(catchments, "time", clock)
        found = nearfar.catchment(g, values, **given, threads=2)
        np.testing.assert_array_equal(found, want)
    assert sum(made) == 142 + 8  # all but eight sources, and eight
    made.clear()
    prepared = nearfar.prepare(g, force=True)
    np.testing.assert_array_equal(nearfar.catchment(prepared, values, **given), want)
    assert not made  # its rows may have other bits
    monkeypatch.setattr(catchments, "_FEW", 0)  # hardly any edge is read
    monkeypatch.setattr(catchments, "distances", None)
    np.testing.assert_array_equal(nearfar.catchment(g, values, **given), want)


@pytest.mark.parametrize("decay", FACTORS, ids=str)
@pytest.mark.parametrize("dtype", WEIGHTS)
def test_aggregates_are_those_of_rows(decay: object, dtype: str) -> None:
    """Twenty graphs with each decay, five of them with each dtype."""
    rng = np.random.default_rng(5)
    for seed in range(WEIGHTS.index(dtype), 20, 4):
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


@pytest.mark.parametrize("suffix", [".npy", ".zarr", ".parquet"])
def test_a_file_is_resumed(tmp_path: Path, suffix: str) -> None:
    if suffix != ".npy":
        pytest.importorskip({".zarr": "zarr", ".parquet": "pyarrow"}[suffix])
    g = nearfar.generate("road_like", vertices=500, seed=1)
    values = np.random.default_rng(1).random((g.n_vertices, 2))
    given = {"limit": 60_000.0, "aggregate": ["sum", "max"], "decay": "linear"}
    want = nearfar.catchment(g, values, **given).reshape(g.n_vertices, 4)
    path = tmp_path / f"found{suffix}"

    def stop(done: float, of: float) -> None:
        if done > 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nearfar.catchment(g, values, out=path, block=64, progress=stop, **given)
    manifest = json.loads(Path(f"{path}.manifest.json").read_text())
    assert len(manifest["blocks"]) == 4
    stats: dict[str, float] = {}
    found = nearfar.catchment(g, values, out=path, stats=stats, **given)
    whole: dict[str, float] = {}
    nearfar.catchment(g, values, stats=whole, **given)
    assert 0 < stats["edges_relaxed"] < whole["edges_relaxed"]
    if suffix != ".parquet":
        np.testing.assert_array_equal(np.asarray(found[:]), want)
    with pytest.raises(OptionError, match="holds another run"):
        nearfar.catchment(g, values + 1, out=path, **given)
    with pytest.raises(OptionError, match="block is 0"):
        nearfar.catchment(g, values, out=path, block=0, **given)


def test_a_source_given_twice_is_solved_once() -> None:
    g = nearfar.generate("road_like", vertices=500, seed=1)
    values = np.arange(float(g.n_vertices))
    stats: dict[str, float] = {}
    calls: list[tuple[float, float]] = []
    found = nearfar.catchment(
        g, values, limit=30_000, sources=[7, 3, 7, 7], stats=stats,
        progress=lambda *done: calls.append(done),
    )  # fmt: skip
    once: dict[str, float] = {}
    want = nearfar.catchment(g, values, limit=30_000, sources=[7, 3], stats=once)
    assert found.tolist() == [want[0], want[1], want[0], want[0]]
    assert stats["edges_relaxed"] == once["edges_relaxed"]
    assert calls == [(2, 2)]


def test_vertices_and_values_without_pandas() -> None:
    g = Graph.from_edges(["a", "b"], ["b", "c"], [2.0, 5.0], directed=False)
    names = ["c", "c", "a"]
    assert nearfar.catchment(g, (names, [10.0, 20.0, 40.0]), limit=5).tolist() == [40, 70, 30]
    table = nearfar.catchment(g, (names, np.ones((3, 2))), limit=5, aggregate="count")
    assert table.tolist() == [[1, 1], [3, 3], [2, 2]]
    with pytest.raises(OptionError, match=r"values has shape \(2,\): give a row per vertex named"):
        nearfar.catchment(g, (names, [1.0, 2.0]), limit=5)
    with pytest.raises(OptionError, match="tuple of 3"):
        nearfar.catchment(g, (names, [1.0], 2), limit=5)
    assert nearfar.catchment(g, ([], []), limit=5).tolist() == [0, 0, 0]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tmp_path / "g.csv"
    graph.write_text("source,target,weight\na,b,2\nb,c,5\nb,a,2\nc,b,5\n")
    shops = tmp_path / "shops.csv"
    shops.write_text("vertex,area,staff\nc,10,1\nc,20,2\na,40,3\n")
    call = ["measure", "catchment", str(graph), "--values", str(shops), "--limit", "5"]
    assert main([*call, "--column", "area", "staff", "--aggregate", "sum", "max"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "a\t40.0\t40.0\t3.0\t3.0",
        "b\t70.0\t40.0\t6.0\t3.0",
        "c\t30.0\t20.0\t3.0\t2.0",
    ]
    assert main([*call, "--column", "area", "--source", "b", "--decay", "exponential:2"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert float(line.split("\t")[1]) == pytest.approx(30 * np.exp(-2.5) + 40 * np.exp(-1))
    out = tmp_path / "found.npy"
    assert main([*call, "--column", "area", "--out", str(out)]) == 0
    assert np.load(out)[:, 0].tolist() == [40, 70, 30]
    assert main([*call, "--column", "area", "--decay", "steep"]) != 0
    assert "decay" in capsys.readouterr().err


@pytest.mark.parametrize("decay", FACTORS, ids=str)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_sources_near_each_other_have_the_bits_of_single_searches(
    decay: object, dtype: str
) -> None:
    g = nearfar.generate("road_like", vertices=900, seed=4)
    g = g.with_weights((g.weights / g.mean_weight * 10).astype(dtype))
    limit = 60.0
    assert np.median(nearfar.distances(g, limit=limit, reduce="count")) > 40
    rng = np.random.default_rng(6)
    at = rng.integers(0, g.n_vertices, 2000)
    values = np.where(rng.random((2000, 3)) < 0.1, np.nan, rng.normal(size=(2000, 3)))
    kinds = ["sum", "mean", "count", "min", "max"]
    call: dict[str, Any] = {"limit": limit, "decay": decay, "threads": 1}
    found = nearfar.catchment(g, (at, values), aggregate=kinds, **call)
    for source in range(0, g.n_vertices, 9):
        alone = nearfar.catchment(g, (at, values), aggregate=kinds, sources=[source], **call)
        np.testing.assert_array_equal(found[source], alone[0])
    sums = nearfar.catchment(g, (at, values), **call)
    np.testing.assert_array_equal(sums, found[..., 0])
