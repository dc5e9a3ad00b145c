"""Experiments of the papers with GPU methods, at a tiny scale; every answer is compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar import generate
from nearfar.cuda.kernel_times import kernel_times
from nearfar.lab.bench.cases import case
from nearfar.lab.experiments import run
from nearfar.papers.martin_2009.graphs import source_of
from nearfar.papers.ortega_arranz_2015.memory import solve_bytes
from nearfar.registry import Workspace


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
    outcome = run("johnson-apsp", out=tmp_path, scale="tiny", device="cuda")
    missing = outcome.skipped.get("graph1", "")
    if missing.startswith("MissingDependencyError"):
        pytest.skip(missing)
    assert outcome.wrong == []
    (task,) = outcome.results["tasks"]
    assert {"flag", "queue", "prefix", "batched"} <= set(task["result"]["cases"])


def test_beyond(tmp_path: Path) -> None:
    outcome = run("beyond", out=tmp_path, scale="tiny", device="cuda", only=["flickr"])
    assert outcome.wrong == []
    (task,) = outcome.results["tasks"]
    assert "nearfar, GPU" in task["result"]["cases"]
    assert task["result"]["rates"]["copy_bytes"] > 0


def test_memory_and_kernel_times_of_a_solve() -> None:
    graph = generate("martin", vertices=1 << 14, seed=1)
    one, source = case("crauser", "crauser_successors@cuda"), source_of(graph)
    taken = solve_bytes(one, graph, source)
    assert taken is not None
    assert taken >= graph.n_vertices * 6  # a distance of 4 bytes and two flags
    with kernel_times() as times:
        answer = one.variant.run(graph, source, one.options, Workspace())
    assert times.found["relax_successors"].launches == answer.stats["iterations"]
    assert 0 < sum(kernel.seconds for kernel in times.found.values()) < 1
