"""Forms and widths of the one-launch engine: what a first solve takes, what later ones learn."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.near_far.one_launch import driver as one_launch
from nearfar.algorithms.near_far.one_launch import forms
from nearfar.errors import OutOfMemoryError
from nearfar.system.devices import compiler
from tests import oracle
from tests.algorithms.test_near_far_emulated import undirected
from tests.graph.test_on_device import there as device_form
from tests.zoo import as_dtype

pytestmark = pytest.mark.usefixtures("emulated_gpu", "several_ranges")
AT_ONCE = forms._AT_ONCE
SOLVED = {
    "device_seconds": 1.0,
    "cycles": 1000,
    "splits": 1,
    "last_threshold": 1.0,
    "edges_relaxed": 1000,
}
SOLVED |= {"delta": 1.0, "last_delta": 1.0}
SOLVED |= {"block_rounds": 0, "iterations": 10}


def forms_of(graph: Graph, solves: int, **options: object) -> list[str]:
    """Return the form of each solve, after checking the answer and waiting for the compiler."""
    want = oracle.dijkstra(graph, 0)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_launch, "meanwhile", lambda *_: None)
        for _ in range(solves):
            paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options)
            np.testing.assert_array_equal(paths.distances, want)
            found.append(paths.stats["form"])
    return found


def test_solves_go_on_while_the_next_form_is_compiled(
    held_compiler: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = undirected(100, 2000)
    monkeypatch.setattr(forms, "_SKEWED", 1.0)
    monkeypatch.setattr(forms, "_HUB", 1.0)
    monkeypatch.setattr(forms, "_SORT_SECONDS", 1e-12)
    monkeypatch.setattr(forms, "_HOPELESS", 1e9)  # the emulator's times vary
    solve = functools.partial(nearfar.sssp, graph, 0, method="near_far@cuda")
    assert [solve().stats["form"] for _ in range(4)] == ["sifted"] * 4
    # a requested form waits for its compilation
    assert solve(sort_rows=True).stats["form"] == "sorted"
    held_compiler.set()
    compiler.finish_background()
    assert forms_of(graph, 2) == ["sorted", "sorted"]


def test_the_fastest_width_is_used_while_the_form_of_another_is_compiled(
    held_compiler: threading.Event,
) -> None:
    graph = nearfar.generate("grid", rows=12, columns=2000)
    solve = functools.partial(nearfar.sssp, graph, 0, method="near_far@cuda")
    solve()
    history = forms.history_of(graph)
    usual = history.grown["plain"] = forms.Width(1.0, 1.0)
    delta = solve().stats["delta"]
    other = usual._replace(first=8.0, rounds=0)
    for solves in (2, 3):
        history.widths["plain"]._next[usual] = other
        assert solve().stats["delta"] == delta
        assert history.widths["plain"].times.keys() == {usual}
        assert history.widths["plain"].solves(usual) == solves
    held_compiler.set()
    compiler.finish_background()
    history.widths["plain"]._next[usual] = other
    solve()
    assert history.widths["plain"].solves(other) == 1


@pytest.mark.parametrize(("local", "form"), [(0, "sifted"), (1 << 20, "plain")])
def test_skewed_graphs_are_sifted_unless_they_are_small(
    local: int, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean degree of 12 is too low for graphs that are solved in one range."""
    monkeypatch.setattr(forms, "_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(forms, "_entries_with", lambda *_: local)
    graph = undirected(700, 2800, hub=1500)
    assert 7 < graph.mean_degree < 16
    assert forms_of(graph, 1) == [form]


def test_a_skewed_graph_with_a_long_path_is_solved_plainly_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sifted solves take a step of the whole device for every vertex of the path."""
    monkeypatch.setattr(forms, "_MANY_STEPS", 40)
    monkeypatch.setattr(forms, "_STEP_SECONDS", 1.0)
    monkeypatch.setattr(forms, "_HOPELESS", 1e9)  # the emulator's times vary
    monkeypatch.setattr(forms, "_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(forms, "_entries_with", lambda *_: 0)  # not small
    graph = undirected(700, 2800, hub=1500, tail=100)
    assert forms_of(graph, 2) == ["sifted", "plain"]


def test_blocks_advance_on_their_own_unless_rows_are_long() -> None:
    """They leave rows of more than 64 edges to the whole device, which costs two steps for one."""
    steps = {}
    for degree in (40, 90):
        graph = nearfar.generate("uniform_random", vertices=600, degree=degree)
        options = {"sort_rows": False, "shortcuts": False}
        steps[degree] = nearfar.sssp(graph, 0, method="near_far@cuda", **options).stats
    assert steps[40]["local_steps"] > 0
    assert steps[90]["local_steps"] == 0


def test_rows_are_sorted_once_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = undirected(100, 2000)
    monkeypatch.setattr(forms, "_SKEWED", 1.0)
    monkeypatch.setattr(forms, "_HUB", 1.0)
    monkeypatch.setattr(forms, "_HOPELESS", 1e9)  # the emulator's times vary
    monkeypatch.setattr(forms, "_SORT_SECONDS", 1e9)
    assert forms_of(graph, 2) == ["sifted", "sifted"]
    monkeypatch.setattr(forms, "_SORT_SECONDS", 1e-12)
    assert forms_of(graph, 2) == ["sorted", "sorted"]
    assert forms_of(graph, 1, sort_rows=False) == ["plain"]
    assert forms_of(graph, 1, delta=5) == ["plain"]
    assert forms_of(undirected(100, 2000), 2) == ["sifted", "sorted"]
    sparse = undirected(100, 150)
    assert forms_of(sparse, 2) == ["plain", "plain"]


@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_delta_grows_on_a_mesh_whose_near_set_is_thin(dtype: str) -> None:
    """The mean degree, six, does not matter: fewer steps, and the same distances."""
    mesh = nearfar.generate("delaunay", vertices=4000, weight_dtype=dtype)
    want = oracle.dijkstra(mesh, 0)
    found = {}
    for growth in (1, 12):
        options = {"delta_growth": growth, "local_limit": 0, "target_near": 200}
        paths = nearfar.sssp(mesh, 0, method="near_far@cuda", **options)
        np.testing.assert_array_equal(paths.distances, want)
        found[growth] = paths.stats
    assert found[1]["last_delta"] == found[1]["delta"]
    assert found[12]["last_delta"] > 2 * found[12]["delta"]
    assert found[12]["iterations"] < 0.7 * found[1]["iterations"]


@pytest.mark.parametrize("growth", [4, None])
def test_delta_grows_as_long_as_ranges_take_no_longer(growth: float | None) -> None:
    """Every range of a star takes one step, however wide it is."""
    leaves = np.arange(1, 4_001)
    graph = Graph.from_edges(np.zeros(4_000, int), leaves, leaves.astype(np.int32))
    options = {"delta": 1, "delta_growth": growth, "target_near": 1 << 20}
    paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options)
    np.testing.assert_array_equal(paths.distances, np.arange(4_001))
    assert paths.stats["last_delta"] == 4 if growth else paths.stats["last_delta"] > 50


@pytest.mark.parametrize(
    ("splits", "reach", "width"),
    [(32, 320, (1, 10)), (32, 960, (1, 30)), (32, 16, (0.5, 1)), (4, 40, (1, 12))],
)
def test_later_solves_begin_with_the_mean_width_of_the_first(
    splits: int, reach: float, width: tuple[float, float]
) -> None:
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [3, 4, 9])
    stats = nearfar.sssp(graph, 0, method="near_far@cuda", delta=100).stats
    assert stats["last_delta"] == stats["delta"] == 100
    form = forms.Form("plain")
    assert forms.may_grow(forms.history_of(graph), form) == forms.GROWTHS
    first = {**SOLVED, "splits": splits, "last_threshold": float(reach)}
    forms.learn(graph, forms.history_of(graph), form, first, width=True)
    assert forms.may_grow(forms.history_of(graph), form) == 0
    assert forms.history_of(graph).width(form.kind) == forms.Width(*width)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_delta_stays_where_wider_ranges_repeat_work(dtype: str) -> None:
    """The near set of a strip is thin, but wider ranges take longer for their width."""
    strip = nearfar.generate("grid", rows=12, columns=2000)
    graph = as_dtype(strip, dtype)
    want = oracle.dijkstra(graph, 0)
    grown = {}
    for growth in (12, None):
        options = {"delta": 50 * graph.mean_weight, "delta_growth": growth, "target_near": 1 << 20}
        paths = nearfar.sssp(graph, 0, method="near_far@cuda", **options)
        np.testing.assert_array_equal(paths.distances, want)
        grown[growth] = paths.stats["last_delta"] / paths.stats["delta"]
    assert grown[None] < grown[12] == pytest.approx(12)


def test_small_graphs_are_solved_in_one_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_AT_ONCE", AT_ONCE)
    few, many = undirected(300, 1200), undirected(600, 2400)  # two multiprocessors
    stats = [nearfar.sssp(graph, 0, method="near_far@cuda").stats for graph in (few, many)]
    assert stats[0]["splits"] == 0 < stats[1]["splits"]
    at_once, usual = forms.Width(256, 12), forms.Width(1, 12)
    form = forms.Form("plain")
    assert forms.history_of(few).width(form.kind) == at_once
    found = [at_once]
    while usual not in found and len(found) < 20:
        seconds = 1.0 + len(found) / 10
        stats = {**SOLVED, "splits": 0, "device_seconds": seconds}
        forms.learn(few, forms.history_of(few), form, stats, width=True)
        found.append(forms.history_of(few).width(form.kind))
    assert found[-1] == usual


@pytest.mark.parametrize("directed", [False, True])
def test_forests_are_solved_in_one_range(directed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_AT_ONCE", AT_ONCE)
    below, tree = np.arange(1, 2000), {}
    above, weights = (below - 1) // 3, np.random.default_rng(2).integers(1, 999, len(below))
    for ring in ([], [0]):
        ends = np.r_[above, ring].astype(int), np.r_[below, [1999] * len(ring)].astype(int)
        graph = Graph.from_edges(*ends, np.r_[weights, ring].astype(np.int32), directed=directed)
        paths = nearfar.sssp(graph, 0, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        tree[not ring] = paths.stats["splits"]
    assert tree[True] == 0 < tree[False]
    for end in ({"targets": [1]}, {"limit": float(paths.distances[1])}):
        stats = nearfar.sssp(graph, 0, method="near_far@cuda", **end).stats
        assert stats["edges_relaxed"] < paths.stats["edges_relaxed"]


@pytest.mark.parametrize(("degree", "grows"), [(4, False), (1, True)])
def test_delta_does_not_grow_before_a_set_that_grows_by_itself(degree: int, grows: bool) -> None:
    """A tree has 4, 16, 64... vertices, the target 100; a chain stays thin."""
    layers = [degree**layer for layer in range(6 if degree > 1 else 300)]
    starts = np.concatenate([[0], np.cumsum(layers)])
    tails = [np.repeat(np.arange(starts[i], starts[i + 1]), degree) for i in range(len(layers) - 1)]
    heads = np.arange(1, starts[-1])
    graph = Graph.from_edges(np.concatenate(tails), heads, np.full(len(heads), 10, np.int32))
    options = {"delta": 10, "delta_growth": 64, "target_near": 100, "local_limit": 0}
    stats = nearfar.sssp(graph, 0, method="near_far@cuda", **options).stats
    assert (stats["last_delta"] > 8 * stats["delta"]) == grows


@pytest.mark.parametrize(
    ("first", "growth"),
    [(1, 12), (1, 1), (1, 3), (1, 48), (4, 12), (2, 1), (1 / 4, 3), (1 / 16, 1)],
)
@pytest.mark.parametrize("rounds", forms.ROUNDS)
def test_the_width_that_was_fastest_stays(first: float, growth: float, rounds: int) -> None:
    fastest = forms.Width(first, growth, rounds)
    found = widths(lambda width: steps_between(width, fastest), 9, work=9 if first < 1 else 1)
    usual = forms.Width(1, 12)
    assert found[:2] == [usual, usual]  # the first solve is not counted
    assert found[-10:] == [fastest] * 10
    assert len(set(found)) <= 28


@pytest.mark.parametrize(("first", "growth"), [(8, 12), (16, 12), (1 / 8, 256), (1 / 64, 256)])
def test_a_faster_width_behind_slower_ones_is_found(first: float, growth: float) -> None:
    fastest = forms.Width(first, growth)

    def loss(width: forms.Width) -> float:
        near = 1 / 4 <= width.first <= 4
        away = abs(np.log2(width.first / first))
        return 0.5 if width == forms.Width(1, 12) else 1.0 if near else 0.1 * away

    assert abs(np.log2(widths(loss, 9, work=1)[-1].first / fastest.first)) <= 1


@pytest.mark.parametrize(("block_rounds", "tried"), [(10, {1000, 8, 2, 0}), (10**6, {1000, 8, 0})])
def test_rounds_are_compared_where_more_barriers_cost_little(
    block_rounds: int, tried: set[int]
) -> None:
    """A million barriers would take four seconds; with a wide range no rounds are tried, too."""
    found = widths(lambda width: 0.0, 9, work=1, block_rounds=block_rounds)
    assert {width.rounds for width in found} == tried
    first = {width.rounds for width in found[2:5]}  # after the usual width
    assert first == (tried - {1000} if block_rounds == 10 else {1000})


def test_a_usual_width_that_was_unlucky_is_measured_again() -> None:
    usual, seen = forms.Width(1, 12), []

    def loss(width: forms.Width) -> float:
        seen.append(width)
        return 0.3 if width != usual else 0.35 if seen.count(usual) == 2 else 0.0

    assert widths(loss, 9, work=1)[-1] == usual


@pytest.mark.parametrize("shortcuts", [False, True])
def test_rows_that_lead_past_vertices_are_compared_with_rows_that_do_not(shortcuts: bool) -> None:
    found = widths(lambda width: float(width.past), 9, work=1, shortcuts=shortcuts)
    assert found[-1].past is not shortcuts
    assert {width.past for width in found} == ({True, False} if shortcuts else {True})


def test_solves_without_local_steps_find_rows_by_their_offsets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(one_launch, "meanwhile", lambda *_: None)  # waits for kernels
    graph, taken = nearfar.generate("road_like", vertices=400), []
    for _ in range(60):
        width = forms.history_of(graph).width("plain")
        paths = nearfar.sssp(graph, 0, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        assert ("pack_seconds" in paths.stats) == (width.rounds > 0)
        assert paths.stats.get("shortcuts", False) <= width.past
        taken.append(width)
    assert 0 in {width.rounds for width in taken}
    assert {width.past for width in taken} == {True, False}


def test_another_form_does_not_count_for_a_width() -> None:
    graph, form = undirected(100, 150), forms.Form("plain", past=False)
    history = forms.history_of(graph)
    for _ in range(3):
        forms.learn(
            graph, forms.history_of(graph), form, {**SOLVED, "device_seconds": 0.1}, width=True
        )
    assert not history.widths
    forms.learn(graph, forms.history_of(graph), forms.Form("plain"), SOLVED, width=True)
    assert history.mean("plain") == 1.0


def test_rounds_do_not_matter_without_local_steps() -> None:
    found = widths(lambda width: 0.0, 9, work=1, block_rounds=0)
    assert {width.rounds for width in found} == {forms.ROUNDS[0]}


@pytest.mark.parametrize("first", [1, 4, 1 / 4, 1 / 64])
def test_one_bucket_depends_on_the_first_delta_alone(first: float) -> None:
    found = widths(lambda width: abs(np.log2(width.first / first)), 2, work=1)
    assert {width.growth for width in found} == {12}
    assert found[-1].first == first
    assert len(set(found)) <= 18


def test_a_width_that_was_fast_once_by_chance_is_left() -> None:
    lucky, seen = forms.Width(2, 12), []

    def loss(width: forms.Width) -> float:
        seen.append(width)
        return 0.0 if width != lucky else -0.5 if seen.count(lucky) == 1 else 0.5

    assert lucky in widths(loss, 9, work=1)
    assert seen[-1] != lucky


def steps_between(width: forms.Width, other: forms.Width) -> float:
    """Return the doublings, and changes of rounds, from one width to another."""
    rounds = [forms.ROUNDS.index(one.rounds) for one in (width, other)]
    doublings = np.abs(np.log2(np.array(width[:2]) / np.array(other[:2]))).sum()
    return float(doublings + abs(rounds[0] - rounds[1]))


def widths(
    loss: Callable[[forms.Width], float],
    splits: int,
    work: float,
    block_rounds: int = 3,
    *,
    shortcuts: bool = False,
) -> list[forms.Width]:
    """Return the widths of 60 solves that lose the given seconds."""
    graph, form = undirected(100, 150), forms.Form("plain")
    found = []
    for _ in range(60):
        found.append(width := forms.history_of(graph).width(form.kind))
        form = forms.Form("plain", alone=width.rounds > 0, past=width.past)
        stats = {**SOLVED, "splits": splits, "edges_relaxed": work * graph.n_edges}
        stats |= {"device_seconds": 1.0 + loss(width), "block_rounds": block_rounds}
        stats["shortcuts"] = shortcuts and width.past
        forms.learn(graph, forms.history_of(graph), form, stats, width=True)
    return found


def test_a_form_that_lost_is_not_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_SKEWED", 1.0)
    monkeypatch.setattr(forms, "_HUB", 1.0)
    monkeypatch.setattr(forms, "_SORT_SECONDS", 1e-12)
    graph = undirected(100, 2000)
    assert forms_of(graph, 2) == ["sifted", "sorted"]
    stats = {**SOLVED, "device_seconds": 1e9}
    forms.learn(graph, forms.history_of(graph), forms.Form("sorted"), stats, width=True)
    assert forms_of(graph, 2) == ["sifted", "sifted"]
    stats["device_seconds"] = 1e-9
    forms.learn(graph, forms.history_of(graph), forms.Form("plain"), stats, width=True)
    assert forms_of(graph, 1) == ["plain"]


def test_rows_of_directed_graphs_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_SORT_SECONDS", 1e-12)
    both = undirected(100, 2000)
    graph = Graph(both.indptr, both.indices, both.weights)
    assert forms_of(graph, 3) == ["plain"] * 3
    assert forms_of(both, 2)[1] == "sorted"


def test_a_form_may_lose_a_little_for_three_solves() -> None:
    graph = undirected(100, 2000)
    history = forms.history_of(graph)
    for kind, seconds in (("plain", 1.0), *[("sorted", 1.5)] * 2):
        stats = {**SOLVED, "device_seconds": seconds}
        forms.learn(graph, forms.history_of(graph), forms.Form(kind), stats, width=True)
        assert not history.lost("sorted")
    forms.learn(graph, forms.history_of(graph), forms.Form("sorted"), stats, width=True)
    assert history.lost("sorted")


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("width", [forms.GROWTHS, 1 / 16])
def test_a_width_that_takes_too_long_is_given_up(
    width: float, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One range repeats work and many take long; the solve goes on with the fastest width."""
    graph = as_dtype(nearfar.generate("grid", rows=12, columns=2000), dtype)
    want = oracle.dijkstra(graph, 0)
    solve = functools.partial(nearfar.sssp, graph, 0, method="near_far@cuda")
    solve()
    history = forms.history_of(graph)
    usual = history.grown["plain"] = forms.Width(1.0, 1.0)
    before = solve().stats
    other = usual._replace(first=width, rounds=8)
    found = {}
    for late in (1e9, 0.1):
        monkeypatch.setattr(forms, "_LATE", late)
        history.widths["plain"]._next[usual] = other
        assert forms.history_of(graph).width("plain") == other
        paths = solve()
        np.testing.assert_array_equal(paths.distances, want)
        found[late] = paths.stats
        history.widths["plain"].times.pop(other)
    mean = before["last_threshold"] / (before["splits"] + 1)
    assert found[1e9]["last_delta"] == found[1e9]["delta"] != pytest.approx(mean)
    assert found[0.1]["last_delta"] == pytest.approx(mean)
    assert found[1e9]["rescans"] == 0
    assert found[0.1]["rescans"] == (width > 1)


def test_few_heavy_edges_do_not_widen_delta() -> None:
    rng = np.random.default_rng(1)
    ends, even = rng.integers(0, 100, (2, 300)), rng.random(300)
    heavy = even.copy()
    heavy[::10] = 1e6
    deltas = []
    for weights in (even, heavy):
        graph = Graph.from_edges(*ends, weights, n_vertices=100)
        paths = nearfar.sssp(graph, 0, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, 0))
        deltas.append(paths.stats["delta"])
    assert 1.5 < deltas[1] / deltas[0] < 3


