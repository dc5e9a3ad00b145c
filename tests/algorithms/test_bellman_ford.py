"""Bellman-Ford: every form against plain rounds, proven cycles, known sums, no false alarms."""

from __future__ import annotations

import lzma
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar.cpu.potentials import cycle_total, negative_cycle_error
from nearfar.errors import GraphError, NegativeCycleError, SolverError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.solve.negative_cycles import find_negative_cycle
from tests.datafiles import data_path

FORMS = [
    "bellman_ford",
    "bellman_ford_queue",
    "bellman_ford_edge_classes",
    "tarjan_subtree",
    "goldberg_radzik",
]
DTYPES = [np.int32, np.int64, np.float32, np.float64]
SPLIB = [
    *("acyc_neg-00", "acyc_p2n-15", "acyc_pos-00", "grid_nhard-00", "grid_phard-00"),
    *("grid_slong-05", "grid_ssquare-05", "grid_ssquare-10", "grid_ssquare_s-05"),
    *("grid_swide-05", "rand_1-4-00", "rand_4-05", "rand_4-10"),
]


def reference(graph: Graph, source: int):
    """Return distances by n rounds over every edge, or None for a reachable negative cycle."""
    weights = graph.effective_weights.tolist()
    edges = [
        (v, int(graph.indices[i]), weights[i])
        for v in range(graph.n_vertices)
        for i in range(int(graph.indptr[v]), int(graph.indptr[v + 1]))
    ]
    distance = {source: 0}
    for _ in range(graph.n_vertices + 1):
        changed = False
        for u, v, w in edges:
            if u in distance and distance[u] + w < distance.get(v, math.inf):
                distance[v], changed = distance[u] + w, True
        if not changed:
            out = np.full(graph.n_vertices, unreached_value(graph.weight_dtype))
            for v, d in distance.items():
                out[v] = d
            return out
    return None


def random_graph(rng, dtype, low, high):
    n = int(rng.integers(1, 14))
    m = int(rng.integers(0, 4 * n))
    weights = rng.integers(low, high, m).astype(dtype)
    return Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), weights, n_vertices=n)


def check_cycle(graph, source, error):
    assert len(set(error.cycle)) == len(error.cycle)
    assert cycle_total(graph, error.cycle) == error.total < 0
    hops = nearfar.sssp(graph.without_weights(), source, method="bellman_ford")
    assert all(hops.distances[v] < np.iinfo(np.int32).max for v in error.cycle)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_graphs_against_plain_rounds(form, dtype):
    rng = np.random.default_rng(11)
    cycles = 0
    for trial in range(400):
        graph = random_graph(rng, dtype, -3 if trial % 2 else -1, 12)
        source = int(rng.integers(graph.n_vertices))
        wanted = reference(graph, source)
        if wanted is None:
            cycles += 1
            with pytest.raises(NegativeCycleError) as caught:
                nearfar.sssp(graph, source, method=f"{form}@cpu")
            check_cycle(graph, source, caught.value)
        else:
            got = nearfar.sssp(graph, source, method=f"{form}@cpu")
            np.testing.assert_array_equal(got.distances, wanted)
            assert got.distances.dtype == np.dtype(dtype)
    assert 40 < cycles < 360


@pytest.mark.parametrize("form", FORMS)
def test_unreachable_cycle_is_no_error(form):
    graph = Graph.from_edges([0, 2, 3], [1, 3, 2], [5, -2, 1], n_vertices=4)
    assert nearfar.sssp(graph, 0, method=f"{form}@cpu").distances.tolist()[:2] == [0, 5]
    with pytest.raises(NegativeCycleError) as caught:
        nearfar.sssp(graph, 2, method=f"{form}@cpu")
    assert sorted(caught.value.cycle) == [2, 3]
    assert caught.value.total == -1


