"""Prepared graphs in files: round trips, and refused files."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, GraphError, GraphFormatError, OptionError, Prepared
from tests.fuzz.targets import prepared_file, prepared_parts
from tests.prepared.test_queries import mesh, ready


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Prepared, Path]:
    prepared = ready(mesh(12))
    prepared.save(tmp_path / "mesh.nfp")
    return prepared, tmp_path / "mesh.nfp"


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_comes_back_as_it_was(tmp_path: Path, dtype: str, directed: bool) -> None:
    plain = mesh(10, dtype, directed)
    graph = Graph(
        plain.indptr,
        plain.indices,
        plain.weights,
        directed=directed,
        vertex_names=np.array([f"v{i}" for i in range(100)]),
        coordinates=np.random.default_rng(0).random((100, 2)),
        attributes={"unit": "m", "more": [1]},
    )
    prepared = ready(graph, order="multilevel")
    prepared.save(tmp_path / "a.nfp")
    loaded = nearfar.load(tmp_path / "a.nfp")
    assert isinstance(loaded, Prepared)
    assert loaded.digest() == graph.digest()
    assert loaded.vertex_names is not None
    assert loaded.vertex_names.tolist() == graph.vertex_names.tolist()  # type: ignore[union-attr]
    assert (loaded.coordinates == graph.coordinates).all()  # type: ignore[union-attr]
    assert loaded.attributes == {"unit": "m"}
    assert loaded.preparation.figures == prepared.preparation.figures
    assert loaded.preparation.method == "multilevel"
    assert loaded.metric.sides == prepared.metric.sides == (2 if directed else 1)
    assert not loaded.metric.weights.flags.writeable
    assert loaded.distance("v0", "v99") == prepared.distance("v0", "v99")
    again = loaded.reweight(plain.effective_weights + 1)
    assert again.distance("v0", "v99") > loaded.distance("v0", "v99")
    given = {"method": "elimination_tree_rows"}
    rows = nearfar.distances(loaded, ["v5"], **given)
    np.testing.assert_array_equal(rows, nearfar.distances(prepared, ["v5"], **given))
    if np.dtype(dtype).kind == "f":
        assert loaded.fixed is not None
        assert loaded.fixed.step == prepared.fixed.step  # type: ignore[union-attr]
        given["sums"] = "search"
    rows = nearfar.distances(loaded, ["v5"], **given)
    np.testing.assert_array_equal(rows, nearfar.distances(graph, ["v5"]))


def test_unweighted_and_empty(tmp_path: Path) -> None:
    for graph in (Graph.from_edges([0, 1], [1, 2]), Graph.from_edges([], [], n_vertices=3)):
        ready(graph).save(tmp_path / "a.nfp")
        loaded = nearfar.load(tmp_path / "a.nfp")
        assert loaded.weights is None
        assert loaded.n_vertices == 3


def test_two_processes_map_one_file(saved: tuple[Prepared, Path]) -> None:
    prepared, path = saved
    code = f"import nearfar; print(nearfar.load({str(path)!r}).distance(0, 143))"
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)
    ]
    for run in runs:
        out, _ = run.communicate()
        assert int(out) == prepared.distance(0, 143)


def test_every_byte_of_the_arrays_is_guarded(saved: tuple[Prepared, Path]) -> None:
    _, path = saved
    whole = path.read_bytes()
    length = struct.unpack_from("<Q", whole, 16)[0]
    header = json.loads(whole[24 : 24 + length])
    start = -(-(24 + length) // 64) * 64
    for entry in header["arrays"]:
        size = int(np.prod(entry["shape"])) * np.dtype(entry["dtype"]).itemsize
        if not size:
            continue
        damaged = bytearray(whole)
        damaged[start + entry["offset"] + size // 2] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(GraphFormatError, match=rf"mesh.nfp: {entry['name']} is damaged"):
            nearfar.load(path)


@pytest.mark.parametrize("keep", [0, 7, 20, 100, 3000, -65])
def test_cut_off(saved: tuple[Prepared, Path], keep: int) -> None:
    _, path = saved
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(GraphFormatError, match=r"not a prepared graph|cut off"):
        nearfar.load(path)


def test_foreign_files_and_versions(saved: tuple[Prepared, Path], tmp_path: Path) -> None:
    _, path = saved
    whole = bytearray(path.read_bytes())
    whole[8:12] = struct.pack("<I", 7)
    path.write_bytes(whole)
    with pytest.raises(GraphFormatError, match=r"format version 7.*prepare the graph again"):
        nearfar.load(path)
    other = tmp_path / "other.nfp"
    other.write_bytes(b"PK\x03\x04" + b"\0" * 100)
    with pytest.raises(GraphFormatError, match="not a prepared graph"):
        nearfar.load(other)
    labels = tmp_path / "labels.nfp"
    saved[0].label().save(labels)
    with pytest.raises(GraphFormatError, match=r"holds labels: Prepared\.read_labels"):
        nearfar.load(labels)
    with pytest.raises(FileNotFoundError):
        nearfar.load(tmp_path / "missing.nfp")
    for wrong in ("a.npz", "a"):
        with pytest.raises(OptionError, match="nfp"):
            nearfar.load(tmp_path / wrong)


def test_damaged_header(saved: tuple[Prepared, Path]) -> None:
    _, path = saved
    whole = bytearray(path.read_bytes())
    whole[30] ^= 1
    path.write_bytes(whole)
    with pytest.raises(GraphFormatError, match="header is damaged"):
        nearfar.load(path)


def test_arrays_that_do_not_belong_together(saved: tuple[Prepared, Path]) -> None:
    _, path = saved
    whole = path.read_bytes()
    length = struct.unpack_from("<Q", whole, 16)[0]
    start = -(-(24 + length) // 64) * 64
    for change in ("arcs.first", "tree.vertex", "up.weight", "indptr"):
        header = json.loads(whole[24 : 24 + length])
        header["arrays"] = [e for e in header["arrays"] if e["name"] != change]
        new = json.dumps(header).encode()
        begin = -(-(24 + len(new)) // 64) * 64
        prefix = struct.pack("<8sIIQ", b"nearfar\0", 2, zlib.crc32(new), len(new))
        path.write_bytes((prefix + new).ljust(begin, b"\0") + whole[start:])
        with pytest.raises(GraphFormatError, match="do not belong together"):
            nearfar.load(path)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_contents_behind_a_right_checksum(tmp_path: Path, dtype: str, directed: bool) -> None:
    """Regression: with a right checksum, an entry out of range crashed the process."""
    path = tmp_path / "crafted.nfp"
    ready(mesh(6, dtype, directed)).save(path)
    header, whole = prepared_parts(path.read_bytes())
    rng = np.random.default_rng(0)
    tried = 0
    for entry in header["arrays"]:
        kind = np.dtype(entry["dtype"])
        count = int(np.prod(entry["shape"]))
        if not count or entry["name"] in ("indptr", "indices", "weights"):
            continue
        for value in (-1, 0, 1, 2**31 - 1, -(2**31), int(rng.integers(0, 40))):
            arrays = bytearray(whole)
            part = np.frombuffer(arrays, kind, count, entry["offset"])
            at = int(rng.integers(0, count))
            if part[at] == value or (value < 0 and kind.kind == "u"):
                continue
            part[at] = value
            path.write_bytes(prepared_file(header, bytes(arrays)))
            name = entry["name"].partition(".")[0]
            with pytest.raises(GraphFormatError, match=rf"{name}|tree|arcs|metric|wrong size"):
                nearfar.load(path)
            tried += 1
    assert tried > 60


def test_no_path_is_no_path_whatever_number_stands_for_it(tmp_path: Path) -> None:
    """With negative weights this number depends on the schedule of the workers."""
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4], np.array([3, -2, 4, 1]))
    path = tmp_path / "a.nfp"
    nearfar.prepare(graph, np.array([2, 1, 3, 0, 4]), force=True).save(path)
    header, whole = prepared_parts(path.read_bytes())
    entry = next(e for e in header["arrays"] if e["name"] == "metric.weights")
    for number, refused in ((2**62 - 5, False), (2**63 - 1, True)):
        arrays = bytearray(whole)
        weights = np.frombuffer(arrays, np.int64, entry["shape"][0], entry["offset"])
        assert (weights >= 2**61).any()
        weights[weights >= 2**61] = number
        path.write_bytes(prepared_file(header, bytes(arrays)))
        if refused:
            with pytest.raises(GraphFormatError, match=r"metric.weights"):
                nearfar.load(path)
        else:
            assert nearfar.load(path).distance(0, 4) == 6


def test_contents_of_a_file_of_ones_own_can_be_believed(saved: tuple[Prepared, Path]) -> None:
    prepared, path = saved
    assert nearfar.load(path, check=False).distance(0, 143) == prepared.distance(0, 143)


def test_names_that_are_objects_are_refused(tmp_path: Path) -> None:
    graph = Graph(
        np.array([0, 1, 1]), np.array([1]), vertex_names=np.array([(1,), "b"], dtype=object)
    )
    with pytest.raises(GraphError, match="vertex_names has dtype object"):
        ready(graph).save(tmp_path / "a.nfp")
    assert not (tmp_path / "a.nfp").exists()


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 100_000,
        b"\xff",
        b"[]",
        b'{"arrays": {}}',
        b'{"arrays": [1]}',
        b'{"arrays": [{"name": "a", "dtype": "<i4", "shape": [2], "offset": Infinity, "crc": 0}]}',
        b'{"arrays": [{"name": "a", "dtype": "<i4", "shape": [-2], "offset": 0, "crc": 0}]}',
        b'{"arrays": [{"name": "a", "dtype": "|O", "shape": [2], "offset": 0, "crc": 0}]}',
        b'{"arrays": [{"name": "a", "dtype": "<i4", "shape": 4, "offset": 0, "crc": 0}]}',
        b'{"arrays": [{"name": "a", "dtype": "<i4", "shape": [4294967296, 4294967296, 2], '
        b'"offset": 0, "crc": 0}]}',
        b'{"arrays": []}',
    ],
)
def test_a_crafted_header(header: bytes, tmp_path: Path) -> None:
    """Regression: with a right checksum these raised RecursionError and other raw errors."""
    path = tmp_path / "crafted.nfp"
    prefix = struct.pack("<8sIIQ", b"nearfar\0", 2, zlib.crc32(header), len(header))
    path.write_bytes(prefix + header)
    with pytest.raises(GraphFormatError, match=r"header|cut off|do not belong together"):
        nearfar.load(path)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("first_number",), 2**63),
        (("first_number",), -(2**63) - 1),
        (("first_number",), True),
        (("directed",), None),
        (("perfect",), 1),
        (("figures", "n_edges"), None),
        (("figures", "height"), 2.5),
        (("fixed", 0), "1"),
        (("fixed", 1), None),
        (("attributes",), []),
    ],
)
def test_crafted_values(where: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    """Regression: with a right checksum these raised raw errors on use, or were accepted."""
    path = tmp_path / "crafted.nfp"
    ready(mesh(6, "float64", True)).save(path)
    header, whole = prepared_parts(path.read_bytes())
    inner = header
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    path.write_bytes(prepared_file(header, whole))
    with pytest.raises(GraphFormatError, match=rf"do not belong together: {where[0]}|{where[-1]}"):
        nearfar.load(path)