def test_a_form_without_room_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = one_launch._engine

    def refuse(graph: Graph, options: object, form: forms.Form) -> object:
        if form.bits:
            raise OutOfMemoryError(2, 1, "none")
        return engine(graph, options, form)

    monkeypatch.setattr(forms, "_SORT_SECONDS", 1.0)
    monkeypatch.setattr(forms, "_LARGE", 1)
    monkeypatch.setattr(one_launch, "_engine", refuse)
    graph = undirected(600, 2400)
    assert forms_of(graph, 3) == ["plain", "plain", "plain"]
    with pytest.raises(OutOfMemoryError):
        nearfar.sssp(graph, 0, method="near_far@cuda", distance_bits=8)


def test_distances_are_packed_where_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_SORT_SECONDS", 1.0)
    monkeypatch.setattr(forms, "_LARGE", 1)
    graph = undirected(600, 2400)
    assert forms_of(graph, 3) == ["packed", "packed", "packed"]
    assert forms_of(graph, 1, distance_bits=0) == ["plain"]
    assert forms_of(as_dtype(graph, "float32"), 2) == ["plain", "plain"]


def test_distances_that_fit_less_than_was_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path of tripled edges has the degrees of a random graph but is far deeper."""
    monkeypatch.setattr(forms, "_SORT_SECONDS", 1.0)
    monkeypatch.setattr(forms, "_LARGE", 1)
    heads = np.repeat(np.arange(599), 3)
    sources, targets = np.append(heads, heads + 1), np.append(heads + 1, heads)
    graph = Graph.from_edges(sources, targets, np.ones(len(sources), np.int32), n_vertices=600)
    assert graph.mean_degree > forms.ROAD_LIKE
    assert forms_of(graph, 2) == ["plain", "packed"]  # 8 bits fail, then 16 are used
    assert forms_of(graph, 1, distance_bits=8) == ["plain"]
    assert forms_of(graph, 1, distance_bits=16) == ["packed"]


def test_a_farther_source_is_solved_again_with_whole_distances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first source reaches a small part; distances from the second one do not fit."""
    monkeypatch.setattr(forms, "_SORT_SECONDS", 1.0)
    monkeypatch.setattr(forms, "_LARGE", 1)
    near = undirected(200, 800)
    arrays = [
        near.tails(np.int64),
        near.indices,
        near.weights // 100,
    ]
    sources, targets = np.append(arrays[0], 200), np.append(arrays[1], 0)
    weights = np.append(arrays[2], 10**6).astype(np.int32)
    graph = Graph.from_edges(sources, targets, weights, n_vertices=201)
    for source, form in ((0, "packed"), (0, "packed"), (200, "plain"), (0, "plain")):
        paths = nearfar.sssp(graph, source, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, oracle.dijkstra(graph, source))
        assert paths.stats["form"] == form


