"""Search of a matrix before its checks: equal answers, and no fault goes unnoticed."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs

import nearfar
import nearfar.csgraph as ours
from nearfar import _cpu
from nearfar.algorithms.delta_stepping import bare
from nearfar.csgraph.inputs import adjacency
from nearfar.csgraph.rows import Engine, Rows, solve_rows
from nearfar.errors import GraphError
from nearfar.graph.graph import NARROW_VIEW
from nearfar.solve.matrix import fresh
from tests.csgraph.test_csgraph import assert_tree, random_matrix
from tests.program import run_python


def search_bare(
    matrix: sp.csr_array,
    sources: object,
    limit: float | None = None,
    predecessors: bool = False,
    threads: int = 1,
) -> Rows | None:
    """Return rows by the pipe, or None if it had to check the matrix first."""
    graph = adjacency(matrix)
    assert fresh.is_fresh(graph)
    flat = np.ravel(np.asarray(sources)) % graph.n_vertices
    try:
        found = solve_rows(
            graph, flat, Engine(threads=threads), limit=limit, predecessors=predecessors
        )
    except nearfar.NearfarError:
        return None
    return found if fresh.is_fresh(graph) else None


@pytest.mark.parametrize("density", [0.01, 0.5])
@pytest.mark.parametrize("whole", [True, False])
def test_one_search_reads_the_bare_matrix(density: float, whole: bool) -> None:
    matrix = random_matrix(5, n=300, density=density)
    if not whole:
        matrix.data = np.random.default_rng(6).random(matrix.nnz)
    matrix.data[::7] = np.nan
    found = search_bare(matrix, 3, predecessors=True)
    assert found is not None
    clean = matrix.tocoo()
    keep = ~np.isnan(clean.data)
    clean = sp.csr_array((clean.data[keep], (clean.row[keep], clean.col[keep])), shape=matrix.shape)
    np.testing.assert_array_equal(found.distances[0], theirs.dijkstra(clean, indices=3))
    assert_tree(clean, found.distances[0], found.predecessors[0], 3)
    near = search_bare(matrix, [3], 4)
    assert near is not None
    np.testing.assert_array_equal(near.distances[0], theirs.dijkstra(clean, indices=3, limit=4))


@pytest.mark.parametrize("row", [0, 39])
@pytest.mark.parametrize("weight", [-1.0, np.inf, -np.inf, 1e308])
def test_one_search_leaves_odd_weights_to_the_long_way(row: int, weight: float) -> None:
    matrix = sp.csr_array(np.triu(np.ones((40, 40)), 1).T)
    matrix = sp.csr_array(matrix + sp.csr_array(([1.0], ([0], [3])), shape=(40, 40)))
    matrix.indptr, matrix.indices = matrix.indptr.astype("i4"), matrix.indices.astype("i4")
    matrix.data[matrix.indptr[row]] = weight
    # From vertex 5 the search reads row 0, but never row 39: both are checked.
    assert search_bare(matrix, 5) is None


def test_one_search_does_not_follow_an_edge_out_of_the_graph() -> None:
    matrix = random_matrix(5)
    indices = matrix.indices.copy()
    indices[7] = 1_000_000
    bad = sp.csr_array(matrix.shape)
    bad.indptr, bad.indices, bad.data = matrix.indptr, indices, matrix.data
    with pytest.raises(nearfar.errors.GraphError, match="1000000"):
        ours.dijkstra(bad, indices=0, threads=1)


def test_a_view_keeps_its_arrays() -> None:
    from nearfar._cpu import GraphView

    weights = np.ones(1, dtype=np.int32)
    alive = weakref.ref(weights)
    view = GraphView(np.array([0, 1], dtype=np.int32), np.zeros(1, dtype=np.int32), weights)
    del weights
    assert alive() is not None
    del view
    assert alive() is None


def dense(kind: str, n: int = 301, seed: int = 8) -> sp.csr_array:
    """Return long rows with weights of one byte, of two, or of neither."""
    random = np.random.default_rng(seed)
    top = {"byte": 256, "short": 65_536, "fractions": 9, "one fraction": 256, "long": 70_000}[kind]
    matrix = sp.csr_array(random.random((n, n)) < 0.5).astype(np.float64)
    matrix.data = random.integers(0, top, matrix.nnz).astype(np.float64)
    matrix.data[-1] = top - 1
    if kind == "fractions":
        matrix.data += random.random(matrix.nnz)
    if kind == "one fraction":
        matrix.data[-1] = 0.5
    return matrix


KINDS = ["byte", "short", "fractions", "one fraction", "long"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("threads", [1, 2])
def test_one_search_in_long_rows(kind: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare, "_SHARED", 0)
    matrix = dense(kind)
    expected = theirs.dijkstra(matrix, indices=[3])
    found = search_bare(matrix, 3, threads=threads)
    assert found is not None
    np.testing.assert_array_equal(found.distances, expected)
    bound = float(np.median(expected))
    near = search_bare(matrix, 3, bound, threads=threads)
    assert near is not None
    expected = theirs.dijkstra(matrix, indices=3, limit=bound)
    np.testing.assert_array_equal(near.distances[0], expected)


@pytest.mark.parametrize("position", [0, 8191, 20_000, -1])
@pytest.mark.parametrize("weight", [-1.0, np.inf])
def test_one_search_sees_odd_weights_in_long_rows(position: int, weight: float) -> None:
    matrix = dense("byte")
    matrix.data[position] = weight
    assert search_bare(matrix, 5) is None


@pytest.mark.parametrize("position", [0, 20_000, -1])
@pytest.mark.parametrize("index", [-1, 301, 1 << 30])
def test_one_search_sees_wrong_targets_in_long_rows(position: int, index: int) -> None:
    matrix = dense("byte")
    indices = matrix.indices.copy()
    indices[position] = index
    bad = sp.csr_array(matrix.shape)
    bad.indptr, bad.indices, bad.data = matrix.indptr, indices, matrix.data
    assert search_bare(bad, 5) is None


@pytest.mark.parametrize("method", ["delta_stepping@cpu", "delta_stepping_parallel@cpu"])
@pytest.mark.parametrize("kind", ["byte", "short", "long"])
def test_delta_stepping_in_long_rows_of_small_weights(kind: str, method: str) -> None:
    matrix = dense(kind).astype(np.int32)
    graph = nearfar.Graph.from_csr(matrix.indptr, matrix.indices, matrix.data)
    expected = nearfar.sssp(graph, 7, method="dijkstra_binary_heap@cpu")
    for _ in range(2):  # the second run finds the copy that the first made
        paths = nearfar.sssp(graph, 7, method=method)
        np.testing.assert_array_equal(paths.distances, expected.distances)
        nearfar.verify(graph, paths)
    assert (NARROW_VIEW.get(graph) is None) == (kind == "long")
    arrays = graph.indptr.nbytes + graph.indices.nbytes + graph.effective_weights.nbytes
    beside = {"byte": 1, "short": 2, "long": 8}[kind]
    assert beside * graph.n_edges <= graph.nbytes - arrays < (beside + 1) * graph.n_edges
    bound = int(np.median(expected.distances))
    near = nearfar.sssp(graph, 7, method=method, limit=bound)
    assert near.n_reached == np.count_nonzero(expected.distances <= bound)


@pytest.mark.parametrize("threads", [1, 3])
def test_many_sources_in_short_rows(threads: int) -> None:
    matrix = random_matrix(5, n=300, density=0.01)
    sources = np.array([[3, 9, -1], [0, 3, 299]])
    assert search_bare(matrix, sources, threads=threads) is not None
    for limit in (np.inf, 9.0):
        np.testing.assert_array_equal(
            ours.dijkstra(matrix, indices=sources, limit=limit, threads=threads),
            theirs.dijkstra(matrix, indices=sources, limit=limit),
        )
    matrix.data[-1] = -1.0
    assert search_bare(matrix, sources, threads=threads) is None


def test_many_searches_of_a_large_matrix_are_packed_first() -> None:
    matrix = random_matrix(5, n=300, density=0.01)
    matrix = sp.block_diag([matrix] * 30, format="csr")
    assert search_bare(matrix, [0, 1, 2]) is not None
    assert search_bare(matrix, [0, 1, 2, 3] * 40) is None


def test_every_interface_reads_a_matrix_as_it_is() -> None:
    matrix = random_matrix(5, n=300, density=0.05)
    expected = theirs.dijkstra(matrix, indices=[3, 9])
    paths = nearfar.sssp(matrix, 3)
    np.testing.assert_array_equal(paths.distances, expected[0])
    near = nearfar.sssp(matrix, 3, limit=9, predecessors=True, threads=1)
    np.testing.assert_array_equal(near.distances, theirs.dijkstra(matrix, indices=3, limit=9))
    assert (near.predecessors >= 0).sum() == near.n_reached - 1
    assert fresh.is_fresh(paths.graph)
    assert fresh.is_fresh(near.graph)
    matrix = random_matrix(5, n=300, density=0.01)
    expected = theirs.dijkstra(matrix, indices=[3, 9])
    stats: dict[str, object] = {}
    np.testing.assert_array_equal(nearfar.distances(matrix, [3, 9], stats=stats), expected)
    assert "one search of a matrix" in str(stats["reason"])
    nearfar.verify(paths.graph, paths)  # verify finally reads the graph
    assert not fresh.is_fresh(paths.graph)
    assert paths.path_to(9)[0] == 3


def test_nan_is_an_edge_that_is_missing_to_scipy_and_an_error_elsewhere() -> None:
    matrix = random_matrix(5, n=300, density=0.05)
    matrix.data[7] = np.nan
    assert search_bare(matrix, 5) is not None
    for call in (nearfar.sssp, lambda m, s: nearfar.distances(m, [s, 2])):
        with pytest.raises(GraphError, match="weight of edge 7 is nan"):
            call(matrix, 5)


def test_infinities_of_both_signs_are_refused_without_a_warning() -> None:
    matrix = random_matrix(5, n=300, density=0.05)
    matrix.data[7:9] = np.inf, -np.inf
    with pytest.raises(GraphError, match="weight of edge 7 is inf"):
        nearfar.sssp(matrix, 5)


def test_a_matrix_that_was_searched_is_a_graph_like_others() -> None:
    import copy

    matrix = random_matrix(5, n=300, density=0.05)
    matrix.data[3] = -0.0
    graph = nearfar.sssp(matrix, 5).graph
    assert (graph.n_vertices, graph.n_edges) == (300, matrix.nnz)
    assert not np.signbit(graph.weights[3])
    twin = copy.deepcopy(graph)
    assert type(twin) is nearfar.Graph
    assert twin.digest() == graph.digest()
    with pytest.raises(AttributeError, match="'MatrixGraph' object has no attribute 'colour'"):
        _ = graph.colour


@pytest.mark.parametrize("level", _cpu.isa_levels())
def test_every_instruction_set_checks_and_narrows_alike(level: str) -> None:
    code = (
        "import numpy as np, scipy.sparse as sp, scipy.sparse.csgraph as theirs\n"
        "import nearfar.csgraph as ours\n"
        "rng = np.random.default_rng(0)\n"
        "for most in (200, 60_000, 0):\n"
        "    weights = rng.integers(1, most, 9999) if most else rng.random(9999)\n"
        "    ends = rng.integers(0, 400, (2, 9999))\n"
        "    matrix = sp.csr_array((weights.astype(float), ends), shape=(400, 400))\n"
        "    found = ours.dijkstra(matrix, indices=0)\n"
        "    assert np.allclose(found, theirs.dijkstra(matrix, indices=0), rtol=1e-12)\n"
    )
    run_python(code, NEARFAR_CPU_LEVEL=level)


def integers(dtype: str, top: int = 1000, n: int = 200) -> sp.csr_array:
    """Return a sparse matrix of integers in which some vertices are not reached."""
    random = np.random.default_rng(12)
    matrix = sp.csr_array(np.triu(random.random((n, n)) < 0.05, 1)).astype(dtype)
    matrix.data[:] = random.integers(0, top, matrix.nnz)
    return matrix


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("limit", [None, 1500])
def test_integers_are_searched_as_given(dtype: str, limit: int | None) -> None:
    matrix = integers(dtype)
    paths = nearfar.sssp(matrix, 3, limit=limit, predecessors=True)
    assert fresh.is_fresh(paths.graph)
    graph = nearfar.Graph.from_scipy(matrix)
    want = nearfar.sssp(graph, 3, limit=limit, predecessors=True)
    assert paths.distances.dtype == want.distances.dtype == dtype
    np.testing.assert_array_equal(paths.distances, want.distances)
    np.testing.assert_array_equal(paths.predecessors, want.predecessors)
    assert not paths.reachable.all()
    nearfar.verify(graph, paths)


@pytest.mark.parametrize(
    ("dtype", "weight"), [("int32", 2**30), ("int64", 2**52), ("int64", 2**60)]
)
def test_sums_of_integers_that_do_not_fit_are_found(dtype: str, weight: int) -> None:
    """The second sum does not fit int32, or not float64; the answer is in int64."""
    ends = np.arange(3)
    data = np.array([weight, weight + 1, weight - 1], dtype)
    matrix = sp.csr_array((data, (ends, ends + 1)), shape=(4, 4))
    paths = nearfar.sssp(matrix, 0)
    assert paths.distances.dtype == np.int64
    assert paths.distances.tolist() == [0, weight, 2 * weight + 1, 3 * weight]
    assert nearfar.sssp(matrix, 2).distances.dtype == dtype


def test_integers_below_zero_are_left_to_the_long_way() -> None:
    matrix = integers("int32")
    matrix.data[5] = -1
    want = nearfar.sssp(nearfar.Graph.from_scipy(matrix), 0)
    np.testing.assert_array_equal(nearfar.sssp(matrix, 0).distances, want.distances)
    matrix.indices[7] = 5000
    with pytest.raises(GraphError, match="5000"):
        nearfar.sssp(matrix, 0)


def test_many_integers_are_packed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = integers("int32")
    monkeypatch.setattr(fresh, "_CONVERTED", matrix.nnz - 1)
    assert not fresh.is_fresh(nearfar.sssp(matrix, 0).graph)
