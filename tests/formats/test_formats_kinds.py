"""Properties of single formats: containers, grid maps, Galois, SciPy files, Matrix Market."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from nearfar import Graph
from nearfar.errors import GraphFormatError
from nearfar.formats import read, write
from tests.formats.test_formats import assert_same


class TestNative:
    @pytest.mark.parametrize("verify", [None, False])
    def test_a_large_file_is_mapped(
        self, verify: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from nearfar.formats import native

        rng = np.random.default_rng(1)
        graph = Graph.from_edges(
            rng.integers(0, 99, 999), rng.integers(0, 99, 999), rng.random(999)
        )
        write(graph, tmp_path / "g.nfg")
        monkeypatch.setattr(native, "VERIFY_BELOW", 0)
        found = read(tmp_path / "g.nfg", verify=verify)
        base: Any = found.indices
        while base.base is not None and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)
        assert_same(found, graph)
        assert found.max_weight == graph.max_weight
        assert found.n_negative == 0
        assert found.transpose().n_edges == 999
        assert_same(read(tmp_path / "g.nfg", verify=True), graph)

    def test_verify_finds_a_flipped_bit(self, tmp_path: Path) -> None:
        path = tmp_path / "g.nfg"
        write(Graph.from_edges([0, 1], [1, 0], [3, 4]), path)
        raw = bytearray(path.read_bytes())
        raw[-1] ^= 1
        path.write_bytes(raw)
        with pytest.raises(GraphFormatError, match="SHA-256"):
            read(path)

    def test_header_is_readable_json(self, tmp_path: Path) -> None:
        path = tmp_path / "g.nfg"
        write(Graph.from_edges([0, 1], [1, 0], [3, 4]), path)
        raw = path.read_bytes()
        length = int.from_bytes(raw[12:16], "little")
        header = json.loads(raw[24 : 24 + length])
        assert header["file_size"] == len(raw)
        assert all(entry["offset"] % 64 == 0 for entry in header["arrays"])


def test_grid_map_round_trip(tmp_path: Path) -> None:
    text = "type octile\nheight 3\nwidth 4\nmap\n..@.\n.GS.\n@T.W\n"
    (tmp_path / "g.map").write_text(text)
    graph = read(tmp_path / "g.map")
    assert graph.n_vertices == 8
    dense = graph.to_scipy().toarray()
    # (0,0) sees (1,0), (0,1), (1,1); (1,1) sees no corner past '@' or 'T'
    assert sorted(np.flatnonzero(dense[0])) == [1, 3, 4]
    assert dense[0, 4] == np.sqrt(2.0)
    assert read(tmp_path / "g.map", diagonal=False).max_weight == 1
    write(graph, tmp_path / "h.map.gz")
    assert_same(read(tmp_path / "h.map.gz"), graph)
    with pytest.raises(GraphFormatError, match="eight-connected"):
        write(read(tmp_path / "g.map", diagonal=False), tmp_path / "i.map")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", None])
def test_galois_versions(version: int, dtype: str | None, tmp_path: Path) -> None:
    weights = None if dtype is None else np.array([1, 2, 3], dtype=dtype)
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], weights)  # an odd number of edges is padded
    write(graph, tmp_path / "g.gr", format="galois", version=version)
    kind = "float" if dtype in ("float32", "float64") else "int"
    found = read(tmp_path / "g.gr", data=kind)
    assert_same(found, graph)
    assert found.weight_dtype == graph.weight_dtype


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_of_galois_are_not_read_as_integers(dtype: str, tmp_path: Path) -> None:
    path = tmp_path / "g.vgr"
    write(Graph.from_edges([0, 1, 2], [1, 2, 0], np.array([0.5, 0, 300], dtype=dtype)), path)
    with pytest.raises(GraphFormatError, match=r"look like floats: pass data='float', or"):
        read(path)
    assert read(path, data="float").weights.tolist() == [0.5, 0, 300]  # type: ignore[union-attr]
    assert read(path, data="int").weight_dtype.kind == "i"
    large = np.array([1 << 30, 7, 0], dtype="int32")  # 2.0 if it were a float
    write(Graph.from_edges([0, 1, 2], [1, 2, 0], large), path)
    assert read(path).weights.tolist() == large.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("suffix", [".sg", ".wsg"])
def test_gap_files_without_vertices(suffix: str, tmp_path: Path) -> None:
    """They begin as Galois's do."""
    write(Graph.from_edges([], [], n_vertices=0), tmp_path / f"g{suffix}")
    assert read(tmp_path / f"g{suffix}").n_vertices == 0
    write(Graph.from_edges([], [], n_vertices=0), tmp_path / "g.gr", format="galois")
    assert read(tmp_path / "g.gr").n_vertices == 0


def test_npz_is_what_scipy_writes(tmp_path: Path) -> None:
    from scipy import sparse

    matrix = sparse.random_array((20, 20), density=0.2, rng=np.random.default_rng(3), format="csr")
    for layout in ("csr", "csc", "coo", "bsr", "dia"):
        sparse.save_npz(tmp_path / "m.npz", matrix.asformat(layout))
        np.testing.assert_array_equal(
            read(tmp_path / "m.npz").to_scipy().toarray(), matrix.toarray()
        )
    both = read(tmp_path / "m.npz", directed=False)
    assert (both.n_edges, both.directed) == (
        2 * matrix.nnz - np.count_nonzero(matrix.diagonal()),
        False,
    )
    write(Graph.from_scipy(matrix), tmp_path / "back.npz")
    np.testing.assert_array_equal(
        sparse.load_npz(tmp_path / "back.npz").toarray(), matrix.toarray()
    )


