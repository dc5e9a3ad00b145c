"""Experiments of single papers: graphs, bounds, tables, and stored data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nearfar import Graph, generate, sssp
from nearfar.errors import MissingDependencyError
from nearfar.lab import checkout
from nearfar.lab.bench.cases import proven
from nearfar.lab.experiments import run
from nearfar.lab.experiments.experiment import Done, Settings
from nearfar.lab.experiments.kept import Kept
from nearfar.lab.experiments.solving import geometric, hops, hub, weighted
from nearfar.papers.beyond.roofline import bytes_once
from nearfar.papers.davidson_2014.graphs import GRAPHS
from nearfar.papers.davidson_2014.run import EXPERIMENT as DAVIDSON
from nearfar.papers.davidson_2014.run import METHODS
from nearfar.papers.davidson_2014.tables import TABLE_III, summary
from nearfar.papers.johnson_apsp.graphs import GRAPHS as JOHNSON_GRAPHS
from nearfar.papers.johnson_apsp.graphs import MISSING
from nearfar.papers.johnson_apsp.run import EXPERIMENT as JOHNSON
from tests.datafiles import data_path
from tests.loading import load_program

keep = load_program("benchmarks", "keep_experiments")
TINY = Settings("tiny", "cpu", rounds=1)


def test_hops_of_a_path_from_its_middle() -> None:
    graph = generate("path", vertices=21)
    assert hops(graph, 0) == 20


def test_new_weights_keep_the_edges() -> None:
    graph = generate("grid", rows=5, columns=5)
    found = weighted(graph, 3, 9, "test")
    assert np.array_equal(found.indices, graph.indices)
    assert found.weights.min() >= 3
    assert found.weights.max() <= 9
    assert np.array_equal(found.weights, weighted(graph, 3, 9, "test").weights)


def test_geometric_mean() -> None:
    assert geometric([1.0, 4.0]) == pytest.approx(2.0)
    assert geometric([]) is None


@pytest.mark.parametrize("name", list(GRAPHS))
def test_stand_ins_have_the_papers_size_and_degree(name: str) -> None:
    paper = GRAPHS[name]
    graph = paper.make(20_000)
    assert graph.n_vertices == pytest.approx(20_000, rel=0.3)
    wanted = paper.edges / paper.vertices
    assert graph.mean_degree == pytest.approx(wanted, rel=0.3)
    source = hub(graph)
    assert np.mean(proven(graph, [source])[source] < np.iinfo(np.int32).max) > 0.3


def test_bytes_that_must_move() -> None:
    graph = Graph.from_edges([0, 0, 3], [1, 2, 4], np.array([5, 6, 7], np.int32), n_vertices=5)
    truth = proven(graph, [0])[0]
    found = bytes_once(graph, truth)
    assert found["edges"] == 2  # the edge of the unreached vertex is not counted
    rows = 3 * 2 * graph.indptr.dtype.itemsize
    assert found["bytes"] == rows + 2 * (graph.indices.dtype.itemsize + 4) + 5 * 4


def test_davidson_counters_tell_the_papers_story() -> None:
    (task,) = [t for t in DAVIDSON.tasks(TINY) if t.key == "msdoor"]
    result = DAVIDSON.run(task, DAVIDSON.make(task, TINY), TINY, lambda part: None)
    assert all(case["wrong_runs"] == 0 for case in result["cases"].values())
    done = [Done(task.key, task.what, result)]
    sweep, near = summary(done, "Workfront Sweep"), summary(done, "Near-Far")
    assert sweep is not None
    assert near is not None
    assert near[0] > sweep[0] > 1  # less work saved by sweeping than by Near-Far
    assert near[1] < sweep[1]  # and more vertices per iteration
    assert set(METHODS) <= set(result["cases"])
    (table,) = [t for t in DAVIDSON.tables(done, TINY) if t.key == "table-3"]
    printed = [tuple(row[4:]) for row in table.rows]
    assert printed == list(TABLE_III.values())
    sweep_rows = result["sweep"]["rows"]
    assert sweep_rows[0]["work"] <= sweep_rows[-1]["work"]
    edges = result["queues"]["Near-Far"]["edges"]
    assert edges == sorted(edges)
    assert edges[-1] == result["cases"]["Near-Far"]["counters"]["edges_relaxed"]


def test_johnson_says_which_graphs_are_missing() -> None:
    assert sorted(MISSING) == sorted(k for k, (name, _, _) in JOHNSON_GRAPHS.items() if not name)
    assert len(JOHNSON.tasks(Settings("small", "cpu"))) == 6
    (table, *_) = JOHNSON.tables([], TINY)
    rows = {row[0]: row[1] for row in table.rows}
    assert len(rows) == 8
    assert all("not available" in rows[key] for key in MISSING)


def test_johnson_without_its_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NEARFAR_DATA", str(tmp_path))
    (task,) = JOHNSON.tasks(TINY)
    with pytest.raises(MissingDependencyError, match="NEARFAR_DATA"):
        JOHNSON.make(task, TINY)


def test_johnson_scales_a_sample_to_all_sources() -> None:
    data_path("snap-johnson/p2p-Gnutella08.txt.xz")
    (task,) = JOHNSON.tasks(TINY)
    result = JOHNSON.run(task, JOHNSON.make(task, TINY), TINY, lambda part: None)
    assert (result["n"], result["m"]) == JOHNSON_GRAPHS["graph1"][1:]
    for case in result["cases"].values():
        assert case["wrong_runs"] == 0
        each = case["samples"][0] / case["sources"]
        assert case["all_pairs_seconds"] == pytest.approx(each * result["n"])


def checkout_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the checkout by a folder; return its folder of results."""
    (folder / "docs").mkdir()
    (folder / "benchmarks" / "results").mkdir(parents=True)
    monkeypatch.setattr(checkout, "ROOT", folder)
    return folder / "benchmarks" / "results"


