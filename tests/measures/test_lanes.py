"""Unweighted betweenness from eight sources together, for graphs of small diameter."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearfar import Graph, _cpu
from nearfar.measures import betweenness
from tests.measures.test_betweenness import assert_by_definition
from tests.program import run_python


def of_small_diameter(n: int, m: int, directed: bool, seed: int) -> Graph:
    tails, heads = np.random.default_rng(seed).integers(0, n, (2, m))
    return Graph.from_edges(tails, heads, n_vertices=n, directed=directed)


@settings(max_examples=40)
@given(
    n=st.integers(4, 30),
    share=st.floats(0.5, 5),
    directed=st.booleans(),
    seed=st.integers(0, 2**20),
    some=st.integers(4, 40),
)
def test_by_definition(n: int, share: float, directed: bool, seed: int, some: int) -> None:
    graph = of_small_diameter(n, int(share * n), directed, seed)
    sources = np.random.default_rng(seed + 1).permutation(n)[:some]
    assert_by_definition(graph, sources=sources.tolist())


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_sources_of_many_batches_add_up_one_by_one(directed: bool, edges: bool) -> None:
    """A single source uses no lanes, so it is an independent search."""
    graph = of_small_diameter(300, 900, directed, 3)
    sources = np.random.default_rng(4).permutation(300)[:203]
    want = sum(betweenness(graph, [s], normalized=False, edges=edges) for s in sources)
    for threads in (1, 3):
        got = betweenness(graph, sources, normalized=False, threads=threads, edges=edges)
        assert got == pytest.approx(want, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_threads_make_no_difference(directed: bool, edges: bool) -> None:
    graph = of_small_diameter(2000, 9000, directed, 5)
    first = betweenness(graph, threads=1, edges=edges)
    for threads in (2, 5, 40):
        assert (betweenness(graph, threads=threads, edges=edges) == first).all()


@pytest.mark.skipif(len(_cpu.isa_levels()) == 1, reason="compiled for one level; LEVELS=all")
def test_instruction_sets_make_no_difference() -> None:
    code = (
        "import hashlib, numpy as np, nearfar\n"
        "from nearfar.measures import betweenness\n"
        "for directed in (False, True):\n"
        "    ends = np.random.default_rng(6).integers(0, 500, (2, 2500))\n"
        "    g = nearfar.Graph.from_edges(*ends, n_vertices=500, directed=directed)\n"
        "    for edges in (False, True):\n"
        "        found = betweenness(g, edges=edges)\n"
        "        print(hashlib.sha256(found.tobytes()).hexdigest())\n"
    )
    outputs = {run_python(code, NEARFAR_CPU_LEVEL=level) for level in _cpu.isa_levels()}
    assert len(outputs) == 1


@pytest.mark.parametrize("directed", [False, True])
def test_too_many_paths_for_a_float_in_a_graph_of_mostly_small_diameter(directed: bool) -> None:
    """A ladder of 1,100 diamonds, followed by 12,000 paths from a hub to one vertex."""
    k, wide = 1100, 12_000
    starts = 3 * np.arange(k)
    hub = 3 * k
    far = hub + 1 + np.arange(wide)
    top = np.full(wide, hub + wide + 1)
    tails = np.concatenate([starts, starts, starts + 1, starts + 2, np.full(wide, hub), far])
    heads = np.concatenate([starts + 1, starts + 2, starts + 3, starts + 3, far, top])
    graph = Graph.from_edges(tails, heads, directed=directed)
    targets = [hub + wide + 1]
    of_edges = betweenness(graph, np.arange(8), targets=targets, normalized=False, edges=True)
    assert of_edges == pytest.approx(
        sum(
            betweenness(graph, [s], targets=targets, normalized=False, edges=True) for s in range(8)
        ),
        rel=1e-12,
        abs=0,
    )
    got = betweenness(graph, np.arange(8), targets=targets, normalized=False)
    got *= 1 if directed else 2
    one_by_one = sum(
        betweenness(graph, [s], targets=targets, normalized=False) * (1 if directed else 2)
        for s in range(8)
    )
    assert got == pytest.approx(one_by_one, rel=1e-12, abs=0)
    assert got[hub] == pytest.approx(8, rel=1e-12)
    assert got[far] == pytest.approx(np.full(wide, 8 / wide), rel=1e-12)


def test_a_signal_stops_it_in_the_middle() -> None:
    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    graph = of_small_diameter(60_000, 400_000, False, 7)  # about a minute
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    began = time.monotonic()
    try:
        with pytest.raises(Stopped):
            betweenness(graph, threads=2, device="cpu")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - began < 20
