"""Breadth-first search on the emulated GPU: each kind of step, stops, watchdog."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.breadth_first import balls, cuda, reverse
from nearfar.cuda.device_graph import device_graph
from nearfar.errors import OptionError, OutOfMemoryError, SolverError
from nearfar.generators import generate
from tests import oracle
from tests.zoo import ZOO, as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu")
METHOD = "breadth_first@cuda"
LONG = -2  # kLongRow of head_edges.cuh
NAMES = ("grid", "skewed", "star", "path", "complete", "disconnected", "no_edges", "one_vertex")
FORMS = {
    "thin": {},
    "push": {"thin_limit": 0, "alpha": 0},
    "pull": {"thin_limit": 0, "alpha": 1e9, "beta": 1e9},
    "switch": {"thin_limit": 0},
}


def both_ways(graph: Graph) -> Graph:
    """Return every edge in both directions, without weights."""
    sources = graph.tails(np.int64)
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
                assert paths.stats["pulls"] == 0 == paths.stats["ahead_steps"]


@pytest.mark.parametrize("name", ["skewed", "random"])
def test_a_directed_graph_is_swept(name: str) -> None:
    """Dense frontiers are swept in vertex order; pushing then continues from the queue."""
    if name == "random":
        graph = generate("uniform_random", vertices=700, degree=3).without_weights()
    else:
        graph = as_dtype(ZOO[name](), "unweighted")
    sweeps = 0
    for source in (0, graph.n_vertices // 2):
        swept = check(graph, source, thin_limit=0, transpose=False, sweep=True, trace=True)
        plain = check(graph, source, thin_limit=0, transpose=False, sweep=False)
        assert plain.stats["sweeps"] == 0
        assert swept.stats["sweeps"] == swept.stats["kind"].count("sweep")
        assert swept.stats["iterations"] == plain.stats["iterations"]
        sweeps += swept.stats["sweeps"]
    assert sweeps > 0


def test_large_sparse_graphs_are_swept_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generate("uniform_random", vertices=700, degree=3).without_weights()
    assert check(graph, 0, thin_limit=0, transpose=False).stats["sweeps"] == 0
    monkeypatch.setattr(cuda, "_SWEPT_FROM", 700)
    assert check(graph, 0, thin_limit=0, transpose=False).stats["sweeps"] > 0
    monkeypatch.setattr(cuda, "_SWEPT_DEGREE", 2.0)
    assert check(graph, 0, thin_limit=0, transpose=False).stats["sweeps"] == 0


def test_sweeping_long_rows() -> None:
    """Long rows of hubs in a dense frontier are divided into chunks."""
    rng = np.random.default_rng(8)
    n = 8000
    first = np.arange(1, 1500)  # a frontier of more than a sixteenth, a hub among it
    sources = np.concatenate(
        [np.zeros(len(first), int), np.full(6000, 7), rng.integers(0, n, 9000)]
    )
    targets = np.concatenate([first, rng.integers(0, n, 6000), rng.integers(0, n, 9000)])
    graph = Graph.from_edges(sources, targets, n_vertices=n)
    assert check(graph, 0, thin_limit=0, transpose=False, sweep=True).stats["sweeps"] > 1
    full = oracle.dijkstra(graph, 0)
    near = np.where(full <= 2, full, np.iinfo(np.int32).max)
    for stop in ({"limit": 2}, {"targets": [int(np.argmax(full == 2))]}):
        paths = nearfar.sssp(
            graph, 0, method=METHOD, thin_limit=0, transpose=False, sweep=True, **stop
        )
        np.testing.assert_array_equal(paths.distances, near)


def test_a_directed_graph_pulls_over_its_transpose() -> None:
    graph = as_dtype(ZOO["skewed"](), "unweighted")
    assert check(graph, 0, **FORMS["pull"], transpose=False).stats["pulls"] == 0
    paths = check(graph, 0, **FORMS["pull"], transpose=True)
    assert paths.stats["pulls"] > 0
    assert check(graph, 0, **FORMS["pull"]).stats["pulls"] > 0  # the transpose is cached now
    assert check(graph, 0, **FORMS["pull"], transpose=False).stats["pulls"] == 0


@pytest.mark.parametrize("wide", [False, True])
def test_the_edges_by_target(wide: bool) -> None:
    """Rows of every length, longer than a warp processes alone, and vertices without edges."""
    rng = np.random.default_rng(6)
    n = 5000
    sources = np.concatenate([np.full(3000, 9), rng.integers(0, n // 2, 9000), [n - 1]])
    targets = np.concatenate([rng.integers(0, n // 3, 12000), [9]])
    graph = Graph.from_edges(sources, targets, n_vertices=n)
    device = device_graph(graph, wide=wide)
    made = reverse.reverse_of(graph, device, make=True)
    assert made is not None
    offsets = made.device.offsets.get()
    found = made.device.edges.get().view(device.vertex_dtype)
    back = graph.transpose()
    np.testing.assert_array_equal(offsets, back.indptr)
    for v in range(n):
        row = slice(offsets[v], offsets[v + 1])
        np.testing.assert_array_equal(np.sort(found[row]), np.sort(back.indices[row]))


def test_the_transpose_is_made_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generate("uniform_random", vertices=700, degree=8).without_weights()
    monkeypatch.setattr(reverse, "_SECONDS", 1e9)
    assert check(graph, 0, thin_limit=0).stats["pulls"] == 0
    monkeypatch.setattr(reverse, "_SECONDS", 1e-15)
    assert check(graph, 0, thin_limit=0).stats["pulls"] > 0
    path = as_dtype(ZOO["path"](), "unweighted")  # nothing to pull
    for _ in range(2):
        assert check(path, 0, thin_limit=0).stats["pulls"] == 0
    assert reverse.reverse_of(path, device_graph(path), make=False) is None


def test_a_transpose_that_the_memory_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = generate("uniform_random", vertices=700, degree=8).without_weights()
    with monkeypatch.context() as full:
        full.setattr(reverse, "_HEAVY", 1e-6)  # a list with more entries than memory holds
        assert check(graph, 0, thin_limit=0, transpose=True).stats["pulls"] == 0


@pytest.mark.parametrize("form", FORMS)
def test_64_bit_kernels(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "device_graph", lambda graph: device_graph(graph, wide=True))
    for name in ("grid", "skewed", "star"):
        check(both_ways(as_dtype(ZOO[name](), "unweighted")), 0, **FORMS[form])


@pytest.mark.parametrize("wide", [False, True])
def test_hubs_with_numbers_near_each_other(wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the source reaches any, one warp reads the first in vain, and cuts the rest."""
    monkeypatch.setattr(cuda, "device_graph", lambda graph: device_graph(graph, wide=wide))
    rng = np.random.default_rng(8)
    n, hubs = 3000, np.repeat(np.arange(32), rng.integers(200, 800, 32))
    chain = np.arange(n, n + 4)
    sources = np.concatenate([hubs, chain])
    targets = np.concatenate([rng.integers(40, n, len(hubs)), chain + 1])
    targets[-1] = 40
    graph = Graph.from_edges(sources, targets, n_vertices=n + 4, directed=False)
    for source in (n, 50):
        assert check(graph, source, **FORMS["pull"]).stats["pulls"] > 2