def test_matrix_market_kinds(tmp_path: Path) -> None:
    path = tmp_path / "m.mtx"
    path.write_text("%%MatrixMarket matrix coordinate integer symmetric\n%c\n3 3 2\n2 1 5\n3 3 7\n")
    graph = read(path)
    assert (graph.directed, graph.n_edges, graph.weight_dtype) == (False, 3, np.int32)
    assert read(path, directed=True).directed
    path.write_text("%%MatrixMarket matrix array real general\n2 2\n0\n1.5\n2.5\n0\n")
    dense = read(path)
    assert dense.to_scipy().toarray().tolist() == [[0, 2.5], [1.5, 0]]
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    assert not read(path).is_weighted


@pytest.mark.parametrize(
    ("layout", "field", "symmetry"),
    [
        kind
        for kind in itertools.product(
            ("coordinate", "array"),
            ("real", "integer", "pattern"),
            ("general", "symmetric", "skew-symmetric"),
        )
        if kind[1] != "pattern" or (kind[0] == "coordinate" and kind[2] != "skew-symmetric")
    ],
)
def test_matrix_market_is_what_scipy_reads(
    layout: str, field: str, symmetry: str, tmp_path: Path
) -> None:
    """SciPy's reader is independent; nearfar's exists because SciPy's crashed on bad bytes."""
    rng = np.random.default_rng(7)
    n = 60
    dense = np.round(rng.standard_normal((n, n)) * 20, 0 if field == "integer" else 2)
    dense *= rng.random((n, n)) < 0.2
    if symmetry != "general":
        sign = 1 if symmetry == "symmetric" else -1
        dense = np.tril(dense, -1 if sign < 0 else 0)
        dense = dense + sign * np.tril(dense, -1).T
    ends = np.argwhere(dense if symmetry == "general" else np.tril(dense)) + 1
    kept = [tuple(map(int, pair)) for pair in ends]
    if layout == "array":
        corner = {"general": n, "symmetric": 0, "skew-symmetric": -1}[symmetry]
        below = np.tril(np.ones((n, n), dtype=bool), corner)
        lines = [f"{v:g}" for v in dense.T[below.T]]
        sizes = f"{n} {n}"
    else:
        values = [f" {dense[i - 1, j - 1]:g}" for i, j in kept]
        tails = [""] * len(kept) if field == "pattern" else values
        lines = [f"{i}\t{j}{tail}" for (i, j), tail in zip(kept, tails, strict=True)]
        sizes = f" {n} {n} {len(kept)}"
    path = tmp_path / "m.mtx"
    path.write_text(
        f"%%MatrixMarket MATRIX {layout} {field} {symmetry}\n% note\n\n{sizes}\n"
        + "\r\n".join(lines)
    )
    graph = read(path)
    found = scipy.io.mmread(path, spmatrix=False)
    want = found.toarray() if layout == "coordinate" else found
    assert np.array_equal(graph.to_scipy().toarray(), want)
    assert np.array_equal(want, dense != 0 if field == "pattern" else dense)
    assert graph.directed == (symmetry != "symmetric")
    assert graph.is_weighted == (field != "pattern")
    if field != "pattern":
        assert graph.weight_dtype == (np.int32 if field == "integer" else np.float64)
    arcs = read(path, directed=True)
    assert arcs.directed
    assert np.array_equal(arcs.to_scipy().toarray(), want)


def test_matrix_market_of_many_blocks(tmp_path: Path) -> None:
    """Blocks of a megabyte are parsed separately: entries and line numbers are the file's."""
    rng = np.random.default_rng(3)
    n, m = 1000, 300_000
    rows, columns = rng.integers(1, n + 1, (2, m))
    values = rng.integers(-(2**40), 2**40, m)
    path = tmp_path / "m.mtx"
    lines = [f"{i} {j} {v}" for i, j, v in zip(rows, columns, values, strict=True)]
    lines[::1000] = [line + "\n" for line in lines[::1000]]  # an empty line after it
    head = f"%%MatrixMarket matrix coordinate integer general\n{n} {n} {m}\n"
    path.write_text(head + "\n".join(lines) + "\n")
    assert path.stat().st_size > 4 << 20
    graph = read(path)
    want = Graph.from_edges(rows - 1, columns - 1, values, n_vertices=n)
    assert graph.digest() == want.digest()
    for wrong in (250_500, 200_500):  # the first of two faults is reported
        lines[wrong] += "?"
    path.write_text(head + "\n".join(lines) + "\n")
    with pytest.raises(GraphFormatError, match="is not an integer") as found:
        read(path)
    assert found.value.line == 3 + 200_500 + 201


def test_tables_are_read_without_pandas(tmp_path: Path) -> None:
    """Importing pandas would take longer than reading a small table."""
    for names in (["source,target,weight", "0,1,2", "1,2,3"], ["source,target", "a,b"]):
        (tmp_path / "edges.csv").write_text("\n".join(names))
        program = (
            "import nearfar, sys\nnearfar.read('edges.csv')\nassert 'pandas' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
