"""NetworkX backend: registered, equal to NetworkX, and correct about what it does not serve."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import math
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import _nx_nearfar
import nearfar.networkx as backend
import networkx as nx
from tests.peers import networkx_suite

SOURCE_TARGET = {
    "bidirectional_dijkstra",
    "dijkstra_path",
    "dijkstra_path_length",
    "bellman_ford_path",
    "bellman_ford_path_length",
    "has_path",
}


def original(name: str) -> Any:
    """Return NetworkX's own function, regardless of the configured backend."""
    return nx.utils.backends._registered_algorithms[name].orig_func


def ours(name: str, graph: Any, *args: Any, weight: Any = "weight", **kwargs: Any) -> Any:
    """Return the backend's function on a newly converted graph."""
    parameters = inspect.signature(backend.FUNCTIONS[name]).parameters
    for key in ("weight", "distance"):
        if key in parameters:
            kwargs[key] = weight
    attrs = None if weight is None else {weight: 1}
    return backend.FUNCTIONS[name](
        backend.convert_from_nx(graph, edge_attrs=attrs), *args, **kwargs
    )


def theirs(name: str, graph: Any, *args: Any, weight: Any = "weight", **kwargs: Any) -> Any:
    parameters = inspect.signature(original(name)).parameters
    for key in ("weight", "distance"):
        if key in parameters:
            kwargs[key] = weight
    return original(name)(graph, *args, **kwargs)


