"""Answers as tables, dicts and arrays: unreached vertices never enter a sum."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import nearfar
from nearfar import Graph
from nearfar.answer.frames import with_unreached
from nearfar.errors import MissingDependencyError, OptionError, VertexError


def small(dtype: str = "int32", names: Any = ("a", "b", "c", "d")) -> Graph:
    weights = np.array([4, 3, 9], dtype=dtype)
    return Graph.from_edges(
        [0, 1, 0],
        [1, 2, 2],
        weights,
        n_vertices=4,
        vertex_names=None if names is None else names,
        names=False,
    )


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_sums_and_means_leave_out_what_was_not_reached(dtype: str) -> None:
    """Regression: the sentinel of an integer answer entered means as 2147483647."""
    paths = nearfar.sssp(small(dtype), "a")
    assert np.nanmean(paths.to_numpy()) == pytest.approx(11 / 3)
    frame = paths.to_frame("pandas")
    assert list(frame.columns) == ["vertex", "distance", "predecessor", "reached"]
    assert frame["distance"].sum() == 11
    assert frame["distance"].isna().tolist() == [False, False, False, True]
    assert frame["vertex"].tolist() == ["a", "b", "c", "d"]
    assert frame["predecessor"].tolist()[1:3] == ["a", "b"]
    assert frame["predecessor"].isna().tolist() == [True, False, False, True]
    assert frame["reached"].tolist() == [True, True, True, False]
    other = paths.to_frame("polars")
    assert other["distance"].to_list() == [0, 4, 7, None]
    assert other["predecessor"].to_list() == [None, "a", "b", None]
    assert str(other["distance"].dtype).lower() == dtype
    assert len(paths.to_frame("pandas", reached_only=True)) == 3


def test_predecessors_of_numbered_vertices_are_whole_numbers() -> None:
    paths = nearfar.sssp(small(names=range(1, 5)), 1)
    frame = paths.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert str(frame["predecessor"].dtype) == "Int64"
    assert frame["predecessor"].tolist()[1:3] == [1, 2]
    assert paths.to_frame("polars")["vertex"].to_list() == [1, 2, 3, 4]


def test_reading_an_answer_like_a_mapping() -> None:
    paths = nearfar.sssp(small(), "a")
    assert (paths["c"], paths["d"]) == (7, float("inf"))
    assert len(paths) == 4
    assert list(paths) == ["a", "b", "c", "d"]
    assert paths.to_dict() == {"a": 0, "b": 4, "c": 7}
    assert all(type(value) is int for value in paths.to_dict().values())
    with pytest.raises(VertexError):
        paths["q"]
    np.testing.assert_array_equal(np.asarray(paths), [0, 4, 7, np.nan])
    assert np.asarray(paths, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match=r"paths\.distances"):
        np.array(paths, copy=False)


def test_a_value_of_choice_for_what_was_not_reached() -> None:
    paths = nearfar.sssp(small(), "a")
    assert paths.to_numpy(-1).tolist() == [0, 4, 7, -1]
    assert paths.to_numpy(-1).dtype == np.int32
    assert paths.to_numpy(2**40).dtype == np.float64
    assert paths.to_numpy(0.5).tolist() == [0, 4, 7, 0.5]
    assert paths.to_numpy().dtype == np.float64
    assert paths.distances[3] == 2**31 - 1  # untouched
    floats = nearfar.sssp(small("float32"), "a")
    assert floats.to_numpy(-1).dtype == np.float32


@pytest.mark.parametrize("large", [2**53 + 1, 2**63 - 2])
def test_a_distance_that_a_float_cannot_hold_is_not_rounded(large: int) -> None:
    paths = nearfar.sssp(Graph.from_edges([0], [1], [large], n_vertices=3), 0)
    with pytest.raises(OptionError, match=f"distance {large} .* unreached=-1, which keeps int64"):
        paths.to_numpy()
    assert paths.to_numpy(-1).tolist() == [0, large, -1]
    assert with_unreached(np.array([2**53]), float("nan")).tolist() == [2.0**53]


def test_libraries_are_named_or_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = nearfar.sssp(small(), "a")
    with pytest.raises(OptionError, match="'pandas' or 'polars'; did you mean 'pandas'"):
        paths.to_frame("panda")
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(paths.to_frame(), pl.DataFrame)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingDependencyError, match="pip install pandas"):
        paths.to_frame()


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_many_sources_with_labels(dtype: str) -> None:
    g = small(dtype)
    frame = nearfar.distances(g, ["a", "b"], targets=["c", "d"], out="pandas")
    assert frame.loc["a", "c"] == 7
    assert frame["d"].isna().all()
    assert (frame.index.name, frame.columns.name) == ("source", "target")
    assert frame.sum().tolist() == [10, 0]
    other = nearfar.distances(g, ["a", "b"], targets=["c", "d"], out="polars")
    assert other.columns == ["source", "c", "d"]
    assert other.rows() == [("a", 7, None), ("b", 3, None)]
    assert nearfar.all_pairs(g, out="pandas").shape == (4, 4)
    assert list(nearfar.distances(g, out="pandas").columns) == ["a", "b", "c", "d"]


def test_pairs_with_labels() -> None:
    g = small()
    pairs = [("a", "c"), ("d", "a")]
    frame = nearfar.distances(g, pairs=pairs, out="pandas")
    assert frame["source"].tolist() == ["a", "d"]
    assert frame["distance"].sum() == 7
    other = nearfar.distances(g, pairs=iter(pairs), out="polars")
    assert other.rows() == [("a", "c", 7), ("d", "a", None)]


def test_labels_in_xarray() -> None:
    pytest.importorskip("xarray")
    g = small()
    found = nearfar.distances(g, ["a", "b"], targets=["c", "d"], out="xarray")
    assert float(found.sel(source="a", target="c")) == 7
    assert float(found.mean()) == 5
    pairs = nearfar.distances(g, pairs=[("a", "c"), ("d", "a")], out="xarray")
    assert pairs.source.values.tolist() == ["a", "d"]


def test_tuples_and_mixed_names_label_a_table() -> None:
    names = np.empty(4, dtype=object)
    names[:] = [(0, 0), "b", 3, (0, 1)]
    g = small(names=names)
    frame = nearfar.distances(g, [(0, 0), "b"], out="pandas")
    assert list(frame.index) == [(0, 0), "b"]
    assert list(frame.columns) == [(0, 0), "b", 3, (0, 1)]
    assert nearfar.sssp(g, (0, 0)).to_frame("pandas")["vertex"].tolist() == names.tolist()


def test_labels_refuse_what_has_none() -> None:
    g = small()
    for other in ({"predecessors": True}, {"reduce": "count"}):
        with pytest.raises(OptionError, match="cannot be combined with predecessors or reduce"):
            nearfar.distances(g, out="pandas", **other)
    twice = small(names=["a", "source", "c", "d"])
    with pytest.raises(OptionError, match="two columns would have the name 'source'"):
        nearfar.distances(twice, out="polars")


def test_notebooks_show_tables() -> None:
    g = small(names=["<b>", "b", "c", "d"])
    shown = g._repr_html_()
    assert "<caption>Graph</caption>" in shown
    assert "&lt;b&gt; to d" in shown
    paths = nearfar.sssp(g, "<b>")
    assert "<td>3 of 4 vertices</td>" in paths._repr_html_()
    assert "&lt;b&gt;" in paths._repr_html_()
    assert "<caption>Prepared</caption>" in nearfar.prepare(g)._repr_html_()
