"""Profiles of a run, sweeps over delta, and their commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.cli.main import main
from nearfar.errors import GraphFormatError, OptionError
from nearfar.lab.profile import (
    _thinned,
    delta_sweep,
    dijkstra_edges,
    plot_profile,
    profile,
    read_profile,
    write_profile,
)
from tests.algorithms.test_near_far import random_graph


def test_dijkstra_edges_counts_reached_rows() -> None:
    graph = Graph.from_edges([0, 0, 1, 3, 3], [1, 2, 2, 4, 5], [1, 5, 1, 1, 1], n_vertices=6)
    paths = nearfar.sssp(graph, 0)
    assert dijkstra_edges(graph, paths.distances) == 3
    assert dijkstra_edges(graph, nearfar.sssp(graph, 3).distances) == 2


def test_profile_of_a_run(tmp_path: Path) -> None:
    graph = random_graph(400, 3000, "int32")
    paths = nearfar.sssp(graph, 0, method="near_far@cpu", trace=True)
    document = profile(graph, paths)
    assert document["work"] >= 1
    assert document["teps"] > 0
    assert len(document["series"]["frontier"]) == document["counters"]["iterations"]
    assert sum(document["series"]["final"]) == paths.n_reached
    write_profile(document, tmp_path / "run.json")
    assert read_profile(tmp_path / "run.json") == document


@pytest.mark.parametrize("delta", [None, 1.0, 1e9])
@pytest.mark.parametrize("degree", [4, 40])
def test_profile_of_delta_stepping_adds_up_bucket_by_bucket(
    degree: int, delta: float | None
) -> None:
    graph = random_graph(3000, 3000 * degree, "int32")  # rows of 40 are kept in their narrow form
    options = {} if delta is None else {"delta": delta}
    paths = nearfar.sssp(graph, 0, method="delta_stepping@cpu", trace=True, **options)
    document = profile(graph, paths)
    series, counters = document["series"], document["counters"]
    assert sum(series["frontier"]) == counters["vertices_processed"]
    assert sum(series["edges"]) == counters["edges_relaxed"]
    assert len(series["seconds"]) == counters["iterations"]
    assert min(series["seconds"]) >= 0
    assert series["near"][-1] == series["far"][-1] == 0
    assert (max(series["near"]) == 0) == (delta == 1e9)  # one bucket holds everything
    plain = nearfar.sssp(graph, 0, method="delta_stepping@cpu", **options)
    assert "frontier" not in plain.stats
    assert plain.stats["edges_relaxed"] == counters["edges_relaxed"]


def test_profile_needs_a_recorded_run() -> None:
    graph = random_graph(50, 200, "int32")
    paths = nearfar.sssp(graph, 0, method="near_far@cpu")
    with pytest.raises(OptionError, match="trace=True"):
        profile(graph, paths)


HEAD = '{"format": "nearfar profile 1", "engine": "x", '
DAMAGED = ['"rows": [{"delta": 1}], "heuristic": 2}', '"n_vertices": 3, "work": 1, "series": {}}']


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", '{"format": "other"}', "\udcff", *(HEAD + rest for rest in DAMAGED)]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(GraphFormatError, match="not a profile"):
        read_profile(path)


def test_delta_sweep_trades_work_for_parallelism() -> None:
    graph = random_graph(3000, 30000, "float64")
    found = delta_sweep(graph, 0, factors=(1 / 16, 1, 16))
    work = [row["work"] for row in found["rows"]]
    parallelism = [row["average_parallelism"] for row in found["rows"]]
    assert work == sorted(work)
    assert parallelism == sorted(parallelism)
    assert [row["factor"] for row in found["rows"]] == [1 / 16, 1, 16]


def test_equal_deltas_run_once() -> None:
    graph = Graph.from_edges([0, 1], [1, 0], np.array([1, 1], np.int32))
    found = delta_sweep(graph, 0, factors=(1e-6, 1e-5, 1))
    assert len({row["delta"] for row in found["rows"]}) == len(found["rows"]) == 2


def test_commands(tmp_path: Path) -> None:
    graph = random_graph(300, 2000, "int32")
    file, run, sweep = tmp_path / "g.npz", tmp_path / "run.json", tmp_path / "sweep.json"
    nearfar.write(graph, file)
    method = ["--method", "near_far", "--device", "cpu"]
    assert main(["sssp", str(file), "0", *method, "--profile", str(run)]) == 0
    assert json.loads(run.read_text())["engine"] == "near_far@cpu"
    assert main(["sweep", str(file), "0", "--factors", "0.5", "2", "-o", str(sweep)]) == 0
    pytest.importorskip("matplotlib")
    for made in (run, sweep):
        image = made.with_suffix(".svg")
        assert main(["plot", str(made), "-o", str(image)]) == 0
        assert "<svg" in image.read_text()[:2000]
    assert main(["plot", str(run), "-o", str(tmp_path / "run.xyz")]) == 2


def test_queues_of_any_size_can_be_read_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: a queue of a thousandth of the vertices was a line at the picture's bottom."""
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    graph = nearfar.generate("road_like", vertices=3000)
    document = profile(graph, nearfar.sssp(graph, 0, method="near_far@cpu", trace=True))
    drawn = []
    monkeypatch.setattr(plt, "close", drawn.append)
    plot_profile(document, tmp_path / "run.png")
    upper, lower = drawn[0].axes
    assert upper.get_yscale() == "symlog"
    assert [text.get_text() for text in upper.get_legend().get_texts()] == ["frontier", "far pile"]
    assert lower.get_ylabel() == "% of all in the end"
    assert [line.get_ydata()[-1] for line in lower.lines] == [100, 100, 100]
    monkeypatch.undo()
    plt.close(drawn[0])


def test_many_iterations_become_few_points() -> None:
    values = np.arange(10_000.0)
    at, mean, least, most = _thinned(values, 100)
    assert len(at) == 100
    assert (least[0], most[0], most[-1]) == (0, 99, 9999)
    np.testing.assert_allclose(at, mean + 1)  # iterations count from 1
    at, mean, _, _ = _thinned(values[:7])
    assert at.tolist() == [1, 2, 3, 4, 5, 6, 7]
