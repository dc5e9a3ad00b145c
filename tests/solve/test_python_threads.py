"""Sixteen Python threads on one graph with empty caches: every thread gets the right answer.

With the interpreter's lock, only solves overlap. Without it (`python -X gil=0` of a free-threaded
build), all code does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.generators import generate

THREADS = 16
#: Requests of a thread from its source, all of which use data cached on the graph.
ASKS: list[Callable[[nearfar.Graph, int], Any]] = [
    lambda graph, s: nearfar.sssp(graph, s, threads=1).distances,
    lambda graph, s: nearfar.sssp(graph, s, threads=2, predecessors=True).predecessors,
    lambda graph, s: nearfar.distances(graph, [s, 0, s], threads=1),
    lambda graph, s: nearfar.sssp(graph.transpose(), s, threads=1).distances,
    lambda graph, s: nearfar.sssp(graph.astype("float64"), s, threads=1).distances,
    lambda graph, s: nearfar.sssp(graph, s, limit=90, threads=1).distances,
    lambda graph, s: nearfar.sssp(graph, s, method="dijkstra", threads=1).distances,
    lambda graph, s: nearfar.sssp(graph, s, method="bellman_ford", threads=1).distances,
]


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(asks: list[Callable[[], Any]]) -> list[Any]:
    """Return the results of calls that start together, one thread each."""
    together = Barrier(len(asks))

    def one(ask: Callable[[], Any]) -> Any:
        together.wait()
        return ask()

    with ThreadPoolExecutor(len(asks)) as pool:
        return list(pool.map(one, asks))


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("road_like", {"vertices": 3_000}),
        ("uniform_random", {"vertices": 2_000, "degree": 8}),
    ],
)
def test_threads_on_one_graph_are_right(name: str, size: dict[str, int]) -> None:
    graph = generate(name, **size)
    sources = [(37 * number) % graph.n_vertices for number in range(THREADS)]
    asks = [ASKS[number % len(ASKS)] for number in range(THREADS)]
    expected = [ask(graph, s) for ask, s in zip(asks, sources, strict=True)]
    for _ in range(10):
        graph.forget()
        calls = [lambda ask=ask, s=s: ask(graph, s) for ask, s in zip(asks, sources, strict=True)]
        for found, right in zip(at_once(calls), expected, strict=True):
            assert np.array_equal(found, right)


def test_threads_prepare_and_query_one_graph() -> None:
    graph = generate("road_like", vertices=1_500)
    expected = nearfar.distances(graph, list(range(THREADS)))

    def row(source: int) -> Any:
        return nearfar.distances(nearfar.prepare(graph), [source], threads=1)[0]

    for _ in range(3):
        graph.forget()
        found = at_once([lambda source=source: row(source) for source in range(THREADS)])
        assert np.array_equal(np.array(found), expected)


def test_threads_read_one_prepared_graph() -> None:
    graph = generate("road_like", vertices=1_500)
    prepared = nearfar.prepare(graph)
    expected = nearfar.distances(graph, list(range(THREADS)))

    def row(source: int) -> Any:
        return nearfar.distances(prepared, [source], threads=1 + source % 2)[0]

    for _ in range(4):
        found = at_once([lambda source=source: row(source) for source in range(THREADS)])
        assert np.array_equal(np.array(found), expected)


def test_registries_are_found_by_threads_at_once() -> None:
    """Regression: a second thread saw only the variants registered so far."""
    from tests.program import run_python

    code = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from nearfar import registry
from nearfar.formats.specs import formats
together = Barrier(16)
def look(number):
    together.wait()
    return len(registry.variants()), len(formats())
with ThreadPoolExecutor(16) as pool:
    print(len(set(pool.map(look, range(16)))))
"""
    assert run_python(code).strip() == "1"


@pytest.mark.usefixtures("emulated_gpu")
def test_threads_share_what_a_graph_keeps_on_a_device() -> None:
    """Regression: solves of two threads wrote to the arrays of one prepared launch."""
    graph = generate("road_like", vertices=400)
    sources = [(37 * number) % graph.n_vertices for number in range(8)]
    expected = nearfar.distances(graph, sources, device="cpu")

    for method in ("near_far@cuda", "auto"):
        graph.forget()
        asks = [
            lambda source=source, method=method: nearfar.sssp(
                graph, source, device="cuda", method=method, predecessors=True
            )
            for source in sources
        ]
        for paths, right in zip(at_once(asks), expected, strict=True):
            assert np.array_equal(paths.distances, right)
            nearfar.verify(graph, paths)
