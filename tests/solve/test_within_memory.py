"""memory=: methods, workers and packed edges respect it, with the same rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import _cpu
from nearfar.cli.console import Exit
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.registry import Request, registered
from nearfar.solve.many import distances
from tests.program import fail, run, succeed

MEGA = 1 << 20


def graph_of(dtype: str = "int32", n: int = 3000, degree: int = 300) -> Graph:
    """Return packed edges of several megabytes, because smaller blocks never go to a file."""
    rng = np.random.default_rng(4)
    heads = rng.integers(0, n, n * degree)
    weights = rng.integers(1, 50, n * degree).astype(dtype)
    return Graph.from_csr(np.arange(0, n * degree + 1, degree), heads, weights)


def mapped() -> set[str]:
    """Return the folders of unnamed files that this process has mapped for packed edges."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    found = (line.split(maxsplit=5)[-1] for line in lines if "/.nearfar-" in line)
    return {os.path.dirname(path) for path in found}


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_edges_that_have_no_room_lie_in_a_file(dtype: str, tmp_path: Path) -> None:
    graph, sources = graph_of(dtype), [0, 17, 2999]
    call: dict[str, Any] = {"method": "worker_per_source", "device": "cpu"}
    truth = distances(graph_of(dtype), sources, **call)
    stats: dict[str, Any] = {}
    out = tmp_path / "rows.npy"
    found = distances(graph, sources, memory=5 * MEGA, out=out, stats=stats, **call)
    np.testing.assert_array_equal(found, truth)
    assert stats["edges_in"] == str(tmp_path)
    assert mapped() == {str(tmp_path)}
    assert not list(tmp_path.glob(".nearfar-*"))  # the file has no name
    distances(graph, sources, memory=5 * MEGA, stats=(again := {}), **call)
    assert "edges_in" not in again  # they exist already
    del graph
    assert mapped() == set()
    plenty: dict[str, Any] = {}
    distances(graph_of(dtype), sources, memory=500 * MEGA, stats=plenty, **call)
    assert "edges_in" not in plenty


def test_workers_and_methods_that_have_no_room_give_way() -> None:
    graph = graph_of(n=20_000, degree=4)
    truth = distances(graph, range(16), device="cpu")
    stats: dict[str, Any] = {}
    call: dict[str, Any] = {"device": "cpu", "threads": 8, "stats": stats}
    found = distances(graph, range(16), method="worker_per_source", memory=4 * MEGA, **call)
    np.testing.assert_array_equal(found, truth)
    assert "memory suffices for 4 workers" in stats["reason"]
    call["threads"] = 1
    distances(graph, range(64), **call)
    freely, limit = registered(stats["engine"]), int(1.2 * MEGA)
    request = Request("batch", n_sources=64)
    assert freely is not None
    assert freely.scratch_bytes(graph, request) > limit // 2
    found = distances(graph, range(64), memory=limit, out="csr", **call)
    assert "others need more memory" in stats["reason"]
    chosen = registered(stats["engine"])
    assert chosen is not None
    assert chosen.scratch_bytes(graph, request) <= limit // 2
    none = unreached_value(truth.dtype)
    np.testing.assert_array_equal(found.toarray()[:16], np.where(truth == none, 0, truth))


def test_a_folder_that_takes_no_file(tmp_path: Path) -> None:
    graph = graph_of()
    with pytest.raises(OSError, match="No such file or directory"):
        graph.view.pack(1, str(tmp_path / "none"))
    graph.view.pack(1, str(tmp_path))  # a failure leaves nothing behind
    assert graph.view.packed_bytes >= 8 * graph.n_edges
    assert isinstance(graph.view, _cpu.GraphView)


def test_bytes_from_a_shell(tmp_path: Path) -> None:
    nearfar.write(graph_of(n=100, degree=5), tmp_path / "a.nfg")
    words = ["distances", tmp_path / "a.nfg", "--reduce", "max"]
    wanted = succeed(*words)
    for text in ("100000000", "100M", "0.1g"):
        assert succeed(*words, "--memory", text) == wanted
    for wrong in ("0", "lots", "-3M", "inf", "nan"):
        done = run(*words, f"--memory={wrong}")
        assert done.returncode == Exit.USAGE
        assert f"{wrong!r} is not a number of bytes" in done.stderr
    assert "free" in fail(Exit.OUT_OF_MEMORY, *words, "--memory", "100")
