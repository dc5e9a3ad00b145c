"""The native module's boundary: errors of C++ arrive as the library's own classes."""

from __future__ import annotations

import numpy as np
import pytest

import nearfar
from nearfar import _cpu
from nearfar.errors import DistanceOverflowError, GraphFormatError


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
