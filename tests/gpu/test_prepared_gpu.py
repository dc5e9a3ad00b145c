"""Prepared graphs on a GPU: every form of query, large sizes, hundreds of repeats."""

from __future__ import annotations

import functools
import gc
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.errors import OutOfMemoryError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.prepared.prepared import Prepared
from nearfar.solve.many import all_pairs, distances
from nearfar.system.devices import runtime
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph, rows_of

METHOD = "elimination_tree_rows@cuda"
REPEATS = 300


@functools.cache
def city(dtype: str, symmetric: bool = False) -> Prepared:
    """Return a prepared grid of 19,800 vertices."""
    graph = generate("grid", rows=150, columns=132)
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 1000, graph.n_edges)
    if symmetric:
        ends = np.sort(np.stack([graph.tails(), graph.indices]), axis=0)
        weights = 1 + (ends[0] * 7 + ends[1] * 13) % 999
    if "float" in dtype:
        weights = weights * 0.1
    return nearfar.prepare(Graph(graph.indptr, graph.indices, weights.astype(dtype)))


def there(array: Any) -> Any:
    """Return the array on the device."""
    return runtime.cupy().asarray(array)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 31, 33, 128, 1000])
def test_rows_tables_and_the_bits_of_a_search(dtype, count):
    prepared = city(dtype)
    rng = np.random.default_rng(count)
    sources = rng.integers(0, prepared.n_vertices, count)
    truth = distances(prepared, sources, device="cpu")
    np.testing.assert_array_equal(distances(prepared, sources, method=METHOD), truth)
    columns = rng.integers(0, prepared.n_vertices, 50)
    table = distances(prepared, sources, targets=columns, method=METHOD)
    np.testing.assert_array_equal(table, truth[:, columns])


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("count", [32, 100, 300, 700])
def test_rows_repeat_bit_for_bit(dtype, count):
    prepared = city(dtype)
    sources = np.random.default_rng(2).integers(0, prepared.n_vertices, count)
    out = runtime.cupy().empty((count, prepared.n_vertices), dtype)
    truth = there(distances(prepared, sources, device="cpu"))
    for _ in range(REPEATS):
        distances(prepared, sources, method=METHOD, out=out)
        assert bool((out == truth).all())


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 33, 1000])
def test_reductions_without_rows(dtype, count):
    prepared = city(dtype)
    rng = np.random.default_rng(count)
    sources = rng.integers(0, prepared.n_vertices, count)
    targets = rng.integers(0, prepared.n_vertices, 50)
    kinds = ("summary", "mean", "nearest:5", ("histogram", (0.0, 100.0, 1e3, 1e4)), "harmonic")
    for kind in kinds:
        for given in ({}, {"limit": 900}, {"targets": targets}):
            call = {"reduce": kind, **given}
            truth = distances(prepared, sources, method="elimination_tree_rows@cpu", **call)
            for _ in range(REPEATS // 30 if count == 1000 else 1):
                found = distances(prepared, sources, reduce=kind, method=METHOD, **given)
                assert_same(found, truth)


def assert_same(found, truth):
    """Check that bits are equal, in one array or several."""
    if isinstance(truth, tuple):
        for one, other in zip(found, truth, strict=True):
            np.testing.assert_array_equal(one, other)
    else:
        np.testing.assert_array_equal(found, truth)


def test_reductions_repeat_bit_for_bit():
    prepared = city("int32")
    sources = np.random.default_rng(2).integers(0, prepared.n_vertices, 1000)
    for kind in ("summary", "nearest:5", ("histogram", (0.0, 100.0, 1e3, 1e4))):
        truth = distances(prepared, sources, reduce=kind, device="cpu")
        for _ in range(REPEATS):
            assert_same(distances(prepared, sources, reduce=kind, method=METHOD), truth)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_pairs_by_walks_and_labels(dtype, symmetric):
    prepared = city(dtype, symmetric)
    pairs = np.random.default_rng(3).integers(0, prepared.n_vertices, (100_003, 2))
    truth = prepared.distances_of_pairs(pairs, device="cpu")
    labels = prepared.label(device="cuda")
    given = there(pairs)
    for asked in (prepared, labels):
        found = asked.distances_of_pairs(given)
        if truth.dtype.kind == "i":
            np.testing.assert_array_equal(found.get(), truth)
        else:
            np.testing.assert_allclose(
                found.get(), truth, rtol=1e-4 if found.itemsize == 4 else 1e-12
            )
        for _ in range(REPEATS // 3):
            assert bool((asked.distances_of_pairs(given) == found).all())
    exact = prepared.distances_of_pairs(given[:500])
    np.testing.assert_array_equal(
        exact.get(), prepared.distances_of_pairs(pairs[:500], device="cpu")
    )


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_paths_of_pairs(dtype, symmetric):
    prepared = city(dtype, symmetric)
    pairs = np.random.default_rng(4).integers(0, prepared.n_vertices, (2000, 2))
    wanted = prepared.paths_of_pairs(pairs, device="cpu")
    for _ in range(REPEATS // 10):
        assert_same(prepared.paths_of_pairs(pairs, device="cuda"), wanted)


@pytest.mark.parametrize("width", [1, 100, 5000])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_tables_of_many_sources(dtype, width):
    prepared = city(dtype)
    rng = np.random.default_rng(width)
    sources = rng.integers(0, prepared.n_vertices, 3000)
    targets = rng.integers(0, prepared.n_vertices, width)
    truth = distances(prepared, sources, targets=targets, device="cpu")
    for _ in range(REPEATS // 30):
        found = distances(prepared, sources, targets=targets, method=METHOD)
        np.testing.assert_array_equal(found, truth)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_customization(dtype, symmetric):
    prepared = city(dtype, symmetric)
    weights = prepared.effective_weights * np.arange(1, 5)[:, None].astype(dtype)
    given = there(weights)
    wanted = [prepared.reweight(row) for row in weights]
    first = prepared.reweight(given[0])
    for found, one in zip(
        [first, *prepared.reweight_each(given)], [wanted[0], *wanted], strict=True
    ):
        np.testing.assert_array_equal(found.metric.weights, one.metric.weights)
        for mine, its in ((found.metric.up, one.metric.up), (found.metric.down, one.metric.down)):
            np.testing.assert_array_equal(mine.head_depth, its.head_depth)
            np.testing.assert_array_equal(mine.weight, its.weight)
    sources = np.arange(200)
    rows = distances(first, sources, method=METHOD)
    np.testing.assert_array_equal(rows.get(), distances(wanted[0], sources, device="cpu"))
    for _ in range(REPEATS // 15):
        again = prepared.reweight(given[0]).metric
        assert bool((again.there == first.metric.there).all())
        assert bool((again.flags == first.metric.flags).all())


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_graphs(dtype, negative):
    rng = np.random.default_rng(5)
    for n, m in [(1, 0), (9, 0), (9, 30), (70, 120), (300, 700)]:
        graph = random_graph(rng, n, m, dtype, negative=negative and n > 9)
        prepared = nearfar.prepare(graph, force=True)
        if prepared.fixed is not None:
            searched = all_pairs(prepared, method=METHOD, sums="search")
            np.testing.assert_array_equal(searched, rows_of(graph))
            truth = all_pairs(prepared, method="elimination_tree_rows@cpu")
        else:
            truth = rows_of(graph)
        np.testing.assert_array_equal(all_pairs(prepared, method=METHOD), truth)
        pairs = rng.integers(0, n, (200, 2))
        wanted = truth[pairs[:, 0], pairs[:, 1]]
        found = prepared.distances_of_pairs(there(pairs))
        np.testing.assert_array_equal(found.get(), wanted)
        found = prepared.label(device="cuda").distances_of_pairs(there(pairs))
        np.testing.assert_array_equal(found.get(), wanted)


def test_any_slack_gives_the_same_bits():
    """Rows may be off by more than rounding; too small a slack is widened."""
    from nearfar.prepared.cuda.sinks.rows import Restoration

    prepared = city("float32")
    sources = np.arange(0, prepared.n_vertices, 199)
    truth = distances(
        prepared, sources, device="cpu", method="elimination_tree_rows", sums="search"
    )
    for slack in (0, 1e-5, 1e-2):
        noise = np.random.default_rng(1).random(truth.shape) - 0.5
        rows = there((truth * (1 + 1e-4 * noise)).astype(np.float32))
        restore = Restoration(prepared.summing("search"), len(sources))
        restore.slack = np.float32(slack)
        restore(sources, rows)
        np.testing.assert_array_equal(rows.get(), truth)


def test_memory_is_asked_for_first(pool, monkeypatch):
    prepared = city("int32")

    def used() -> int:
        gc.collect()  # errors keep references to the arrays of their calls
        return pool.used_bytes()

    before = used()
    with pytest.raises(OutOfMemoryError):
        prepared.label(1000, device="cuda")
    monkeypatch.setattr(runtime, "memory", lambda: (1 << 12, 1 << 12))
    for ask in (
        lambda: distances(prepared, range(200), method=METHOD),
        lambda: prepared.label(device="cuda"),
        lambda: nearfar.prepare(prepared).reweight(there(prepared.weights)),
    ):
        with pytest.raises(OutOfMemoryError):
            ask()
    assert used() <= before + 2**20


def test_all_devices_give_the_same_rows():
    """On one device, or on all."""
    prepared = city("int32")
    sources = np.arange(1000) % prepared.n_vertices
    truth = distances(prepared, sources, device="cpu")
    for _ in range(10):
        found = distances(prepared, sources, method=METHOD, devices="all", sweep=128)
        np.testing.assert_array_equal(found, truth)
    out = runtime.cupy().empty(truth.shape, np.int32)
    distances(prepared, sources, method=METHOD, devices="all", sweep=128, out=out)
    np.testing.assert_array_equal(out.get(), truth)