@pytest.mark.parametrize("form", ["thin", "push", "pull"])
def test_hub_with_many_edges(form: str) -> None:
    """Rows longer than every class: in chunks when pushed, shared by a warp when pulled."""
    rng = np.random.default_rng(3)
    n = 9000
    hub = np.full(7000, 17)
    sources = np.concatenate([hub, rng.integers(0, n, 4000), [0]])
    targets = np.concatenate([rng.integers(0, n, 7000), rng.integers(0, n, 4000), [17]])
    graph = Graph.from_edges(sources, targets, n_vertices=n, directed=False)
    check(graph, 0, **FORMS[form])


SPARSE = {
    "grid": lambda: generate("grid", rows=60, columns=60).without_weights(),
    "path": lambda: both_ways(as_dtype(ZOO["path"](), "unweighted")),
    "lattice": lambda: tangled(5, 600, 4),
    "streets": lambda: streets(400, 2),
    "medium rows": lambda: tangled(40, 900, 3),
    "long rows": lambda: tangled(300, 600, 3),
    "heavy rows": lambda: tangled(2100, 600, 3),
}


@pytest.mark.parametrize("last", [False, True])
def test_pulling_rows_of_hubs_that_wait(last: bool) -> None:
    """The second hub's neighbours are visited two levels after it was first read."""
    each = 3000
    between = 2 + 2 * each if last else 2  # the last or the first edge of the second hub
    leaves = np.arange(2 + (not last), 2 + (not last) + 2 * each)
    sources = np.concatenate([np.repeat([0, 1], each), [0, 1]])
    targets = np.concatenate([leaves, [between, between]])
    graph = Graph.from_edges(sources, targets, n_vertices=3 + 2 * each, directed=False)
    paths = check(graph, int(leaves[0]), **FORMS["pull"])
    assert paths.stats["pulls"] == 4


