"""Repeated sources are solved once, and have a row each time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, registry
from nearfar.generators import generate
from nearfar.graph.dtypes import unreached_value
from nearfar.solve.arrays import distinct_sources, repeat_rows
from nearfar.solve.rows.row_files import read_rows

GIVEN = [5, 2, 5, 5, 0, 2, 7]  # four distinct ones
METHOD = "worker_per_source@cpu"


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the sources of all calls of the method."""
    seen: list[int] = []
    variant = registry.find(METHOD)[0]

    def run(graph: Any, sources: Any, options: Any, workspace: Any) -> Any:
        seen.extend(np.asarray(sources).tolist())
        return variant.run(graph, sources, options, workspace)

    monkeypatch.setitem(registry._registry, METHOD, replace(variant, run=run))
    return seen


def graph(dtype: str = "int32") -> Graph:
    roads = generate("road_like", vertices=60)
    return Graph.from_csr(roads.indptr, roads.indices, roads.weights.astype(dtype))


def rows(roads: Graph) -> np.ndarray:
    return np.array([nearfar.sssp(roads, s).distances for s in GIVEN])


@pytest.mark.parametrize("given", [[], [3], [1, 4, 9], [9, 1, 4], GIVEN, [3, 3, 3], [9, 8, 9, 8]])
def test_once(given: list[int]) -> None:
    asked = np.array(given, dtype=np.int64)
    distinct, places = distinct_sources(asked)
    assert distinct.tolist() == list(dict.fromkeys(given))
    if places is None:
        assert len(distinct) == len(given)
        return
    assert distinct[places].tolist() == given
    assert (places <= np.arange(len(given))).all()


def test_rows_are_repeated_in_place_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.solve.arrays._REPEATED", 40)
    rng = np.random.default_rng(3)
    for k in (1, 2, 7, 50):
        asked = rng.integers(0, 9, k)
        distinct, places = distinct_sources(asked)
        if places is None:
            continue
        full = np.full((k, 3), -1)
        full[: len(distinct)] = distinct[:, None]
        assert repeat_rows(full, places) is full
        np.testing.assert_array_equal(full, np.repeat(asked[:, None], 3, axis=1))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("block", [None, 1, 3])
def test_a_matrix(dtype: str, block: int | None, solved: list[int]) -> None:
    roads = graph(dtype)
    found = nearfar.distances(roads, GIVEN, method=METHOD, block=block)
    np.testing.assert_array_equal(found, rows(roads))
    assert solved == [5, 2, 0, 7]


def test_an_array_of_the_caller_and_columns(solved: list[int]) -> None:
    roads = graph()
    out = np.empty((7, 3), np.int32)
    assert nearfar.distances(roads, GIVEN, targets=[8, 1, 8], method=METHOD, out=out) is out
    np.testing.assert_array_equal(out, rows(roads)[:, [8, 1, 8]])
    assert solved == [5, 2, 0, 7]
    strided = np.empty((7, 2 * roads.n_vertices), np.int64)[:, ::2]
    nearfar.distances(roads, GIVEN, method=METHOD, out=strided)
    np.testing.assert_array_equal(strided, rows(roads))


def test_predecessors(solved: list[int]) -> None:
    roads = graph()
    found, before = nearfar.distances(roads, GIVEN, method=METHOD, predecessors=True)
    np.testing.assert_array_equal(found, rows(roads))
    for s, tree in zip(GIVEN, before, strict=True):
        np.testing.assert_array_equal(tree, nearfar.sssp(roads, s).predecessors)
    assert solved == [5, 2, 0, 7]


def test_a_sparse_matrix(solved: list[int]) -> None:
    roads = graph()
    limit = int(np.median(rows(roads)))
    found = nearfar.distances(roads, GIVEN, method=METHOD, out="csr", limit=limit, block=2)
    assert solved == [5, 2, 0, 7]
    dense = nearfar.distances(roads, GIVEN, limit=limit)
    assert found.shape == dense.shape
    reached = dense != unreached_value(dense.dtype)
    np.testing.assert_array_equal(found.toarray(), np.where(reached, dense, 0))