def make(kind: type, seed: int, floats: bool = False, n: int = 40) -> Any:
    rng = random.Random(seed)
    graph = kind()
    names = [*range(n // 2), *(f"v{i}" for i in range(n - n // 2))]
    rng.shuffle(names)
    graph.add_nodes_from(names)
    for _ in range(3 * n):
        u, v = rng.choice(names), rng.choice(names)
        graph.add_edge(u, v, weight=rng.random() if floats else rng.randrange(9))
    return graph


def path_weight(graph: Any, path: list[Any], weight: Any = "weight") -> float:
    total = 0
    for u, v in itertools.pairwise(path):
        data = graph[u][v]
        options = data.values() if graph.is_multigraph() else [data]
        total += min(d.get(weight, 1) for d in options)
    return total


KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("weight", ["weight", None])
def test_lengths_are_networkxs(kind: type, floats: bool, weight: Any) -> None:
    graph = make(kind, 1, floats)
    source = next(iter(graph))
    for name in (
        "single_source_dijkstra_path_length",
        "single_source_bellman_ford_path_length",
        "shortest_path_length",
    ):
        got, want = (f(name, graph, source, weight=weight) for f in (ours, theirs))
        assert type(got) is dict
        assert got == want
        assert {type(v) for v in got.values()} <= {int, float}
        if not floats or weight is None:
            assert {type(v) for v in got.values()} == {int}
    for name in ("all_pairs_dijkstra_path_length", "all_pairs_bellman_ford_path_length"):
        assert dict(ours(name, graph, weight=weight)) == dict(theirs(name, graph, weight=weight))
    for cutoff in (0, 0.5, 3):
        name = "single_source_dijkstra_path_length"
        got, want = (f(name, graph, source, cutoff=cutoff, weight=weight) for f in (ours, theirs))
        assert got == want
    for cutoff in (-1, math.nan):
        with pytest.raises(NotImplementedError, match="cutoff"):
            ours(name, graph, source, cutoff=cutoff, weight=weight)
    sources = list(graph)[:3]
    name = "multi_source_dijkstra_path_length"
    got, want = (f(name, graph, sources, weight=weight) for f in (ours, theirs))
    assert got == want


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("floats", [False, True])
def test_paths_are_shortest(kind: type, floats: bool) -> None:
    graph = make(kind, 2, floats)
    source = next(iter(graph))
    lengths = theirs("single_source_dijkstra_path_length", graph, source)
    for name in (
        "single_source_dijkstra_path",
        "single_source_bellman_ford_path",
        "shortest_path",
    ):
        paths = ours(name, graph, source)
        assert set(paths) == set(lengths)
        assert len(paths) == len(lengths)
        for target, path in paths.items():
            assert path[0] == source
            assert path[-1] == target
            assert path_weight(graph, path) == pytest.approx(lengths[target], rel=1e-12)
    towards = ours("shortest_path", graph, target=source)
    want = theirs("shortest_path_length", graph, target=source)
    assert set(towards) == set(want)
    for start, path in towards.items():
        assert path[0] == start
        assert path[-1] == source
        assert path_weight(graph, path) == pytest.approx(want[start], rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_and_their_exceptions(kind: type) -> None:
    graph = make(kind, 3)
    graph.add_node("alone")
    source = next(iter(graph))
    for name in sorted(SOURCE_TARGET):
        for target in [*list(graph)[1:8], "alone"]:
            try:
                want = theirs(name, graph, source, target)
            except nx.NetworkXNoPath:
                with pytest.raises(nx.NetworkXNoPath):
                    ours(name, graph, source, target)
                continue
            got = ours(name, graph, source, target)
            if isinstance(want, tuple):
                got, want = got[0], want[0]
            if isinstance(want, list):
                got, want = path_weight(graph, got), path_weight(graph, want)
            assert got == want
        for pair in (("nowhere", source), (["unhashable"], source)):
            with pytest.raises(nx.NodeNotFound):
                ours(name, graph, *pair)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", ["weight", None])
def test_whole_graph_functions(kind: type, weight: Any) -> None:
    graph = make(kind, 4, n=24)
    rng = random.Random(4)
    names = list(graph)
    for u, v in zip(names, names[1:] + names[:1], strict=True):
        graph.add_edge(u, v, weight=rng.randrange(1, 9))  # strongly connected
    for name in (
        "eccentricity",
        "diameter",
        "radius",
        "center",
        "periphery",
        "wiener_index",
        "average_shortest_path_length",
        "closeness_centrality",
        "floyd_warshall",
    ):
        got, want = (f(name, graph, weight=weight) for f in (ours, theirs))
        if isinstance(want, dict) and not isinstance(next(iter(want.values())), dict):
            assert got == pytest.approx(want)
        else:
            assert got == (pytest.approx(want) if isinstance(want, float) else want), name
    got, want = (f("floyd_warshall_numpy", graph, weight=weight) for f in (ours, theirs))
    assert (got == want).all()


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_all_predecessors_are_networkxs(kind: type) -> None:
    graph = make(kind, 5)
    source = next(iter(graph))
    got, lengths = ours("dijkstra_predecessor_and_distance", graph, source)
    want, distances = theirs("dijkstra_predecessor_and_distance", graph, source)
    assert lengths == distances
    assert {v: set(p) for v, p in got.items()} == {v: set(p) for v, p in want.items()}


def test_negative_weights() -> None:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 5), ("b", "c", -9), ("c", "d", 1), ("x", "y", -1)])
    assert ours("bellman_ford_path", graph, "a", "d") == ["a", "b", "c", "d"]
    assert ours("single_source_bellman_ford_path_length", graph, "a")["d"] == -3
    assert ours("negative_edge_cycle", graph) is False
    assert ours("johnson", graph)["a"]["d"] == ["a", "b", "c", "d"]
    with pytest.raises(NotImplementedError, match="negative"):
        ours("single_source_dijkstra_path_length", graph, "a")
    with pytest.raises(nx.NetworkXError, match="No negative cycles"):
        ours("find_negative_cycle", graph, "a")
    graph.add_edge("y", "x", weight=0)
    assert ours("negative_edge_cycle", graph) is True
    assert ours("single_source_bellman_ford_path_length", graph, "a")["d"] == -3
    for name in ("single_source_bellman_ford_path_length", "goldberg_radzik"):
        with pytest.raises(nx.NetworkXUnbounded):
            ours(name, graph, "x")
    cycle = ours("find_negative_cycle", graph, "x")
    assert cycle[0] == cycle[-1]
    assert path_weight(graph, cycle) < 0
    with pytest.raises(nx.NetworkXUnbounded):
        ours("johnson", graph)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.inf, "finite"),
        (math.nan, "finite"),
        ("1", "str"),
        (1j, "complex"),
        (2**70, "64 bits"),
        (2**62, "a sum of weights may not fit 64 bits"),
        (-(2**62), "a sum of weights may not fit 64 bits"),
        (1e308, "a sum of weights may not fit 64 bits"),
    ],
)
def test_weights_that_are_left_to_networkx(value: Any, message: str) -> None:
    graph = nx.Graph([(0, 1), (1, 2)])
    graph[0][1]["weight"] = value
    with pytest.raises(NotImplementedError, match=message):
        backend.convert_from_nx(graph, edge_attrs={"weight": 1})