@pytest.mark.parametrize("form", FORMS)
def test_negative_self_loop_and_self_loop_that_does_no_harm(form):
    graph = Graph.from_edges([0, 1, 1], [1, 1, 2], [1, -1, 1])
    with pytest.raises(NegativeCycleError) as caught:
        nearfar.sssp(graph, 0, method=f"{form}@cpu")
    assert caught.value.cycle == [1]
    fine = Graph.from_edges([0, 0, 1, 1], [0, 1, 1, 2], [0, -1, 3, 1])
    assert nearfar.sssp(fine, 0, method=f"{form}@cpu").distances.tolist() == [0, -1, 0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("weights", "negative"),
    [
        ([0.1, 0.2, -0.3], False),  # exact sum 2.8e-17
        (
            [0.3, -0.1, -0.2],
            False,
        ),  # exact sum of the doubles is below zero by less than one rounding
        ([0.9, 0.9, -1.8], False),
        ([1e16, 1.0, -1e16], False),
        ([1.0, 1e-9, -1.0 - 1e-9 - 1e-12], True),
        ([1.0, -1.0, -5e-324], None),
    ],
)
def test_float_cycles_near_zero_end_and_raise_no_false_alarm(form, weights, negative):
    for start in (0.0, 1e16, -1e16, 0.1):
        graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 1], [start, *weights], n_vertices=4)
        total = None
        try:
            nearfar.sssp(graph, 0, method=f"{form}@cpu")
        except NegativeCycleError as error:
            total = error.total
        if total is None:
            assert negative is not True or abs(start) > 1
        else:
            assert total == math.fsum(weights) < 0


@given(
    st.lists(st.integers(-60, 60), min_size=2, max_size=7),
    st.floats(-1e17, 1e17),
    st.sampled_from(FORMS),
)
def test_cycles_of_exact_weight_zero_never_alarm(steps, start, form):
    """Differences of potentials sum to zero around a cycle, as do arbitrage-free rates."""
    potentials = np.array(steps, dtype=np.float64) / 8
    k = len(steps)
    weights = potentials - np.roll(potentials, -1)
    ring = Graph.from_edges(
        [k, *range(k)], [0, *[(i + 1) % k for i in range(k)]], [start, *weights], n_vertices=k + 1
    )
    assert math.fsum(weights) == 0
    assert nearfar.sssp(ring, k, method=f"{form}@cpu").n_reached == k + 1
    assert find_negative_cycle(ring) is None


@pytest.mark.parametrize("form", FORMS)
def test_sums_below_32_bits_are_repeated_in_64(form):
    big = -(2**31) + 5
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], np.array([big, big, 7], dtype=np.int32))
    got = nearfar.sssp(graph, 0, method=f"{form}@cpu").distances
    assert got.dtype == np.int64
    assert got.tolist() == [0, big, 2 * big, 2 * big + 7]


@pytest.mark.parametrize("form", FORMS)
def test_cycle_is_found_long_before_n_rounds(form):
    """A cycle near the start of a path of 20,000 vertices; n rounds cost n times m edges."""
    n = 20_000
    rows = np.arange(n)
    graph = Graph.from_edges(
        np.concatenate([rows[:-1], [50, 51]]),
        np.concatenate([rows[1:], [51, 50]]),
        np.concatenate([np.ones(n - 1), [-3, 1]]).astype(np.int32),
    )
    with pytest.raises(NegativeCycleError) as caught:
        nearfar.sssp(graph, 0, method=f"{form}@cpu")
    assert sorted(caught.value.cycle) == [50, 51]


def test_full_statistics_add_up():
    rng = np.random.default_rng(2)
    graph = Graph.from_edges(rng.integers(0, 500, 3000), rng.integers(0, 500, 3000), n_vertices=500)
    for form in FORMS:
        stats = nearfar.sssp(graph, 0, method=f"{form}@cpu", trace=True).stats
        assert len(stats["frontier"]) == len(stats["edges"]) == stats["iterations"]
        assert stats["edges"].sum() == stats["edges_relaxed"]
        assert stats["frontier"].sum() == stats["vertices_processed"]


def test_certificate_refuses_what_is_no_negative_cycle():
    graph = Graph.from_edges([0, 1, 1], [1, 0, 0], [2, -1, 4])
    assert cycle_total(graph, [0, 1]) == 1
    with pytest.raises(GraphError, match="no edge leads from vertex 0 to vertex 0"):
        cycle_total(graph, [0])
    with pytest.raises(SolverError, match="has weight 1"):
        negative_cycle_error(graph, [0, 1])


def test_find_negative_cycle_anywhere():
    graph = Graph.from_edges([0, 1, 2, 3, 4], [1, 2, 0, 4, 3], [1, 1, -1, 2, -3])
    assert find_negative_cycle(graph) == ([3, 4], -1)
    assert find_negative_cycle(Graph.from_edges([0, 1], [1, 0], [3, -3])) is None
    assert find_negative_cycle(Graph.from_edges([], [], n_vertices=3)) is None
    wide = Graph.from_edges([0, 1], [1, 0], np.array([-(2**31), 2**31 - 1], dtype=np.int64))
    assert find_negative_cycle(wide).total == -1
    narrow = Graph.from_edges([0, 1, 2], [1, 2, 0], np.array([-(2**31), -2, 9], dtype=np.int32))
    assert find_negative_cycle(narrow).total == -(2**31) + 7