def test_what_is_kept_makes_the_same_tables_and_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("davidson-2014", out=tmp_path / "run", scale="tiny", device="cpu", only=["rmat"])
    document = json.loads((tmp_path / "run" / "results.json").read_text())
    checkout_at(tmp_path, monkeypatch)
    assert keep.main([str(tmp_path / "run")]) == 0
    kept = Kept("davidson-2014", "cpu")
    assert list(kept.tables.values()) == document["tables"]
    assert kept.wrong() == 0
    assert "--scale tiny" in kept.how()
    kept.images(tmp_path / "images", {"davidson-2014-cpu-figure-4.png", "of another page.png"})
    (image,) = (tmp_path / "images").iterdir()
    assert image.read_bytes() == (tmp_path / "run" / "figures" / "figure-4.png").read_bytes()
    missing = Kept("davidson-2014", "cuda")
    assert "Not measured yet" in missing.how()


@pytest.mark.usefixtures("undrawn")
def test_parts_of_an_experiment_are_kept_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for graph in ("flickr", "rmat"):
        run("davidson-2014", out=tmp_path / graph, scale="tiny", device="cpu", only=[graph])
    (tmp_path / "rmat" / "results.json").unlink()  # as after an interrupted run
    results = checkout_at(tmp_path, monkeypatch)
    for words in ([str(tmp_path / "flickr")], ["--add", str(tmp_path / "rmat")]):
        assert keep.main(words) == 0
    held = json.loads((results / "davidson-2014-cpu.json").read_text())
    assert {task["key"]: task["environment"] for task in held["tasks"]} == {"flickr": 0, "rmat": 1}
    assert len(held["environments"]) == 2
    run("davidson-2014", out=tmp_path / "again", scale="tiny", device="cpu", only=["flickr"])
    assert keep.main(["--add", str(tmp_path / "again")]) == 0
    held = json.loads((results / "davidson-2014-cpu.json").read_text())
    assert {task["key"]: task["environment"] for task in held["tasks"]} == {"flickr": 1, "rmat": 0}
    assert len(held["environments"]) == 2, "of the first run no task is left"
    run(
        "davidson-2014", out=tmp_path / "three", scale="tiny", device="cpu", rounds=3, only=["rmat"]
    )
    with pytest.raises(SystemExit, match="settings differ"):
        keep.main(["--add", str(tmp_path / "three")])


@pytest.mark.usefixtures("undrawn")
def test_beyond_measures_peers_and_bounds(tmp_path: Path) -> None:
    outcome = run("beyond", out=tmp_path, scale="tiny", device="cpu", only=["flickr"])
    assert outcome.wrong == []
    (task,) = outcome.results["tasks"]
    result = task["result"]
    answers = [r["answer"] for r in result["peers"]["results"] if "answer" in r]
    assert len(answers) >= 2
    assert "wrong" not in answers
    assert 0 < result["bounds"]["stream"] == result["bytes"] / result["rates"]["copy_bytes"]
    (roofline,) = [t for t in outcome.results["tables"] if t["key"] == "roofline"]
    assert 0 < roofline["rows"][0][-1] < 1  # a solve takes longer than its bounds


def test_an_iteration_of_compound_frontiers_settles_one_distance() -> None:
    graph = generate("martin", vertices=1 << 12, seed=3)
    source = int(np.flatnonzero(graph.degrees)[0])
    paths = sssp(graph, source, method="frontier_successors@cpu")
    assert paths.stats["iterations"] == len(np.unique(paths.distances[paths.reachable]))
