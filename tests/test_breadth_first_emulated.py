"""The GPU's breadth-first search on the emulated device: each kind of step, stops, watchdog."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.breadth_first import cuda
from nearfar.cuda.device_graph import device_graph
from nearfar.errors import OptionError, SolverError
from nearfar.generators import generate

from . import oracle
from .zoo import ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")
METHOD = "breadth_first@cuda"
NAMES = ("grid", "skewed", "star", "path", "complete", "disconnected", "no_edges", "one_vertex")
FORMS = {
    "thin": {},
    "push": {"thin_limit": 0, "alpha": 0},
    "pull": {"thin_limit": 0, "alpha": 1e9, "beta": 1e9},
    "switch": {"thin_limit": 0},
}


def both_ways(graph: Graph) -> Graph:
    """Every edge in both directions, without weights."""
    sources = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    return Graph.from_edges(sources, graph.indices, n_vertices=graph.n_vertices, directed=False)


def check(graph: Graph, source: int, **options: object) -> nearfar.Paths:
    paths = nearfar.sssp(graph, source, method=METHOD, predecessors=True, **options)
    np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, source))
    nearfar.verify(graph, paths)
    return paths


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
def test_zoo(name: str, form: str) -> None:
    graph = as_dtype(ZOO[name](), "unweighted")
    for made in (graph, both_ways(graph)):
        for source in {0, made.n_vertices // 2}:
            paths = check(made, source, **FORMS[form])
            if form == "pull" and not made.directed and made.degrees[source]:
                assert paths.stats["pulls"] > 0
            if form == "push":
                assert paths.stats["pulls"] == 0 == paths.stats["thin_levels"]


def test_a_directed_graph_pulls_over_its_transpose() -> None:
    graph = as_dtype(ZOO["skewed"](), "unweighted")
    assert check(graph, 0, **FORMS["pull"]).stats["pulls"] == 0
    paths = check(graph, 0, **FORMS["pull"], transpose=True)
    assert paths.stats["pulls"] > 0
    assert "transpose" in graph.cache


@pytest.mark.parametrize("form", FORMS)
def test_64_bit_kernels(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "device_graph", lambda graph: device_graph(graph, wide=True))
    for name in ("grid", "skewed", "star"):
        check(both_ways(as_dtype(ZOO[name](), "unweighted")), 0, **FORMS[form])


@pytest.mark.parametrize("form", ["thin", "push", "pull"])
def test_hub_with_many_edges(form: str) -> None:
    """Rows beyond every class: cut into chunks when pushed, shared by a warp when pulled."""
    rng = np.random.default_rng(3)
    n = 9000
    hub = np.full(7000, 17)
    sources = np.concatenate([hub, rng.integers(0, n, 4000), [0]])
    targets = np.concatenate([rng.integers(0, n, 7000), rng.integers(0, n, 4000), [17]])
    graph = Graph.from_edges(sources, targets, n_vertices=n, directed=False)
    check(graph, 0, **FORMS[form])


def test_thin_steps_over_several_blocks() -> None:
    """A wave of a few hundred vertices: both blocks meet at their own barrier, level by level."""
    graph = generate("grid", rows=150, columns=150).without_weights()
    paths = check(graph, 75 * 150 + 75, thin_limit=4096)
    assert paths.stats["thin_levels"] > 50
    assert paths.stats["steps"] < paths.stats["iterations"]


def test_limit_and_targets() -> None:
    graph = both_ways(as_dtype(ZOO["path"](), "unweighted"))
    full = oracle.dijkstra(graph, 0)
    top = np.iinfo(np.int32).max
    for form in FORMS.values():
        paths = nearfar.sssp(graph, 0, method=METHOD, limit=20, **form)
        np.testing.assert_array_equal(paths.distances, np.where(full <= 20, full, top))
        assert paths.stats["iterations"] <= 21
        paths = nearfar.sssp(graph, 0, method=METHOD, targets=[30, 3], **form)
        np.testing.assert_array_equal(paths.distances, np.where(full <= 30, full, top))
        assert paths.stats["iterations"] <= 30 + 64


def test_records() -> None:
    graph = both_ways(as_dtype(ZOO["skewed"](), "unweighted"))
    paths = check(graph, 0, stats="full", thin_limit=0)
    stats = paths.stats
    assert len(stats["kind"]) == stats["steps"] == stats["pushes"] + stats["pulls"]
    assert stats["frontier"][0] == 1
    assert stats["frontier_edges"][0] == graph.degrees[0]


def test_the_watchdog_ends_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = as_dtype(ZOO["path"](), "unweighted")
    monkeypatch.setattr(cuda, "STEPS_BEYOND", 3 - graph.n_vertices)
    with pytest.raises(SolverError, match="gave up after 4 steps"):
        nearfar.sssp(graph, 0, method=METHOD, thin_limit=0)


def test_options_are_checked() -> None:
    graph = as_dtype(ZOO["path"](), "unweighted")
    with pytest.raises(OptionError, match="alpha is -1"):
        nearfar.sssp(graph, 0, method=METHOD, alpha=-1)