def splib_sums():
    """Return source and sum of distances of every instance in the table."""
    with lzma.open(data_path("negative-splib/splib-expected.tsv.xz"), "rt") as lines:
        cells = [line.split("\t") for line in list(lines)[1:]]
    return {row[0].removeprefix("splib-"): (int(row[3]), int(row[4])) for row in cells}


@pytest.mark.data
def test_splib_files_are_all_tested():
    files = {path.name for path in data_path("negative-splib").glob("*.sp.xz")}
    assert files == {f"splib-{name}.sp.xz" for name in SPLIB}
    assert set(SPLIB) <= splib_sums().keys()


@pytest.mark.data
@pytest.mark.parametrize("name", SPLIB)
def test_splib_known_sums(name):
    source, total = splib_sums()[name]
    graph = nearfar.read(data_path(f"negative-splib/splib-{name}.sp.xz")).astype(np.int64)
    for form in FORMS:
        got = nearfar.sssp(graph, source, method=f"{form}@cpu").distances
        assert int(got[got < np.iinfo(np.int64).max].sum()) == total, form


@pytest.mark.data
def test_bitcoin_trust_has_a_negative_cycle():
    with lzma.open(data_path("negative-real/soc-sign-bitcoinalpha.csv.xz"), "rt") as lines:
        rows = [line.split(",") for line in lines if line[0].isdigit()]
    table = np.array([[int(c) for c in row[:3]] for row in rows])
    graph = Graph.from_edges(table[:, 0], table[:, 1], table[:, 2].astype(np.int32))
    found = find_negative_cycle(graph)
    assert found is not None
    assert cycle_total(graph, found.vertices) == found.total < 0
    for form in FORMS:
        with pytest.raises(NegativeCycleError):
            nearfar.sssp(graph, found.vertices[0], method=f"{form}@cpu")


@pytest.mark.data
def test_exchange_rates_alarm_only_when_rounded():
    with lzma.open(data_path("negative-real/eurofxref-hist.csv.xz"), "rt") as lines:
        lines.readline()
        cells = lines.readline().split(",")[1:]
    rates = np.array([1.0] + [float(c) for c in cells if c.strip() not in ("", "N/A")])
    cross = rates[None, :] / rates[:, None]
    k = len(rates)
    rows, columns = np.nonzero(~np.eye(k, dtype=bool))
    weights = -np.log(cross[rows, columns])
    exact = Graph.from_edges(rows, columns, np.round(weights, 12), n_vertices=k)
    found = find_negative_cycle(exact)
    assert found is None or -1e-10 < found.total < 0
    rounded = np.array([float(f"{x:.4g}") for x in cross[rows, columns]])
    quoted = Graph.from_edges(rows, columns, -np.log(rounded), n_vertices=k)
    found = find_negative_cycle(quoted)
    assert found is not None
    gain = math.prod(
        rounded[(rows == u) & (columns == v)][0]
        for u, v in zip(found.vertices, [*found.vertices[1:], found.vertices[0]], strict=True)
    )
    assert gain > 1


def test_cycle_command(tmp_path, capsys):
    from nearfar.cli.main import main

    file = tmp_path / "loop.gr"
    file.write_text("p sp 3 3\na 1 2 1\na 2 3 -3\na 3 1 1\n")
    assert main(["cycle", str(file)]) == 5
    assert "total -1" in capsys.readouterr().out
    file.write_text("p sp 3 3\na 1 2 1\na 2 3 -3\na 3 1 2\n")
    assert main(["cycle", str(file)]) == 0
    assert capsys.readouterr().out == "no negative cycle\n"


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_many_cycles_of_weight_zero_are_not_walked(dtype: str) -> None:
    """Walking the path for each edge that closes one took a thousand times as long."""
    rng = np.random.default_rng(1)
    n = 20_000
    tails, heads = rng.integers(0, n, (2, 6 * n))
    shift = np.where(rng.random(n) < 0.01, rng.integers(0, 50, n), 0)
    weights = (shift[tails] - shift[heads]).astype(dtype)
    graph = Graph.from_edges(tails, heads, weights, n_vertices=n)
    assert graph.n_negative
    began = time.process_time()
    paths = nearfar.sssp(graph, 0, method="goldberg_radzik")
    assert time.process_time() - began < 0.5
    reached = np.asarray(paths.reachable)
    np.testing.assert_array_equal(paths.distances[reached], (shift[0] - shift)[reached])
