"""nearfar.csgraph against SciPy's own answers, and its intended differences."""

from __future__ import annotations

import inspect
import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs

import nearfar
import nearfar.csgraph as ours
from nearfar.errors import GraphError, NegativeCycleError, OptionError

FUNCTIONS = ["dijkstra", "bellman_ford", "johnson", "shortest_path", "floyd_warshall"]


def random_matrix(
    seed: int, n: int = 40, density: float = 0.1, dtype: type = np.float64
) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    matrix = sp.random_array((n, n), density=density, rng=rng, format="csr")
    matrix.data = rng.integers(1, 9, matrix.nnz).astype(dtype)
    return matrix


def assert_tree(matrix: sp.sparray, distances: np.ndarray, before: np.ndarray, source: int) -> None:
    """Check that the predecessors are tight and lead back to the source."""
    dense = np.full(matrix.shape, np.inf)
    coo = matrix.tocoo()
    np.minimum.at(dense, (coo.row, coo.col), coo.data)
    for v in range(len(distances)):
        p = before[v]
        if v == source or np.isinf(distances[v]):
            assert p == -9999
            continue
        assert distances[p] + dense[p, v] == distances[v]
        hops = 0
        while v != source:
            v, hops = before[v], hops + 1
            assert hops <= len(distances)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("unweighted", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int64, np.int8])
def test_distances_are_scipys(name: str, directed: bool, unweighted: bool, dtype: type) -> None:
    matrix = random_matrix(3, dtype=dtype)
    options = {"directed": directed, "unweighted": unweighted}
    want = getattr(theirs, name)(matrix, **options)
    got = getattr(ours, name)(matrix, **options)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("directed", [True, False])
def test_predecessors_form_shortest_path_trees(name: str, directed: bool) -> None:
    matrix = random_matrix(4)
    distances, before = getattr(ours, name)(matrix, directed=directed, return_predecessors=True)
    assert before.dtype == np.int32
    both = (
        matrix
        if directed
        else sp.coo_array(
            (
                np.concatenate([matrix.data, matrix.data]),
                (
                    np.concatenate([matrix.tocoo().row, matrix.tocoo().col]),
                    np.concatenate([matrix.tocoo().col, matrix.tocoo().row]),
                ),
            ),
            shape=matrix.shape,
        )
    )
    for source in range(matrix.shape[0]):
        assert_tree(both, distances[source], before[source], source)


@pytest.mark.parametrize("name", ["bellman_ford", "johnson", "shortest_path", "floyd_warshall"])
def test_negative_weights(name: str) -> None:
    rng = np.random.default_rng(5)
    matrix = random_matrix(5).tocoo()
    shift = rng.integers(0, 20, matrix.shape[0])
    matrix.data = matrix.data + shift[matrix.row] - shift[matrix.col]
    matrix = matrix.tocsr()
    want = getattr(theirs, name)(matrix)
    np.testing.assert_array_equal(getattr(ours, name)(matrix), want)
    _, before = getattr(ours, name)(matrix, return_predecessors=True)
    assert_tree(matrix, want[7], before[7], 7)


@pytest.mark.parametrize("limit", [0, 3, 7.5, np.inf])
@pytest.mark.parametrize("indices", [None, 3, -1, [0, 5, 5], [[1, 2], [3, 4]], np.array([2.0])])
def test_dijkstra_limit_and_indices(limit: float, indices: object) -> None:
    matrix = random_matrix(6)
    want = theirs.dijkstra(matrix, indices=indices, limit=limit)
    got = ours.dijkstra(matrix, indices=indices, limit=limit)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("limit", [4, np.inf])
@pytest.mark.parametrize("indices", [None, 3, [0, 5, 11], [[1, 2], [3, 3]], []])
def test_min_only(limit: float, indices: object) -> None:
    matrix = random_matrix(7, n=60, density=0.03)
    want = theirs.dijkstra(matrix, indices=indices, limit=limit, min_only=True)
    got, before, nearest = ours.dijkstra(
        matrix, indices=indices, limit=limit, min_only=True, return_predecessors=True
    )
    np.testing.assert_array_equal(got, want)
    reached = np.isfinite(got)
    assert (nearest[~reached] == -9999).all()
    every = theirs.dijkstra(matrix)
    for v in np.flatnonzero(reached):
        assert every[nearest[v], v] == got[v]
        if before[v] == -9999:
            assert nearest[v] == v
        else:
            assert nearest[before[v]] == nearest[v]


