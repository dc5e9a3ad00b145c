"""Rows copied from a device in the background: all arrive at their places."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.cuda import device_rows
from nearfar.errors import SolverError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs, distances
from nearfar.system.devices import landing, runtime
from nearfar.system.devices.landing import Landing, download

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use buffers of a few entries, for arrays of any size."""
    monkeypatch.setattr(landing, "_BUFFER", 20)
    monkeypatch.setattr(landing, "LARGE", 1)
    monkeypatch.setattr(device_rows, "LARGE", 1)


def some_rows(count: int, width: int) -> tuple[Any, Any]:
    rows = np.random.default_rng(count).integers(0, 1000, (count, width), dtype=np.int32)
    return rows, runtime.cupy().asarray(rows.copy())


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 5), (3, 100), (0, 4)])
def test_a_copy(shape: tuple[int, int]) -> None:
    rows, there = some_rows(*shape)
    np.testing.assert_array_equal(download(there, threads=4), rows)
    out = np.zeros_like(rows)
    assert download(there, out, 2) is out
    np.testing.assert_array_equal(out, rows)


def test_several_shipments() -> None:
    rows, there = some_rows(30, 7)
    out = np.zeros_like(rows)
    with Landing(3) as sent:
        sent.send(there[:10], out[:10])
        sent.send(there[10:], out[10:])
    np.testing.assert_array_equal(out, rows)


def test_rows_that_are_told_of_one_by_one() -> None:
    """Finished rows are copied before the others exist."""
    rows, there = some_rows(20, 5)
    plain = there.copy()
    there[:] = -1
    out = np.zeros_like(rows)
    with Landing(2) as sent:
        _, told = sent.flags(20)
        following = sent.follow(there, out, told)
        for row in range(12):
            there[row] = plain[row]
            told[row] = 1
        for _ in range(10_000):
            if (out[:11] == rows[:11]).all():
                break
            threading.Event().wait(1e-3)
        np.testing.assert_array_equal(out[:11], rows[:11])
        assert not out[13:].any()
        there[12:] = plain[12:]  # their launch ends without a notification
        following.launched()
    np.testing.assert_array_equal(out, rows)


def test_what_fails_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    _, there = some_rows(30, 7)

    def broken(*_: Any) -> None:
        raise SolverError("the link is down")

    monkeypatch.setattr(runtime.cupy().cuda.runtime, "memcpyAsync", broken)
    with pytest.raises(SolverError, match="link is down"):
        download(there, threads=2)


def test_an_error_beside_it_does_not_wait_for_rows() -> None:
    _, there = some_rows(30, 7)
    out = np.zeros((30, 7), np.int32)

    def given_up() -> None:
        with Landing(2) as sent:
            _, told = sent.flags(30)
            sent.follow(there, out, told)
            raise ValueError("given up")

    with pytest.raises(ValueError, match="given up"):
        given_up()


@pytest.mark.parametrize("method", ["block_per_source", "block_per_source_global", "lanes"])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_rows_of_a_batch(method: str, dtype: Any) -> None:
    plain = generate("kronecker", scale=6)
    graph = Graph(plain.indptr, plain.indices, plain.weights.astype(dtype))
    truth = all_pairs(graph, device="cpu")
    found = all_pairs(graph, method=f"{method}@cuda", threads=3)
    np.testing.assert_array_equal(found, truth)
    out = np.empty_like(truth)
    assert all_pairs(graph, method=f"{method}@cuda", threads=3, out=out) is out
    np.testing.assert_array_equal(out, truth)


def test_rows_that_are_repeated() -> None:
    """With distances beyond 16 bits."""
    plain = generate("kronecker", scale=6)
    graph = Graph(plain.indptr, plain.indices, plain.weights * 300)
    stats: dict[str, Any] = {}
    found = all_pairs(graph, method="block_per_source@cuda", threads=2, slot_bits=16, stats=stats)
    np.testing.assert_array_equal(found, all_pairs(graph, device="cpu"))
    assert stats["repeated_rows"] > 0


@pytest.mark.parametrize("devices", [None, [0, 1]])
def test_rows_of_a_prepared_graph(devices: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: 2)
    prepared = nearfar.prepare(generate("grid", rows=9, columns=8), force=True)
    truth = distances(prepared, range(50), device="cpu")
    method = {"method": "elimination_tree_rows@cuda", "devices": devices, "threads": 2}
    np.testing.assert_array_equal(distances(prepared, range(50), sweep=16, **method), truth)
    graph = generate("grid", rows=9, columns=8)
    method["method"] = "block_per_source_global@cuda"
    np.testing.assert_array_equal(distances(graph, range(50), **method), truth)
