"""The papers' experiments with the GPU's methods, at a tiny scale; every answer is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.bench.suite import data_folder
from nearfar.experiments import run


def test_davidson(tmp_path: Path) -> None:
    only = ["flickr", "delaunay"]
    outcome = run("davidson-2014", out=tmp_path, scale="tiny", device="cuda", only=only)
    assert outcome.wrong == []
    assert outcome.skipped == {}
    for task in outcome.results["tasks"]:
        cases = task["result"]["cases"]
        assert {"near-far thread", "sweep load_balanced", "one launch", "hybrid"} <= set(cases)
        assert task["result"]["queues"]["Near-Far"]["edges"]
    assert {t["key"] for t in outcome.results["tables"]} >= {"figure-3", "table-3"}


def test_johnson(tmp_path: Path) -> None:
    if data_folder() is None:
        pytest.skip("the graphs of the paper are not here: set NEARFAR_DATA")
    outcome = run("johnson-apsp", out=tmp_path, scale="tiny", device="cuda")
    assert outcome.wrong == []
    (task,) = outcome.results["tasks"]
    assert {"flag", "queue", "prefix", "batched"} <= set(task["result"]["cases"])


def test_beyond(tmp_path: Path) -> None:
    outcome = run("beyond", out=tmp_path, scale="tiny", device="cuda", only=["flickr"])
    assert outcome.wrong == []
    (task,) = outcome.results["tasks"]
    assert "nearfar, GPU" in task["result"]["cases"]
    assert task["result"]["rates"]["copy_bytes"] > 0