def test_functions_as_weights_are_refused() -> None:
    def weight(u: Any, v: Any, data: Any) -> int:
        return 1

    graph = nx.path_graph(5)
    for name in sorted(backend.FUNCTIONS):
        parameters = inspect.signature(backend.FUNCTIONS[name]).parameters
        key = next((k for k in ("weight", "distance") if k in parameters), None)
        if key is None:
            continue
        needed = [
            0 if p.name != "sources" else [0]
            for p in list(parameters.values())[1:]
            if p.default is inspect.Parameter.empty
        ]
        assert "function" in str(backend.can_run(name, (graph, *needed), {key: weight})), name
    converted = backend.convert_from_nx(graph)
    with pytest.raises(NotImplementedError, match="function"):
        backend.FUNCTIONS["single_source_dijkstra"](converted, 0, weight=weight)


@pytest.mark.parametrize("name", ["diameter", "radius", "center", "periphery"])
def test_bounds_make_no_difference(name: str) -> None:
    function = getattr(nx, name)
    graph = nx.barabasi_albert_graph(200, 2, seed=1)
    want = function(graph)
    assert function(graph, backend="nearfar", usebounds=True) == want
    assert function(graph, usebounds=True) == want
    for parts in (nx.Graph([(1, 2), (3, 4)]), nx.DiGraph([(1, 2)])):
        with pytest.raises(nx.NetworkXError, match="connected"):
            function(parts, backend="nearfar", usebounds=True)


def test_can_run_and_should_run_give_reasons() -> None:
    small, large = nx.path_graph(5), nx.path_graph(5000)
    assert backend.can_run("dijkstra_path", (small, 0, 1), {}) is True
    assert "does not implement" in str(backend.can_run("pagerank", (small,), {}))
    assert "small" in str(backend.should_run("dijkstra_path", (small, 0, 1), {}))
    assert backend.should_run("dijkstra_path", (large, 0, 1), {}) is True
    assert "conversion" in str(backend.should_run("has_path", (large, 0, 1), {}))


def test_edges_of_a_large_graph_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """NetworkX counts edges in a Python loop, which takes longer than a search."""
    large = nx.path_graph(5000)
    monkeypatch.setattr(large, "number_of_edges", lambda: pytest.fail("edges were counted"))
    assert backend.should_run("dijkstra_path", (large, 0, 1), {}) is True


def test_views_are_converted() -> None:
    graph = make(nx.DiGraph, 6)
    for view in (graph.reverse(copy=False), graph.subgraph(list(graph)[:20]), nx.freeze(graph)):
        source = next(iter(view))
        name = "single_source_dijkstra_path_length"
        assert ours(name, view, source) == theirs(name, view, source)


def test_signatures_are_networkxs() -> None:
    assert set(_nx_nearfar.FUNCTIONS) == set(backend.FUNCTIONS)
    for name, function in backend.FUNCTIONS.items():
        want = [(p.name, p.default) for p in inspect.signature(original(name)).parameters.values()]
        got = [(p.name, p.default) for p in inspect.signature(function).parameters.values()]
        assert got[: len(want)] == want, name
        assert all(default is None for _, default in got[len(want) :]), name  # of later versions


SESSION = """
import logging, warnings
import networkx as nx

assert "nearfar" in nx.config.backends
warnings.simplefilter("ignore")
import nearfar.networkx as backend
converted = []
inner = backend.convert_from_nx
backend.convert_from_nx = lambda *a, **k: converted.append(1) or inner(*a, **k)

G = nx.path_graph(3000)
nx.set_edge_attributes(G, 2, "weight")
with nx.config(backend_priority=["nearfar"]):
    first = nx.single_source_dijkstra_path_length(G, 0)
    assert first[2999] == 5998
    paths = nx.single_source_dijkstra_path(G, 0)
    assert type(paths) is backend.LazyPaths and paths[2] == [0, 1, 2]
    assert len(converted) == 1, "the conversion is kept on the graph"
    G.add_edge(0, 2999, weight=1)
    assert nx.single_source_dijkstra_path_length(G, 0)[2999] == 1
    assert len(converted) == 2, "and dropped when the graph changes"
    small = nx.path_graph(9)
    assert type(nx.single_source_dijkstra_path(small, 0)) is dict, "small graphs stay"
    two = nx.single_source_dijkstra_path_length(G, 0, weight=lambda u, v, d: 1)
    assert two[2999] == 1
    G[0][1]["weight"] = -1
    G.__networkx_cache__.clear()
    try:
        nx.single_source_dijkstra_path_length(G, 0)
    except ValueError as error:
        assert "Contradictory" in str(error), "negative weights: NetworkX's own answer"
    else:
        raise AssertionError
print("fine")
"""