@pytest.mark.parametrize(
    "kind", ["count", "sum", "mean", "max", "summary", "harmonic", "nearest:3", "histogram"]
)
def test_reductions(kind: str, solved: list[int]) -> None:
    roads = graph()
    reduce: Any = ("histogram", [0, 100, 10000]) if kind == "histogram" else kind
    found = nearfar.distances(roads, GIVEN, method=METHOD, reduce=reduce, block=2)
    assert solved == [5, 2, 0, 7]
    for i, s in enumerate(GIVEN):
        one = nearfar.distances(roads, [s], reduce=reduce)
        parts = zip(found, one, strict=True) if isinstance(found, tuple) else [(found, one)]
        for all_rows, row in parts:
            assert len(all_rows) == len(GIVEN)
            np.testing.assert_array_equal(all_rows[i], row[0])


@pytest.mark.parametrize("ending", ["npy", "zarr", "parquet"])
def test_a_file_solves_each_once_per_block(ending: str, tmp_path: Path, solved: list[int]) -> None:
    roads = graph()
    pytest.importorskip({"npy": "numpy", "zarr": "zarr", "parquet": "pyarrow"}[ending])
    out = tmp_path / f"rows.{ending}"
    found = nearfar.distances(roads, GIVEN, method=METHOD, out=out, block=4)
    if ending == "parquet":
        sources, found = read_rows(out)
        assert sources.tolist() == GIVEN
    np.testing.assert_array_equal(np.asarray(found[:]), rows(roads))
    assert solved == [5, 2, 0, 2, 7]


def test_a_row_that_needs_64_bits_is_repeated_too(solved: list[int]) -> None:
    top = np.iinfo(np.int32).max
    wide = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([top - 5, 9, 1], np.int32))
    found = nearfar.distances(wide, [2, 0, 2, 0, 1], method=METHOD)
    assert found.dtype == np.int64
    narrow = [nearfar.sssp(wide.astype(np.int64), s).distances for s in (2, 0, 2, 0, 1)]
    np.testing.assert_array_equal(found, narrow)
    floats = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([3e38, 3e38, 1], np.float32))
    found, before = nearfar.distances(floats, [2, 0, 2, 0], predecessors=True, method=METHOD)
    assert found[1, 2] == found[3, 2] == 2 * float(np.float32(3e38))
    assert before[1].tolist() == before[3].tolist() == [-1, 0, 1, 2]


def test_names_tables_pairs_and_a_prepared_graph() -> None:
    named = Graph.from_edges(["a", "b"], ["b", "c"], [2, 3])
    table = nearfar.distances(named, ["b", "a", "b"], out="pandas")
    assert table.index.tolist() == ["b", "a", "b"]
    assert table.loc["b"]["c"].tolist() == [3, 3]
    pairs = [("a", "c"), ("b", "c"), ("a", "c")]
    assert nearfar.distances(named, pairs=pairs).tolist() == [5, 3, 5]
    prepared = nearfar.prepare(graph())
    stats: dict[str, Any] = {}
    found = nearfar.distances(prepared, GIVEN * 20, stats=stats)
    np.testing.assert_array_equal(found, np.tile(rows(prepared), (20, 1)))
    assert stats["sweeps"] == 1


def test_the_choice_is_made_for_distinct_sources() -> None:
    """500 sources, of which one is distinct, are not a batch for lanes."""
    stats: dict[str, Any] = {}
    roads = generate("kronecker", scale=10)
    nearfar.distances(roads, [3] * 500, threads=1, device="cpu", stats=stats)
    assert stats["engine"] != "lanes@cpu"
    nearfar.distances(roads, range(500), threads=1, device="cpu", stats=stats)
    assert stats["engine"] == "lanes@cpu"
