"""``progress`` of the measures: it reaches the total, never decreases, and changes no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nearfar import measures
from nearfar.errors import OptionError
from nearfar.graph.graph import Graph
from nearfar.prepared.prepare import prepare


def network(dtype: Any = np.int32) -> Graph:
    rng = np.random.default_rng(2)
    n = 300
    tails = np.concatenate([np.arange(n), rng.integers(0, n, 500)])
    heads = np.concatenate([np.roll(np.arange(n), -1), rng.integers(0, n, 500)])
    return Graph.from_edges(tails, heads, rng.integers(1, 90, 800).astype(dtype), n_vertices=n)


def skims(graph: Any, **call: Any) -> Any:
    quantities = [np.arange(800), np.linspace(0, 1, 800)]
    found = measures.skims(graph, range(200), range(9), quantities=quantities, **call)
    return found.distances, *found.totals


def loads(graph: Any, **call: Any) -> Any:
    demand = np.arange(250), np.arange(250)[::-1].copy(), np.linspace(1, 3, 250)
    return measures.edge_loads(graph, demand, **call).loads


MEASURES: dict[str, Callable[..., Any]] = {
    "betweenness": measures.betweenness,
    "betweenness of edges": lambda g, **call: measures.betweenness(g, edges=True, **call),
    "betweenness, unweighted": lambda g, **call: measures.betweenness(g, weight=None, **call),
    "betweenness, limited": lambda g, **call: measures.betweenness(g, limit=90, **call),
    "samples": lambda g, **call: measures.betweenness(g, samples=40, seed=1, **call),
    "closeness": measures.closeness,
    "sampled closeness": lambda g, **call: measures.closeness(g, samples=50, seed=1, **call),
    "harmonic": measures.harmonic,
    "average_length": measures.average_length,
    "efficiency": measures.efficiency,
    "eccentricity": measures.eccentricity,
    "diameter": measures.diameter,
    "radius": measures.radius,
    "center": measures.center,
    "periphery": measures.periphery,
    "edge_loads": loads,
    "skims": skims,
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", MEASURES)
def test_progress(name: str, threads: int) -> None:
    function, graph = MEASURES[name], network()
    told: list[tuple[float, float]] = []
    call = {"threads": threads, "device": "cpu"} if name != "skims" else {"threads": threads}
    found = function(graph, progress=lambda *parts: told.append(parts), **call)
    np.testing.assert_equal(found, function(graph, **call))
    assert told
    assert told[-1][0] == told[-1][1] > 0
    assert all(0 <= done <= total for done, total in told)
    if "skims" not in name:  # a pass per kind of numbers
        shares = [done / total for done, total in told]
        assert shares == sorted(shares)


@pytest.mark.parametrize("name", MEASURES)
def test_progress_that_cannot_be_called(name: str) -> None:
    with pytest.raises(OptionError, match=r"^progress is 3: give a function"):
        MEASURES[name](network(), progress=3)


def test_progress_with_turns_and_prepared() -> None:
    graph = network()
    turns = graph.with_turns(forbidden=[(0, 1, 2)], closed=[7])
    for given in (turns, prepare(graph)):
        told: list[tuple[float, float]] = []
        tell: Callable[..., None] = lambda *parts, told=told: told.append(parts)  # noqa: E731
        measures.betweenness(given, progress=tell, threads=1)
        shares = [done / total for done, total in told]
        assert shares == sorted(shares)
        assert shares[-1] == 1


def test_an_error_of_progress_ends_the_run() -> None:
    def stop(done: float, total: float) -> None:
        raise RuntimeError("enough")

    for function in (measures.betweenness, loads, skims):
        with pytest.raises(RuntimeError, match="enough"):
            function(network(), threads=1, progress=stop)