def test_one_wide_vertex_does_not_make_a_graph_skewed() -> None:
    """Regression: a banded matrix whose last vertex had 125 times the mean degree was sifted."""
    rng = np.random.default_rng(0)
    s = np.repeat(np.arange(20_000), 8)
    t = np.minimum(s + 1 + rng.integers(0, 500, len(s)), 19_999)
    banded = Graph.from_edges(s, t, n_vertices=20_000, directed=False)
    t[::20] = rng.integers(0, 4, len(t[::20]))  # 4 hubs with a twentieth of the edges
    with_hubs = Graph.from_edges(s, t, n_vertices=20_000, directed=False)
    assert not forms.is_skewed(banded)
    assert not forms.is_skewed(device_form(banded))
    assert forms.is_skewed(with_hubs)
    assert forms.is_skewed(device_form(with_hubs))


def test_one_range_is_tried_where_there_are_few() -> None:
    found = forms._Latest(1.0, 10, 1.2, 5, shortcuts=False)
    near = functools.partial(forms._neighbours, forms.Width(1.0, 12.0), grows=True, initial=False)
    assert forms.Width(256.0, 1.0) in near(found)
    found.splits = 100
    assert forms.Width(256.0, 1.0) not in near(found)


def test_a_width_that_is_only_compared_does_not_end_packed_distances() -> None:
    """Regression: a narrow width had so many splits that packed distances were given up."""
    graph, form = undirected(100, 600), forms.Form("packed", 8, scan=True)
    widths = set()
    for _ in range(40):
        widths.add(width := forms.history_of(graph).width("packed"))
        stats = {**SOLVED, "splits": 90 if width.growth == 1 else 5}
        stats |= {"last_threshold": 40 * width.first, "device_seconds": 2.0 - (width.first == 1)}
        forms.learn(graph, forms.history_of(graph), form, stats, width=True)
    history = forms.history_of(graph)
    assert {width.growth for width in widths} >= {1, 12}
    assert (history.splits, history.first_splits, history.reach) == (90, 5, 40)