def tangled(hub: int, n: int, seed: int) -> Graph:
    """Return a long path with shortcuts and a hub of the given number of edges in its middle."""
    rng = np.random.default_rng(seed)
    near = rng.integers(0, n - 8, n)
    sources = np.concatenate([np.arange(n - 1), near, np.full(hub, n // 2)])
    targets = np.concatenate([np.arange(1, n), near + rng.integers(2, 8, n), n + np.arange(hub)])
    extra = np.arange(hub - 1)  # the hub's leaves are joined among themselves
    sources = np.concatenate([sources, n + extra])
    targets = np.concatenate([targets, n + extra + 1])
    return Graph.from_edges(sources, targets, directed=False)


def streets(n: int, seed: int) -> Graph:
    """Return grid crossings joined by streets of up to five edges, with dead ends."""
    rng = np.random.default_rng(seed)
    grid = generate("grid", rows=20, columns=n // 20)
    sources, targets = grid.tails(np.int64), grid.indices
    once = sources < targets
    sources, targets, first, last = sources[once], targets[once], [], []
    free = n
    for a, b in zip(sources, targets, strict=True):
        middle = np.arange(free, free + rng.integers(0, 5))
        free += len(middle)
        first += [a, *middle]
        last += [*middle, b]
    ends = np.arange(free, free + 60)
    first += rng.integers(0, free, 60).tolist()
    last += ends.tolist()
    return Graph.from_edges(first, last, directed=False)


@pytest.mark.parametrize("name", SPARSE)
def test_running_ahead(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of every length, any number of rounds, all queues; each answer proven."""
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    monkeypatch.setattr(balls, "_FEWEST_HOPS", 1)
    graph = SPARSE[name]()
    monkeypatch.setattr(cuda, "give_up", lambda *_: None)
    assert graph.mean_degree <= 5
    for rounds in (1, 7, 128):
        paths = check(graph, 0, ahead_rounds=rounds, balls=True)
        assert paths.stats["ahead_steps"] > 0
        assert paths.stats["iterations"] > paths.distances[paths.reachable].max()
    assert check(graph, 0, ahead_rounds=0).stats["ahead_steps"] == 0
    full = oracle.dijkstra(graph, 0)
    top = np.iinfo(np.int32).max
    for limit in (3, 20):
        paths = nearfar.sssp(graph, 0, method=METHOD, limit=limit, balls=True)
        np.testing.assert_array_equal(paths.distances, np.where(full <= limit, full, top))
    paths = nearfar.sssp(graph, 0, method=METHOD, targets=[9, 30], balls=True)
    farthest = full[[9, 30]].max()
    np.testing.assert_array_equal(paths.distances, np.where(full <= farthest, full, top))


@pytest.mark.parametrize("seed", range(12, 28))
def test_running_ahead_past_vertices_of_few_edges(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two-way and one-way streets, parallel edges and hubs; small queues, limits, targets."""
    rng = np.random.default_rng(seed)
    for name, place in (("_FEWEST_HOPS", 1), ("ENOUGH_OUT", 0.0), ("SHORTCUT_DEGREE", 9.0)):
        monkeypatch.setattr(balls, name, place)
    monkeypatch.setattr(cuda, "give_up", lambda *_: None)
    monkeypatch.setattr(cuda, "_AHEAD_SHARE", int(rng.choice([2, 256])))
    monkeypatch.setattr(cuda, "QUEUE_SHARE", int(rng.choice([2, 50])))
    monkeypatch.setattr(cuda, "_SPARE", int(rng.choice([8, 4096])))
    n, hub = int(rng.integers(20, 500)), rng.integers(0, 300)
    m = int(n * rng.uniform(0.5, 1.4))
    first = rng.integers(0, n, m)
    last = (first + rng.integers(1, 9, m)) % n
    back = rng.random(m) >= rng.choice([0, 0.05, 0.3])
    spokes = rng.integers(0, n, hub)
    graph = Graph.from_edges(
        np.concatenate([first, last[back], spokes, np.full(hub, n // 2), [0, 3]]),
        np.concatenate([last, first[back], np.full(hub, n // 2), spokes, [0, 7]]),
        n_vertices=n,
    )
    rounds = int(rng.integers(1, 5))
    options: dict[str, Any] = {"balls": True, "thin_limit": 1000, "ahead_rounds": rounds}
    top = np.iinfo(np.int32).max
    for source in rng.integers(0, n, 3):
        check(graph, int(source), **options)
        want = oracle.dijkstra(graph, int(source))
        target = int(rng.choice(np.flatnonzero(want < top)))
        for stop, most in (({"limit": 5}, 5), ({"targets": [target]}, want[target])):
            paths = nearfar.sssp(graph, int(source), method=METHOD, **options, **stop)
            np.testing.assert_array_equal(paths.distances, np.where(want <= most, want, top))
    around = balls.balls_at_hand(graph, device_graph(graph))
    assert around is None or around.heads is not None


def test_running_ahead_with_small_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries that do not fit a queue are recovered by relaxing all reached vertices."""
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    monkeypatch.setattr(cuda, "_SPARE", 6)
    monkeypatch.setattr(cuda, "QUEUE_SHARE", 10**9)
    graph = SPARSE["grid"]()
    paths = check(graph, 60 * 30 + 30, ahead_rounds=5, balls=True)
    assert paths.stats["rescans"] > 0


def test_running_ahead_over_the_whole_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frontier too large for the blocks' lists is processed by steps of all warps."""
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    monkeypatch.setattr(cuda, "_AHEAD_SHARE", 4)
    graph = SPARSE["grid"]()
    paths = check(graph, 60 * 30 + 30, ahead_rounds=5, balls=True, trace=True)
    assert {"ahead", "relax"} <= set(paths.stats["kind"])


def test_a_graph_whose_frontiers_grow_is_not_run_ahead_on_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A long path that ends in a random graph."""
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    monkeypatch.setattr(balls, "_FEWEST_HOPS", 1)
    monkeypatch.setattr(cuda, "_AHEAD_SHARE", 4)
    rng = np.random.default_rng(1)
    sources = np.concatenate([np.arange(40), rng.integers(40, 900, 2500)])
    targets = np.concatenate([np.arange(1, 41), rng.integers(40, 900, 2500)])
    graph = Graph.from_edges(sources, targets, directed=False)
    assert check(graph, 0, balls=True).stats["ahead_steps"] > 0
    assert check(graph, 0, balls=True).stats["ahead_steps"] == 0


@pytest.mark.parametrize("name", ["grid", "path", "lattice"])
def test_balls_are_made_once_they_pay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before that near-far searches, after levels that were thin once; also with limits."""
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    monkeypatch.setattr(balls, "_SECONDS", 1e9)
    monkeypatch.setattr(balls, "_FEWEST_HOPS", 1)
    graph = SPARSE[name]()
    full = oracle.dijkstra(graph, 0)
    for _ in range(2):
        paths = check(graph, 0)
        assert "splits" in paths.stats
        assert paths.stats["ahead_steps"] == 0
    limited = nearfar.sssp(graph, 0, method=METHOD, limit=20).distances
    top = np.iinfo(np.int32).max
    np.testing.assert_array_equal(limited, np.where(full <= 20, full, top))
    assert check(graph, 5, balls=False).stats["ahead_steps"] == 0
    monkeypatch.setattr(balls, "_SECONDS", 0.0)
    history = cuda.history_of(graph, device_graph(graph))
    history.without.seconds = 1e9  # balls are faster
    for _ in range(balls._TRIED + 1):
        assert check(graph, 0).stats["ahead_steps"] > 0
    history.without.seconds, history.by_balls.searches = 0.0, balls._TRIED - 1
    assert check(graph, 0).stats["ahead_steps"] > 0
    assert check(graph, 0).stats["ahead_steps"] == 0


def test_a_search_without_balls_that_near_far_has_no_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search continues by levels."""

    def full(*_: object) -> None:
        raise OutOfMemoryError(2, 1)

    monkeypatch.setattr(cuda, "PATIENCE", 2)
    monkeypatch.setattr("nearfar.algorithms.near_far.cuda.solve_in_one_launch", full)
    for _ in range(2):
        assert check(SPARSE["grid"](), 0).stats["pushes"] > 2


def test_balls_of_one_hop_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    graph = SPARSE["long rows"]()
    for _ in range(2):
        assert check(graph, 0, balls=True).stats["ahead_steps"] == 0


@pytest.mark.parametrize(("width", "depth"), [(32, 0), (64, 0), (32, 2), (64, 2), (128, 2)])
def test_what_a_ball_holds(width: int, depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Balls contain all edges of targets without further expansion, and all nearer vertices."""
    monkeypatch.setattr(balls, "BALL_WIDTH", width)
    monkeypatch.setattr(balls, "SHORTCUT_DEPTH", depth)
    monkeypatch.setattr(balls, "SHORTCUT_DEGREE", 9.0 * bool(depth))
    monkeypatch.setattr(balls, "ENOUGH_OUT", 0.0)
    none, missing = 0x7FFFFFFF, 0x7FFFFFFE
    for graph in (SPARSE["lattice"](), SPARSE["streets"](), both_ways(ZOO["skewed"]())):
        made = balls.balls(graph, device_graph(graph))
        if made is None:
            continue
        assert (made.heads is not None) == bool(depth)
        words = made.words.get().reshape(-1, width)
        rows = rows_of(graph, made)
        without = words[:, 0] == missing
        if depth:
            assert 0.2 < without.mean() < 0.8
        for v in range(0, graph.n_vertices, 7):
            if without[v]:
                if made.heads is None:
                    assert len(set(graph.neighbors(v)) - {v}) > width
                continue
            found = {int(w) & 0x3FFFFFF: int(w) >> 26 for w in words[v] if w != none}
            hops = {t: h & 31 for t, h in found.items()} | {v: 0}
            taken_on = {t for t, h in found.items() if h >> 5}
            for t in set(hops) - taken_on:
                for u, weight in rows[t].items():
                    assert hops[u] <= hops[t] + weight
            want = oracle.dijkstra(graph, v)
            radius = min((hops[t] for t in taken_on), default=10**9)
            for t, h in hops.items():  # vertices that rows skip may come nearer by other rows
                assert h == want[t] or (h > want[t] and (h > radius or without[t]))
            inside = np.flatnonzero(want <= radius)
            assert {int(u) for u in inside if not (depth and without[u])} <= set(hops)
            if taken_on and radius <= 26:  # one of the nearest rows did not fit
                assert len(set(found).union(*(rows[t] for t in taken_on))) > width


def rows_of(graph: Graph, made: balls.Balls) -> list[dict[int, int]]:
    """Return targets and hops of the rows from which balls were built."""
    if made.heads is None:
        return [dict.fromkeys(graph.neighbors(v).tolist(), 1) for v in range(graph.n_vertices)]
    heads = made.heads.edges.get().view(np.int32).reshape(graph.n_vertices, 8, 2)
    return [
        dict.fromkeys(graph.neighbors(v).tolist(), 1)
        if row[0, 0] == LONG
        else {int(t): int(w) for t, w in row if t >= 0}
        for v, row in enumerate(heads)
    ]


def test_wide_vertices_have_no_balls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ball entries have 27 bits per vertex; larger graphs are searched by levels."""
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    assert check(SPARSE["grid"](), 0, balls=True).stats["ahead_steps"] > 0
    monkeypatch.setattr(balls, "_MOST_VERTICES", 3599)
    assert check(SPARSE["grid"](), 0, balls=True).stats["ahead_steps"] == 0


def test_balls_that_the_memory_has_no_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    graph = SPARSE["grid"]()
    with monkeypatch.context() as full:
        full.setattr(balls, "BALL_WIDTH", 1 << 50)
        assert check(graph, 0, balls=True).stats["ahead_steps"] == 0
    assert check(graph, 0, balls=True).stats["ahead_steps"] == 0  # not tried again


def test_the_watchdog_ends_running_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = SPARSE["path"]()
    monkeypatch.setattr(cuda, "PATIENCE", 2)
    monkeypatch.setattr(cuda, "STEPS_BEYOND", 5 - 2 * graph.n_vertices)
    with pytest.raises(SolverError, match="gave up after 6 steps"):
        nearfar.sssp(graph, 0, method=METHOD, ahead_rounds=1, balls=True)


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
    paths = check(graph, 0, trace=True, thin_limit=0)
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


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_equal_weights_are_counted(dtype: str) -> None:
    made = both_ways(ZOO["skewed"]())
    weights = np.full(made.n_edges, 3 if "int" in dtype else 0.1, dtype)
    graph = Graph(made.indptr, made.indices, weights, directed=False)
    expected = oracle.dijkstra(graph, 0)
    check(graph, 0, thin_limit=0)
    one = graph.weights[0]  # type: ignore[index]
    near = nearfar.sssp(graph, 0, method=METHOD, limit=float(one))
    assert 1 < near.n_reached == np.count_nonzero(expected <= one) < graph.n_vertices
    assert np.array_equal(near.distances[near.reachable], expected[expected <= one])
    assert nearfar.sssp(graph, 0, device="cuda").engine == METHOD


def test_no_memory_for_a_second_copy_of_the_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ZOO["ring"]()
    assert graph.has_equal_weights

    def refuse(size: int) -> None:
        raise OutOfMemoryError(size, 0)

    nearfar.sssp(graph, 0, method="near_far@cuda")
    with monkeypatch.context() as full:
        full.setattr("nearfar.system.devices.runtime.require_memory", refuse)
        paths = nearfar.sssp(graph, 0, device="cuda")
    assert paths.engine == "near_far@cuda"
    assert np.array_equal(paths.distances, oracle.dijkstra(graph, 0))
