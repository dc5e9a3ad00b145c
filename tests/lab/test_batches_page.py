"""The script of batches on several threads, its file and its table."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from docs.generators import batches

import nearfar
from tests.loading import load_program

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "results", lambda name: None)
    assert "Not measured yet" in batches.batches()


def test_a_run_makes_the_file_and_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = load_program("benchmarks", "batches")
    graph = nearfar.generate("grid", rows=20, columns=20, seed=1)
    cases = {
        "grid, one per worker": script.Case(lambda: graph, "worker_per_source", 4),
        "grid, all pairs by lanes": script.Case(lambda: graph, "lanes", None),
        "absent": script.Case(lambda: graph, "lanes", None, "no/such.file"),
    }
    monkeypatch.setattr(script, "CASES", cases)
    command = ["batches.py", "--threads", "1", "3", "--rounds", "2", "--seconds", "0.01"]
    monkeypatch.setattr(
        sys, "argv", [*command, "--table-megabytes", "0.1", "-o", str(tmp_path / "batches.json")]
    )
    assert script.main() == 0
    document: dict[str, Any] = json.loads((tmp_path / "batches.json").read_text())
    assert [case["case"] for case in document["cases"]] == list(cases)[:2]
    first, second = (case["rows"] for case in document["cases"])
    assert [row["sources"] for row in first] == [4, 12]
    assert [row["sources"] for row in second] == [400, 400]
    for row in (*first, *second):
        assert len(row["samples"]) == 2
        assert row["seconds_per_source"] > 0 < row["hashes_per_second"]
        assert row["idle"] < 1
    monkeypatch.setattr(batches, "results", lambda name: document)
    lines = batches.batches().splitlines()
    assert lines[0].startswith("| case | us per source, 1 thread | 3 threads |")
    assert sum(line.startswith("| grid") for line in lines) == 2
    assert "copying" in batches.batches()
    assert "arithmetic " not in next(line for line in lines if line.startswith("Memory gave"))


def test_a_wrong_row_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_program("benchmarks", "batches")
    graph = nearfar.generate("grid", rows=5, columns=5, seed=1)
    rows = nearfar.all_pairs(graph)
    every = list(range(graph.n_vertices))
    script.check(graph, every, rows)
    rows[:, 3] += 1
    with pytest.raises(SystemExit, match="is wrong"):
        script.check(graph, every, rows)