def test_dense_conventions_are_scipys() -> None:
    dense = np.array([[0, np.nan, 2.0], [np.inf, 5, -np.inf], [0, 1, 0]])
    for name in FUNCTIONS:
        np.testing.assert_array_equal(
            getattr(ours, name)(dense), getattr(theirs, name)(dense), err_msg=name
        )
    masked = np.ma.masked_equal(np.array([[0.0, 9, 3], [1, 9, 9], [2, 2, 9]]), 9)
    np.testing.assert_array_equal(ours.dijkstra(masked), theirs.dijkstra(masked))
    assert ours.dijkstra(np.zeros((0, 0))).shape == (0, 0)
    np.testing.assert_array_equal(ours.dijkstra([[0, 1], [2, 0]]), [[0, 1], [2, 0]])


def test_small_dense_weights_are_edges() -> None:
    """SciPy takes weights of at most 1e-8 for missing edges, in dense matrices only."""
    dense = np.array([[0, 1e-9], [0, 0]])
    for name in FUNCTIONS:
        assert getattr(ours, name)(dense)[0, 1] == 1e-9


def test_sparse_conventions_are_scipys() -> None:
    duplicates = sp.coo_array(([1.0, 2, 5], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    parallel = sp.csr_array(([5.0, 2, 1], [1, 1, 2], [0, 2, 3, 3]), shape=(3, 3))
    missing = sp.csr_array(([5.0, np.nan, np.inf], [1, 2, 2], [0, 2, 3, 3]), shape=(3, 3))
    zero = sp.csr_array(([0.0, 4], [1, 2], [0, 1, 2, 2]), shape=(3, 3))
    for matrix in (duplicates, parallel, missing, zero, zero.tocsc(), zero.tolil(), zero.todok()):
        csr = matrix.tocsr()  # SciPy's floyd_warshall takes no COO
        for name in FUNCTIONS:
            np.testing.assert_array_equal(
                getattr(ours, name)(matrix), getattr(theirs, name)(csr), err_msg=name
            )
    assert ours.dijkstra(duplicates)[0, 2] == 8
    assert ours.dijkstra(parallel)[0, 2] == 3


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
@pytest.mark.parametrize("directed", [True, False])
def test_unweighted_counts_what_is_stored_whatever_its_value(value: float, directed: bool) -> None:
    stored = sp.csr_array(([value, 3.0], [1, 2], [0, 1, 2, 2]), shape=(3, 3))
    masked = np.ma.masked_array(stored.toarray(), mask=[[1, 0, 1], [1, 1, 0], [1, 1, 1]])
    for name in ("dijkstra", "bellman_ford", "johnson"):
        for matrix in (stored, masked):
            np.testing.assert_array_equal(
                getattr(ours, name)(matrix, directed=directed, unweighted=True),
                getattr(theirs, name)(matrix, directed=directed, unweighted=True),
                err_msg=f"{name} {type(matrix).__name__}",
            )


@pytest.mark.parametrize("directed", [True, False])
def test_floyd_warshall_counts_no_infinite_entry(directed: bool) -> None:
    """Regression: with ``unweighted=True``, infinities of a masked array were edges."""
    values = np.array([[0, 1, np.inf, 0], [2, 0, 0, 0], [0, 3, 0, np.inf], [0, 0, 0, 0]])
    stored = sp.csr_array(values)
    for matrix in (np.ma.masked_array(values, mask=values == 0), stored, stored.tocsc()):
        np.testing.assert_array_equal(
            ours.floyd_warshall(matrix, directed=directed, unweighted=True),
            theirs.floyd_warshall(matrix, directed=directed, unweighted=True),
        )


@pytest.mark.parametrize("missing", [np.nan, 2.5])
@pytest.mark.parametrize("indices", [0, [0, 1], None])
@pytest.mark.parametrize(
    ("part", "made", "said"),
    [
        ("indptr", [0, 1, 99, 2], "indptr"),
        ("indptr", [0.0, 1, 2, 2], "indptr"),
        ("indptr", [0, 1, 2], "3 entries: a matrix of 3 rows needs 4"),
        ("indices", [1, 7], "edge 1 goes to 7"),
        ("data", [1.0], "1,"),
    ],
)
def test_arrays_changed_by_hand_are_refused(
    part: str, made: list[float], said: str, indices: object, missing: float
) -> None:
    matrix = sp.csr_array(([missing, 3.0], [1, 2], [0, 1, 2, 2]), shape=(3, 3))
    setattr(matrix, part, np.array(made))
    for name in ("dijkstra", "bellman_ford", "johnson"):
        with pytest.raises(GraphError, match=said):
            getattr(ours, name)(matrix, indices=indices)
    with pytest.raises(GraphError):
        nearfar.sssp(matrix, 0)


def test_overwrite_writes_into_the_matrix() -> None:
    dense = random_matrix(8).toarray()
    want = theirs.floyd_warshall(dense)
    got = ours.floyd_warshall(dense, overwrite=True)
    assert got is dense
    np.testing.assert_array_equal(dense, want)


def test_graph_is_taken_as_it_is() -> None:
    matrix = random_matrix(9)
    graph = nearfar.Graph.from_scipy(matrix)
    np.testing.assert_array_equal(
        ours.dijkstra(graph, indices=[1, 2]), theirs.dijkstra(matrix)[1:3]
    )


@pytest.mark.parametrize("method_variant", ["worker_per_source", "lanes", "dijkstra_binary_heap"])
@pytest.mark.parametrize("threads", [1, 2])
def test_extra_arguments(method_variant: str, threads: int) -> None:
    matrix = random_matrix(10)
    got = ours.dijkstra(
        matrix, indices=[1, 2, 3], method_variant=method_variant, threads=threads, device="cpu"
    )
    np.testing.assert_array_equal(got, theirs.dijkstra(matrix, indices=[1, 2, 3]))


# ---- where nearfar raises ----


def test_nan_limit_is_refused() -> None:
    with pytest.raises(OptionError, match="NaN"):
        ours.dijkstra(random_matrix(1), limit=np.nan)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        (1.5, "integer"),
        ([0, np.nan], "integer"),
        ([True, False], "bool"),
        (40, "out of range"),
        (-41, "out"),
    ],
)
def test_indices_that_make_no_sense_are_refused(indices: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ours.dijkstra(random_matrix(1), indices=indices)


def test_limit_below_zero_or_no_number() -> None:
    with pytest.raises(ValueError, match=">= 0"):
        ours.dijkstra(random_matrix(1), limit=-1)
    with pytest.raises(TypeError, match="real number"):
        ours.dijkstra(random_matrix(1), limit=None)


@pytest.mark.parametrize("matrix", [np.zeros((2, 3)), np.zeros(3), sp.csr_array((2, 3)), "abc"])
def test_matrix_that_is_not_square(matrix: object) -> None:
    with pytest.raises(ValueError, match="shape"):
        ours.dijkstra(matrix)


def test_complex_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="real"):
        ours.dijkstra(np.array([[0, 1j], [1, 0]]))


