"""Saved tables with modifications: each is refused with a sentence, and no wrong number passes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar.cli.main import main

GRAPH = "# Nodes: 6 Edges: 6\n0 1 3\n0 2 1\n2 1 1\n1 3 5\n3 4 0\n2 4 7\n"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    file = tmp_path / "g.txt"
    file.write_text(GRAPH)
    return file


def solved(graph: Path, suffix: str) -> Path:
    table = graph.with_name(f"d{suffix}")
    assert main(["sssp", str(graph), "0", "--predecessors", "-q", "-o", str(table)]) == 0
    assert main(["verify", str(graph), str(table)]) == 0
    return table


def verdict(graph: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["verify", str(graph), str(table)])
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"distance": [0, 2, 1, 7.5, 7, None]}, "distance 7.5 is not an integer"),
        ({"distance": [0, 2, 1, True, 7, None]}, "distance True is not an integer"),
        ({"distance": [0, 2, 1, [7], 7, None]}, "distance [7] is not an integer"),
        ({"distance": [0, 2]}, "2 rows in column 'distance', but the graph has 6 vertices"),
        ({"predecessor": [None, 2]}, "2 rows in column 'predecessor'"),
        ({"vertex": [0.5, 1, 2, 3, 4, 5]}, "vertex 0.5 is not a vertex"),
        ({"vertex": [[0], 1, 2, 3, 4, 5]}, "vertex [0] is not a vertex"),
        ({"vertex": 3}, "expected a list in column 'vertex'"),
        ({"limit": "far"}, "expected a number as limit, got 'far'"),
    ],
)
def test_json(graph: Path, change: dict[str, Any], said: str, capsys) -> None:
    table = solved(graph, ".json")
    table.write_text(json.dumps({**json.loads(table.read_text()), **change}))
    code, text = verdict(graph, table, capsys)
    assert (code, said in text) == (3, True), text


def test_json_without_an_end(graph: Path, capsys) -> None:
    table = solved(graph, ".json")
    table.write_text("[" * 100_000)
    assert verdict(graph, table, capsys)[0] == 3


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("distance", lambda a: a.reshape(2, 3), "column 'distance' has 2 dimensions"),
        ("distance", lambda a: a[:3], "3 rows in column 'distance'"),
        ("distance", lambda a: np.array(["far"] * 6), "distance 'far' is not an integer"),
        ("distance", lambda a: a + 0.5, "is not an integer"),
        ("distance", lambda a: a * 1j, "is not an integer"),
        ("predecessor", lambda a: a + 0.5, "the predecessors of an NPZ table are integers"),
        ("predecessor", lambda a: a[:2], "2 rows in column 'predecessor'"),
        ("facts", lambda a: np.array("no json"), "its facts are not JSON"),
        ("facts", lambda a: np.array("[1]"), "expected its facts as a JSON object"),
    ],
)
def test_npz(graph: Path, name: str, change: Callable[[Any], Any], said: str, capsys) -> None:
    table = solved(graph, ".npz")
    with np.load(table) as stored:
        arrays = dict(stored)
    np.savez(table, **{**arrays, name: change(arrays[name])})
    code, text = verdict(graph, table, capsys)
    assert (code, said in text) == (3, True), text


def test_npz_of_one_array(graph: Path, capsys) -> None:
    table = solved(graph, ".npz")
    with table.open("wb") as file:
        np.save(file, np.arange(6))
    code, text = verdict(graph, table, capsys)
    assert (code, "not a valid NPZ file" in text) == (3, True)


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("4,7,3", "4,1_0,3", 3, "distance '1_0' is not an integer"),
        ("4,7,3", "4,7.5,3", 3, "distance '7.5' is not an integer"),
        ("4,7,3", "4,7.0,3", 0, ""),
        ("vertex,distance,predecessor", "vertex,distance,distance", 3, "the same name"),
        ("vertex,", "\ufeffvertex,", 0, ""),
        ("\n5,", "\n\n5,", 0, ""),
    ],
)
def test_csv(graph: Path, old: str, new: str, code: int, said: str, capsys) -> None:
    table = solved(graph, ".csv")
    text = table.read_text()
    assert old in text
    table.write_text(text.replace(old, new), encoding="utf-8")
    found, error = verdict(graph, table, capsys)
    assert (found, said in error) == (code, True), error


def test_a_damaged_stream(graph: Path, capsys) -> None:
    table = solved(graph, ".csv.gz")
    table.write_bytes(b"\x1f\x8b\x08" + bytes(30))
    assert "the gzip stream is damaged" in verdict(graph, table, capsys)[1]
    table.write_bytes(gzip.compress(b"\xff\xfe"))
    assert "this is UTF-16 text" in verdict(graph, table, capsys)[1]


def test_a_damaged_parquet(graph: Path, capsys) -> None:
    pytest.importorskip("pyarrow")
    table = solved(graph, ".parquet")
    whole = table.read_bytes()
    for at in range(4, len(whole) - 4, 37):
        table.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        code, text = verdict(graph, table, capsys)
        assert code in (0, 3, 6), text
        assert "unexpected" not in text