def test_dispatch_in_a_fresh_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SESSION],
        env=networkx_suite.environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "fine", done.stderr


def test_info_imports_neither_networkx_nor_nearfar() -> None:
    code = (
        "import sys, _nx_nearfar; _nx_nearfar.get_info(); "
        "print([m for m in ('networkx', 'nearfar', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(networkx_suite.ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_networkxs_own_tests_pass_and_every_function_is_called() -> None:
    outcome = networkx_suite.run(timeout=280, select=networkx_suite.ONE_SEED)
    assert outcome.passed > 300
    assert outcome.unexpected == []
    assert outcome.stale == []
    assert outcome.never_called == []


@pytest.mark.parametrize("floats", [False, True])
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
def test_dictionaries_are_in_the_order_of_distances(kind: type, floats: bool) -> None:
    graph = make(kind, 3, floats)
    source = next(iter(graph))
    for name in ("single_source_dijkstra_path_length", "single_source_shortest_path_length"):
        weight = "weight" if "dijkstra" in name else None
        got, want = ours(name, graph, source, weight=weight), theirs(name, graph, source)
        assert list(got.values()) == list(want.values())
        assert list(got.values()) == sorted(got.values())
        assert got == want
    lengths, paths = ours("single_source_dijkstra", graph, source)
    assert list(lengths) == list(paths)
    for vertex, row in ours("all_pairs_dijkstra_path_length", graph):
        assert list(row.values()) == sorted(row.values())
        assert row[vertex] == 0


def test_paths_are_a_dict_for_json_and_pickle() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 2), (1, 2, 2), (5, 6, 1)])
    paths = ours("single_source_dijkstra_path", graph, 0)
    plain = {0: [0], 1: [0, 1], 2: [0, 1, 2]}
    told = '{"0": [0], "1": [0, 1], "2": [0, 1, 2]}'
    assert isinstance(paths, dict)
    assert json.dumps(paths) == told
    assert json.loads(json.dumps({"a": [paths]}, indent=1)) == {"a": [json.loads(told)]}
    assert json.dumps(ours("single_source_dijkstra_path_length", graph, 0))
    assert json.dumps(ours("shortest_path", graph, 0, weight=None)) == told
    for again in (
        dict(paths),
        {**paths},
        paths.copy(),
        copy.copy(paths),
        copy.deepcopy(paths),
        pickle.loads(pickle.dumps(paths)),
        paths | {},
        {} | paths,
        dict(paths.items()),
    ):
        assert type(again) is dict
        assert again == plain == paths
        assert list(again) == list(paths) == [*reversed(paths)][::-1]
    assert paths == plain
    assert not paths != plain  # noqa: SIM202
    assert (len(paths), 2 in paths, 5 in paths, "paths" in paths) == (3, True, False, False)
    assert (paths.get(5), paths.get(1)) == (None, [0, 1])
    assert list(paths.values()) == list(plain.values())
    for change in (
        lambda: paths.__setitem__(5, []),
        lambda: paths.__delitem__(0),
        lambda: paths.pop(0),
        lambda: paths.update({5: []}),
        lambda: paths.setdefault(5, []),
        paths.clear,
        paths.popitem,
    ):
        with pytest.raises(TypeError, match="change a copy"):
            change()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", ["weight", None])
def test_measures_of_what_lies_between(kind: type, weight: Any) -> None:
    graph = make(kind, 6, n=24)
    for *_, data in graph.edges(data=True):
        data["weight"] += 1  # zeros are tested below
    some, others = list(graph)[:5], list(graph)[3:14]
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    for normalized in (False, True):
        for k in (None, 7, len(graph)):
            how = {"normalized": normalized, "k": k, "seed": 5}
            calls += [("edge_betweenness_centrality", (), how)]
            calls += [("betweenness_centrality", (), {**how, "endpoints": e}) for e in (0, 1)]
        subset: dict[str, Any] = {"normalized": normalized}
        calls.append(("betweenness_centrality_subset", (some, others), subset))
        calls.append(("edge_betweenness_centrality_subset", (some, list(graph)), subset))
    calls += [("harmonic_centrality", (nbunch,), {}) for nbunch in (None, some)]
    calls += [("harmonic_centrality", (some,), {"sources": others})]
    for name, args, how in calls:
        got = ours(name, graph, *args, weight=weight, **how)
        want_how = dict(how)
        if "seed" in how:
            want_how["seed"] = random.Random(how["seed"])
        want = theirs(name, graph, *args, weight=weight, **want_how)
        assert got.keys() == want.keys(), name
        assert got == pytest.approx(want, rel=1e-12, abs=1e-15), name
        if name != "harmonic_centrality":
            assert list(got) == list(want)
    if not graph.is_directed():
        assert ours("global_efficiency", graph) == pytest.approx(theirs("global_efficiency", graph))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", ["weight", None])