def test_negative_cycle_is_caught_as_scipys_class() -> None:
    matrix = sp.csr_array(np.array([[0, 1.0, 0], [-2, 0, 0], [0, 0, 0]]))
    for name in FUNCTIONS:
        for kind in (theirs.NegativeCycleError, NegativeCycleError, ours.NegativeCycleError):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with pytest.raises(kind):
                    getattr(ours, name)(matrix)
    with pytest.raises(ours.NegativeCycleError) as caught:
        ours.bellman_ford(matrix)
    assert sorted(caught.value.cycle) == [0, 1]


def test_johnson_without_sources_refuses_a_negative_cycle() -> None:
    matrix = sp.csr_array([[0.0, 1.0], [-2.0, 0.0]])
    for solve in (theirs.johnson, ours.johnson):
        with pytest.raises(theirs.NegativeCycleError):
            solve(matrix, indices=[])


def test_cycle_out_of_reach_hurts_johnson_alone() -> None:
    matrix = sp.csr_array(np.array([[0, 1.0, 0, 0], [-5, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]))
    np.testing.assert_array_equal(ours.bellman_ford(matrix, indices=2), [np.inf, np.inf, 0, 1])
    np.testing.assert_array_equal(
        ours.bellman_ford(matrix, indices=[2, 3])[0], [np.inf, np.inf, 0, 1]
    )
    with pytest.raises(ours.NegativeCycleError):
        ours.johnson(matrix, indices=2)


def test_dijkstra_warns_of_negative_weights_and_is_exact() -> None:
    # SciPy's label-setting answer for vertex 3 would depend on the order of the heap.
    matrix = sp.csr_array(np.array([[0, 2.0, 3, 0], [0, 0, 0, 1], [0, -2, 0, 0], [0, 0, 0, 0]]))
    with pytest.warns(UserWarning, match="negative weights"):
        got = ours.dijkstra(matrix, indices=0)
    np.testing.assert_array_equal(got, theirs.bellman_ford(matrix, indices=0))


def test_dijkstra_with_a_negative_self_loop_ends() -> None:
    with (
        pytest.warns(UserWarning, match="negative weights"),
        pytest.raises(ours.NegativeCycleError),
    ):
        ours.dijkstra(np.array([[-1.0, 0], [0, 0]]))


def test_unknown_method_and_indices_of_floyd_warshall() -> None:
    with pytest.raises(ValueError, match="unrecognized method 'X'"):
        ours.shortest_path(random_matrix(1), "X")
    with pytest.raises(ValueError, match="indices"):
        ours.shortest_path(random_matrix(1), "FW", indices=[0])


# ---- trees ----


@pytest.mark.parametrize("directed", [True, False])
def test_construct_dist_matrix(directed: bool) -> None:
    matrix = random_matrix(11)
    distances, before = ours.dijkstra(matrix, directed=directed, return_predecessors=True)
    np.testing.assert_array_equal(
        ours.construct_dist_matrix(matrix, before, directed=directed), distances
    )
    null = ours.construct_dist_matrix(matrix, before, directed=directed, null_value=-1)
    np.testing.assert_array_equal(null, np.where(np.isinf(distances), -1, distances))


def test_construct_dist_matrix_refuses_circles_and_strangers() -> None:
    matrix = sp.csr_array(np.array([[0, 1.0, 1], [0, 0, 1], [0, 1, 0]]))
    circle = np.array([[-9999, 2, 1], [-9999] * 3, [-9999] * 3], dtype=np.int32)
    with pytest.raises(ValueError, match="cycle"):
        ours.construct_dist_matrix(matrix, circle)
    circle[0, 1] = 7
    with pytest.raises(ValueError, match="predecessor 7 is not a vertex"):
        ours.construct_dist_matrix(matrix, circle)
    with pytest.raises(TypeError, match="int32"):
        ours.construct_dist_matrix(matrix, circle.astype(np.int64))


@pytest.mark.parametrize("directed", [True, False])
def test_reconstruct_path(directed: bool) -> None:
    matrix = random_matrix(12)
    _, before = ours.dijkstra(matrix, directed=directed, indices=0, return_predecessors=True)
    want = theirs.reconstruct_path(matrix, before, directed=directed)
    got = ours.reconstruct_path(matrix, before, directed=directed)
    assert got.format == "csr"
    np.testing.assert_array_equal(got.toarray(), want.toarray())
    with pytest.raises(ValueError, match="no edge"):
        ours.reconstruct_path(sp.csr_array((3, 3)), np.array([-9999, 0, 0]))


# ---- k shortest paths ----


def all_simple_paths(matrix: np.ndarray, source: int, target: int) -> list[float]:
    """Return the lengths of all simple paths, by enumeration."""
    found: list[float] = []

    def walk(path: list[int], length: float) -> None:
        if path[-1] == target:
            found.append(length)
            return
        for v in np.flatnonzero(np.isfinite(matrix[path[-1]])):
            if v not in path:
                walk([*path, int(v)], length + float(matrix[path[-1], v]))

    walk([source], 0.0)
    return sorted(found)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("negative", [False, True])
def test_k_shortest_paths_are_all_of_them(seed: int, dtype: type, negative: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 7
    weights = rng.integers(0, 6, (n, n)).astype(dtype)
    if dtype is np.float64 and not negative:
        weights = weights + rng.random((n, n))
    if negative:
        shift = rng.integers(0, 9, n)
        weights = weights + shift[:, None] - shift
    edge = rng.random((n, n)) < 0.5
    np.fill_diagonal(edge, False)
    rows, columns = np.nonzero(edge)
    graph = nearfar.Graph.from_edges(rows, columns, weights[edge].astype(dtype), n_vertices=n)
    want = all_simple_paths(np.where(edge, weights, np.inf), 0, n - 1)
    found = nearfar.k_shortest_paths(graph, 0, n - 1, 10_000)
    assert [length for _, length in found] == want
    assert len({tuple(path) for path, _ in found}) == len(found)
    for path, length in found:
        assert len(set(path)) == len(path)
        total = 0.0
        for u, v in itertools.pairwise(path):
            assert edge[u, v]
            total += weights[u, v]
        assert total == length
    for k in (0, 1, 3):
        assert [length for _, length in nearfar.k_shortest_paths(graph, 0, n - 1, k)] == want[:k]


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("unweighted", [True, False])
def test_yen_is_scipys(directed: bool, unweighted: bool) -> None:
    matrix = random_matrix(13, n=30, density=0.12)
    options = {"directed": directed, "unweighted": unweighted}
    for sink in (3, 17, 29):
        want = theirs.yen(matrix, 0, sink, 25, **options)
        got, before = ours.yen(matrix, 0, sink, 25, return_predecessors=True, **options)
        np.testing.assert_allclose(got, want)
        for row in before:
            at = sink
            while at != 0:
                at = row[at]
                assert at >= 0
    assert list(ours.yen(matrix, 4, 4, 3)) == [0]


def test_yen_refuses() -> None:
    matrix = random_matrix(1)
    for arguments in ((0.5, 1, 1), (0, 99, 1), (0, 1, -1), (0, 1, 1.5)):
        with pytest.raises(ValueError, match=r"integer|must have|0 or more"):
            ours.yen(matrix, *arguments)


def test_signatures_begin_as_scipys() -> None:
    for name in [*FUNCTIONS, "yen", "construct_dist_matrix", "reconstruct_path"]:
        want = [
            (p.name, p.kind, p.default)
            for p in inspect.signature(getattr(theirs, name)).parameters.values()
        ]
        got = [
            (p.name, p.kind, p.default)
            for p in inspect.signature(getattr(ours, name)).parameters.values()
        ]
        assert got[: len(want)] == want, name
        assert all(kind is inspect.Parameter.KEYWORD_ONLY for _, kind, _ in got[len(want) :]), name


def test_scipys_own_tests_pass() -> None:
    from tests.peers import scipy_suite

    outcome = scipy_suite.run()
    assert len(outcome.passed) >= 80
    assert outcome.unexpected == []
    assert outcome.stale == []


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
@pytest.mark.parametrize("directed", [True, False])
def test_a_small_matrix_has_the_answers_of_a_chosen_method(
    index: Any, dtype: Any, directed: bool
) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 9, 60):
        m = 3 * n
        values = rng.integers(0, 4, m).astype(dtype)  # with zero-weight cycles
        if values.dtype.kind == "f":
            values[:: max(1, m // 5)] = np.nan
            values[1 :: max(2, m // 4)] = np.inf if n < 60 else 0
        starts = np.sort(rng.integers(0, m + 1, n + 1)).astype(index)
        starts[0], starts[-1] = 0, m
        matrix = sp.csr_array((values, rng.integers(0, n, m).astype(index), starts), shape=(n, n))
        matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
        some = rng.integers(-n, n, (2, 3))
        calls: list[tuple[str, dict[str, Any]]] = [
            (name, {"directed": directed, "unweighted": unweighted, **more})
            for unweighted in (False, True)
            for name, more in (
                ("dijkstra", {"indices": 0}),
                ("dijkstra", {"indices": some, "limit": 2}),
                ("dijkstra", {"indices": some, "min_only": True}),
                ("dijkstra", {"indices": some, "min_only": True, "limit": 1.5}),
                ("bellman_ford", {"indices": some}),
                ("johnson", {}),
                ("floyd_warshall", {}),
            )
        ]
        for given in (matrix, matrix.toarray()):
            for name, more in calls:
                function = getattr(ours, name)
                small = function(given, return_predecessors=True, **more)
                chosen = function(given, return_predecessors=True, **more, threads=1)
                alone = function(given, **more)
                for one, other in zip((*small, alone), (*chosen, chosen[0]), strict=True):
                    np.testing.assert_array_equal(one, other, err_msg=f"{n} {name} {more}")
                    assert (one.dtype, one.shape) == (other.dtype, other.shape)


def test_faults_of_a_small_matrix_are_reported() -> None:
    matrix = sp.csr_array(np.ones((3, 3)))
    matrix.indices = np.array([0, 1, 7] * 3)
    with pytest.raises(ValueError, match="7"):
        ours.dijkstra(matrix, indices=0)
    with pytest.raises(ValueError, match="range"):
        ours.dijkstra(np.ones((3, 3)), indices=3)
    with pytest.warns(UserWarning, match="negative"):
        ours.dijkstra(np.array([[0.0, -1.0], [0.0, 0.0]]), indices=0)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_paths_in_small_graphs_are_those_of_a_chosen_method(dtype: type) -> None:
    for seed in range(8):
        matrix = random_matrix(seed, n=12, density=0.25, dtype=dtype)
        graph = nearfar.Graph.from_scipy(matrix)
        small = nearfar.k_shortest_paths(graph, 0, 11, 9)
        assert small == nearfar.k_shortest_paths(graph, 0, 11, 9, stats={})
        lengths, before = ours.yen(matrix, 0, 11, 9, return_predecessors=True)
        assert lengths.tolist() == [length for _, length in small]
        for row, (path, _) in zip(before, small, strict=True):
            assert row[path[1:]].tolist() == path[:-1]
        both = ours.yen(matrix, 0, 11, 9, directed=False)
        assert both[0] == ours.dijkstra(matrix, directed=False, indices=0)[11]


def test_one_search_of_a_medium_matrix_uses_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A heap over the unprepared rows is faster for small matrices, and for several searches."""
    from nearfar import _cpu

    called: list[str] = []
    for name in ("small_rows", "search_matrix"):
        real = getattr(_cpu, name)

        def noted(*given: Any, real: Any = real, name: str = name) -> Any:
            called.append(name)
            return real(*given)

        monkeypatch.setattr(_cpu, name, noted)
    for n in (300, 4_000):
        rng = np.random.default_rng(n)
        matrix = sp.random_array((n, n), density=6 / n, rng=rng, format="csr")
        for indices in (5, [5, 6]):
            for tree in (False, True):
                given: dict[str, Any] = {"indices": indices, "return_predecessors": tree}
                found, expected = ours.dijkstra(matrix, **given), theirs.dijkstra(matrix, **given)
                distances = (found[0], expected[0]) if tree else (found, expected)
                assert np.array_equal(*distances)
    assert called == [*["small_rows"] * 4, *["search_matrix"] * 2, *["small_rows"] * 2]


def test_rows_that_no_search_reads_may_be_malformed_within_a_limit() -> None:
    """A large matrix is not checked as a whole; edges of weight 0 need it for predecessors."""
    n = 200_000
    starts = np.arange(n + 1, dtype=np.int32)
    targets, weights = np.roll(np.arange(n, dtype=np.int32), -1), np.ones(n)
    weights[:3] = 0
    matrix = sp.csr_matrix((weights, targets, starts), shape=(n, n))
    found = ours.dijkstra(matrix, indices=0, limit=2, return_predecessors=True)
    assert found[0][:6].tolist() == [0, 0, 0, 0, 1, 2]
    assert found[1][:6].tolist() == [-9999, 0, 1, 2, 3, 4]
    matrix.indices[n // 2] = n + 7
    assert ours.dijkstra(matrix, indices=0, limit=2)[5] == 2
    with pytest.raises(ValueError, match="goes to 200007"):
        ours.dijkstra(matrix, indices=0, limit=2, return_predecessors=True)
    with pytest.raises(ValueError, match="goes to 200007"):
        ours.dijkstra(matrix, indices=n // 2, limit=2)
