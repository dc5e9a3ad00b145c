"""Ctrl-C during a solve: every method on the CPU checks for signals regularly."""

from __future__ import annotations

import functools
import gc
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, _cpu, csgraph
from nearfar.generators import generate
from nearfar.registry import Request, variants

LATEST = 0.2  # maximum processor seconds of the caller between two checks
ENOUGH = 6  # number of checks after which a watched run is stopped
# On a graph of this size the search ends before the first check is due.
TOO_FAST = {"breadth_first@cpu"}
ANY = Graph.from_edges([0, 1], [1, 0], [1, 2])
MATRIX = [v.id for v in variants(device="cpu") if "matrix" in v.id]
LISTS = [
    v.id
    for v in variants(device="cpu", problem="sssp")
    if v.id not in MATRIX and v.id not in TOO_FAST and v.fits(ANY, Request()) is True
]


class EnoughSeen(BaseException):
    """Exception raised out of a solve, as KeyboardInterrupt is."""


@functools.cache
def lists() -> Graph:
    return generate("uniform_random", vertices=1 << 20, degree=8)


@functools.cache
def small() -> Graph:
    return generate("uniform_random", vertices=3000, degree=8)


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    yield
    lists.cache_clear()


def stopped(run: Callable[[], Any], look: Callable[[], bool], first: float) -> bool:
    """Return whether a run was stopped by ``look``, which runs periodically.

    Python discards an exception of a handler that runs inside a finalizer or a callback of the
    garbage collector: then the next check raises again.
    """
    over = False

    def handle(*_: object) -> None:
        nonlocal over
        if not over and look():
            over = True
            raise EnoughSeen

    def dropped(lost: Any) -> None:
        nonlocal over
        if not isinstance(lost.exc_value, EnoughSeen):
            hook(lost)
        over = False

    hook, sys.unraisablehook = sys.unraisablehook, dropped
    before = signal.signal(signal.SIGVTALRM, handle)
    signal.setitimer(signal.ITIMER_VIRTUAL, first, 0.01)
    try:
        run()
        over = True  # the run has ended, so a later check must not raise
        return False
    except EnoughSeen:
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.unraisablehook = hook


def longest_silence(run: Callable[[], Any], enough: int = ENOUGH) -> float:
    """Return the longest time without a check for signals; the run is stopped after enough checks.

    It is processor time of this thread, so that load on the machine does not matter.
    """
    looks = [time.thread_time()]

    def look() -> bool:
        looks.append(time.thread_time())
        return len(looks) > enough

    stopped(run, look, first=0.01)
    looks.append(time.thread_time())
    return float(np.diff(looks).max())


def test_an_exception_that_was_dropped_is_raised_again() -> None:
    looks = 0

    def spin(seconds: float) -> None:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass

    def look() -> bool:
        nonlocal looks
        looks += 1
        return True

    def callback(*_: object) -> None:
        spin(0.2)

    def run() -> None:
        gc.collect()  # the first check happens in the callback
        spin(10.0)

    gc.callbacks.append(callback)
    try:
        assert stopped(run, look, first=0.05)
    finally:
        gc.callbacks.remove(callback)
    assert looks > 1


def watched(run: Callable[[], Any], enough: int = ENOUGH) -> bool:
    """Return whether a run checks regularly; preparation once per graph does not count."""
    return any(longest_silence(run, enough) < LATEST for _ in range(3))


@pytest.mark.parametrize("method", LISTS)
def test_one_source(method: str) -> None:
    # With a single bucket delta-stepping is slow enough for a check during the run.
    options = {"delta": 1e9} if method.startswith("delta") else {}
    threads = 2 if "parallel" in method else 1
    assert watched(
        lambda: nearfar.sssp(
            lists(), 0, method=method, threads=threads, predecessors=False, **options
        )
    )


@pytest.mark.parametrize("method", MATRIX)
def test_one_source_in_a_matrix(method: str) -> None:
    assert watched(lambda: nearfar.sssp(small(), 0, method=method, predecessors=False))


@pytest.mark.parametrize(
    "method", ["worker_per_source@cpu", "lanes@cpu", "johnson@cpu", "breadth_first_lanes@cpu"]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_many_sources(method: str, threads: int) -> None:
    graph = generate("uniform_random", vertices=1 << 16, degree=8)
    graph = graph.without_weights() if method.startswith("breadth_first") else graph
    assert watched(lambda: nearfar.distances(graph, range(128), method=method, threads=threads))


@pytest.mark.parametrize("kind", ["mean", "nearest:20000", ("histogram", (0, 9, 99, 999))])
def test_reductions_to_their_end(kind: Any) -> None:
    """Regression: a block of rows, 13 million entries, was reduced without a check for a second."""
    graph = generate("uniform_random", vertices=1 << 16, degree=4)
    assert watched(lambda: nearfar.distances(graph, range(200), reduce=kind), enough=10**9)


def test_crauser_to_its_end() -> None:
    """The data built per graph counts as well, so that each run has a new graph."""
    indptr, indices = lists().indptr, lists().indices
    weights = np.random.default_rng(1).integers(1, 1000, len(indices)).astype(np.int32)

    def run() -> None:
        graph = Graph.from_csr(indptr, indices, weights, copy=False)
        nearfar.sssp(graph, 0, method="crauser_in@cpu")

    assert watched(run, enough=20)


@pytest.mark.parametrize("threads", [1, 2])
def test_floyd_warshall(threads: int) -> None:
    assert watched(lambda: nearfar.all_pairs(small(), method="floyd_warshall@cpu", threads=threads))


@pytest.mark.parametrize("method", ["worker_per_source", "dijkstra_dary_heap", "csgraph"])
def test_other_threads_leave_their_search_in_the_middle(method: str) -> None:
    if method == "csgraph":
        matrix = lists().to_scipy().astype(np.float64)
        run = functools.partial(csgraph.dijkstra, matrix, indices=range(8))
    else:
        run = functools.partial(nearfar.distances, lists(), range(8), method=method)

    def interrupted() -> float:
        told: list[float] = []

        def look() -> bool:
            told.append(time.process_time())
            return True

        assert stopped(lambda: run(threads=2), look, first=0.4)
        return time.process_time() - told[0]

    assert any(interrupted() < 2 * LATEST for _ in range(3))


def test_a_stop_flag_counts_where_it_was_entered() -> None:
    stop = _cpu.StopFlag()
    stop.set()
    with stop, pytest.raises(KeyboardInterrupt):
        nearfar.sssp(lists(), 0, method="dijkstra_dary_heap")
    assert nearfar.sssp(lists(), 0, method="dijkstra_dary_heap").n_reached > 1000


def test_k_shortest_paths() -> None:
    assert watched(lambda: nearfar.k_shortest_paths(small(), 0, 1, 5000))


@pytest.mark.parametrize("method", ["delta_stepping", "delta_stepping_parallel"])
def test_the_next_solve_works(method: str) -> None:
    longest_silence(lambda: nearfar.sssp(lists(), 0, method=method, threads=2, delta=1e9))
    first, second = (
        nearfar.sssp(small(), 0, method=m, threads=2) for m in (method, "dijkstra_dary_heap")
    )
    assert np.array_equal(first.distances, second.distances)


def test_weights_of_a_prepared_graph_without_small_separators() -> None:
    graph = generate("uniform_random", vertices=2000, degree=8)
    prepared = nearfar.prepare(graph, force=True, threads=1)
    weights = graph.effective_weights + 1
    assert watched(lambda: prepared.reweight(weights, threads=1), enough=10**9)