def test_all_shortest_paths_are_networkxs(kind: type, weight: Any) -> None:
    graph = make(kind, 8)
    for *_, data in graph.edges(data=True):
        data["weight"] += 1
    graph.add_node("alone")
    source = next(iter(graph))
    for target in list(graph)[:12]:
        for method in ("dijkstra", "bellman-ford", "unweighted"):
            how = {"weight": weight, "method": method}
            try:
                want = {
                    tuple(p) for p in theirs("all_shortest_paths", graph, source, target, **how)
                }
            except nx.NetworkXNoPath:
                want = set()
            found = ours("all_shortest_paths", graph, source, target, **how)
            if not want:
                with pytest.raises(nx.NetworkXNoPath):
                    next(found)
                continue
            listed = [tuple(path) for path in found]
            assert len(listed) == len(set(listed))
            assert set(listed) == want
    for target in ("alone", "nowhere"):
        with pytest.raises(nx.NetworkXNoPath):
            list(ours("all_shortest_paths", graph, source, target))
    with pytest.raises(nx.NodeNotFound):
        ours("all_shortest_paths", graph, "nowhere", source)
    with pytest.raises(ValueError, match="not supported"):
        ours("all_shortest_paths", graph, source, source, method="magic")


def test_edges_of_weight_zero_count_every_shortest_path() -> None:
    """NetworkX misses paths where a vertex is settled before an equally near predecessor."""
    graph = nx.DiGraph()
    ends = [(0, 1, 1), (0, 2, 1), (2, 1, 0), (1, 3, 1), (0, 4, 2), (4, 3, 0)]
    graph.add_weighted_edges_from(ends)
    ways = [path for v in range(1, 5) for path in nx.all_shortest_paths(graph, 0, v, "weight")]
    ways += [path for v in (1, 3) for path in nx.all_shortest_paths(graph, 2, v, "weight")]
    ways += [[1, 3], [4, 3]]
    inside, on_edges = dict.fromkeys(graph, 0.0), dict.fromkeys(graph.edges(), 0.0)
    for path in ways:
        share = 1 / sum((path[0], path[-1]) == (other[0], other[-1]) for other in ways)
        for v in path[1:-1]:
            inside[v] += share
        for edge in itertools.pairwise(path):
            on_edges[edge] += share
    got = ours("betweenness_centrality", graph, normalized=False)
    assert got == pytest.approx(inside)
    assert ours("edge_betweenness_centrality", graph, normalized=False) == pytest.approx(on_edges)
    other = theirs("betweenness_centrality", graph, normalized=False)
    assert other != pytest.approx(inside)  # the reference of betweenness says so


def test_what_counts_of_paths_leave_to_networkx() -> None:
    graph = nx.Graph([(0, 1), (1, 2)])
    nx.set_edge_attributes(graph, 0, "weight")
    for name, args in (
        ("betweenness_centrality", ()),
        ("edge_betweenness_centrality", ()),
        ("all_shortest_paths", (0, 2)),
    ):
        with pytest.raises(NotImplementedError, match="NetworkX decides"):
            ours(name, graph, *args)
        nx.set_edge_attributes(graph, -1, "weight")
        with pytest.raises(NotImplementedError, match="NetworkX decides"):
            ours(name, graph, *args)
        nx.set_edge_attributes(graph, 0, "weight")
    for name in ("betweenness_centrality_subset", "edge_betweenness_centrality_subset"):
        with pytest.raises(NotImplementedError, match="NetworkX decides"):
            ours(name, graph, [0, 0], [1, 2], weight=None)
        with pytest.raises(nx.NodeNotFound):
            ours(name, graph, [7], [0, 1, 2], weight=None)
    with pytest.raises(NotImplementedError, match="NetworkX decides"):
        ours("edge_betweenness_centrality_subset", graph, [0], [2], weight=None)
    with pytest.raises(NotImplementedError, match="directed"):
        ours("global_efficiency", nx.DiGraph([(0, 1)]))
    assert ours("global_efficiency", nx.empty_graph(1)) == 0
    assert ours("harmonic_centrality", nx.Graph()) == {}
    with pytest.raises(ZeroDivisionError):
        ours("betweenness_centrality", graph, k=0, weight=None)
