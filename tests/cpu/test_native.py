"""Boundary of the native module: typed errors, and stubs that match it."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import nearfar
from nearfar import _cpu
from nearfar.errors import DistanceOverflowError, GraphFormatError
from nearfar.graph.dtypes import unreached_value

if TYPE_CHECKING:
    from numpy.typing import NDArray


def test_a_parser_says_the_line_in_a_field() -> None:
    with pytest.raises(GraphFormatError, match="is not an integer") as found:
        _cpu.parse_metis(np.frombuffer(b"% sizes\n3 x\n", dtype=np.uint8))
    assert (found.value.path, found.value.line) == (None, 2)
    assert str(found.value) == found.value.message


def test_a_format_without_lines_has_none() -> None:
    with pytest.raises(GraphFormatError, match="ends at byte") as found:
        _cpu.parse_graph_tool(np.frombuffer(b"\x00", dtype=np.uint8))
    assert found.value.line is None


def test_a_bar_in_a_message_is_text() -> None:
    with pytest.raises(GraphFormatError, match=r"'\|7\|'") as found:
        _cpu.parse_metis(np.frombuffer(b"|7|\n", dtype=np.uint8))
    assert found.value.line == 1


def test_a_path_beyond_64_bits_is_an_overflow_of_ours() -> None:
    weights = np.array([1, 2**62, 2**62 + 2**61], dtype=np.int64)
    graph = nearfar.Graph.from_edges([0, 0, 2], [1, 2, 1], weights)
    with pytest.raises(DistanceOverflowError, match="64 bits"):
        nearfar.k_shortest_paths(graph, 0, 1, 2)


def test_numbers_of_other_types_are_left_to_the_library_that_has_them() -> None:
    weight = {"weight": Fraction(1, 3)}
    with pytest.raises(NotImplementedError, match="Fraction"):
        _cpu.dicts_to_csr({0: {0: weight}}, {0: 0}, "weight", False)


def test_another_mapping_than_a_dict_is_told_apart_from_what_is_unsupported() -> None:
    assert _cpu.dicts_to_csr({0: MappingProxyType({})}, {0: 0}, None, False) is None


def test_the_stubs_name_what_the_module_has() -> None:
    """Stubs are generated with the module; mypy would not notice a stale or missing file."""
    stub = ast.parse((Path(nearfar.__file__).parent / "_cpu.pyi").read_text())
    named = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    there = {name for name, value in vars(_cpu).items() if callable(value) and name[0] != "_"}
    assert named == there
    untyped = [
        node.name
        for node in ast.walk(stub)
        if isinstance(node, ast.FunctionDef)
        and (node.returns is None or any(a.arg.startswith("arg") for a in node.args.posonlyargs))
    ]
    assert untyped == []


def test_a_limit_on_integers_is_an_integer() -> None:
    with pytest.raises(TypeError, match="give an integer"):
        _cpu.mask_above(np.zeros(1, dtype=np.int32), 1.5)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_rows_are_masked_and_summed_up_alike_by_any_number_of_threads(
    dtype: type, threads: int
) -> None:
    draw = np.random.default_rng(5)
    far = np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
    rows: NDArray[Any] = draw.integers(0, 1000, (7, 150_001)).astype(dtype)  # several shares
    rows[draw.random(rows.shape) < 0.1] = far
    rows[3] = far
    rows[5, :] = 4
    counts, places = _cpu.row_summaries(rows, threads)
    assert counts.tolist() == (rows != far).sum(axis=1).tolist()
    for row, place in zip(rows, places, strict=True):
        reached = np.flatnonzero(row != far)
        if len(reached):
            assert place == reached[np.argmax(row[reached])]  # the first of the farthest
        else:
            assert place == -1
    wanted = np.where(rows > 700, np.array(far, dtype), rows)
    _cpu.mask_above(rows, 700 if np.dtype(dtype).kind == "i" else 700.0, threads)
    assert np.array_equal(rows, wanted)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_every_vertex_has_the_one_below_the_root_of_its_tree(dtype: type) -> None:
    root = 8
    before = np.array([8, 0, 1, -1, 3, 8, 7, 6, -1], dtype)  # 6 and 7 are before each other
    found = np.empty(root, np.int64)
    _cpu.tops(before, root, found)
    assert found.tolist() == [0, 0, 0, -1, -1, 5, -1, -1]
    with pytest.raises(ValueError, match="predecessor of the root"):
        _cpu.tops(before[:8], root, found)
    long = np.arange(-1, 199_999, dtype=dtype)
    long[0] = 200_000
    found = np.empty(200_000, np.int64)
    _cpu.tops(np.append(long, dtype(-1)), 200_000, found)
    assert not found.any()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_merged_into_the_nearest_sources(dtype: str, threads: int) -> None:
    rng, k = np.random.default_rng(3), 3
    sources = np.array([2, 5, 9, 11, 40])
    rows = rng.integers(0, 6, (5, 5000)).astype(dtype)
    none = unreached_value(np.dtype(dtype))
    rows[rng.random(rows.shape) < 0.4] = none
    least, found = np.empty((5000, k), dtype), np.empty((5000, k), np.int64)
    for some in (slice(0, 2), slice(2, 5)):
        first = some.start == 0
        _cpu.merge_nearest(rows[some], sources[some], k, first, least, found, threads)
    order = np.argsort(rows, axis=0, kind="stable")[:k]
    wanted = np.take_along_axis(rows, order, axis=0)
    np.testing.assert_array_equal(least, wanted.T)
    np.testing.assert_array_equal(found, np.where(wanted == none, -1, sources[order]).T)
    with pytest.raises(ValueError, match="a source per row"):
        _cpu.merge_nearest(rows, sources[:2], k, True, least, found, threads)
