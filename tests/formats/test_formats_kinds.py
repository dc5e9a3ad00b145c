"""What is particular to one format: containers, grid maps, Galois, SciPy files, Matrix Market."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar import Graph
from nearfar.errors import GraphFormatError
from nearfar.formats import read, write
from tests.formats.test_formats import assert_same


class TestNative:
    def test_a_large_file_opens_without_being_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from nearfar.formats import native

        rng = np.random.default_rng(1)
        graph = Graph.from_edges(
            rng.integers(0, 99, 999), rng.integers(0, 99, 999), rng.random(999)
        )
        write(graph, tmp_path / "g.nfg")
        monkeypatch.setattr(native, "VERIFY_BELOW", 0)
        found = read(tmp_path / "g.nfg")
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
