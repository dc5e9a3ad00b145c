"""Tuner: measurement, storage and lookup, and failures of the store."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.cuda import launch_shapes
from nearfar.cuda.launch_shapes import DEFAULT, LaunchShape
from nearfar.cuda.tune import Measurement, tunable, tune
from nearfar.errors import CacheError, GraphError, OptionError, VariantUnavailable
from nearfar.options import LaunchOptions
from tests.zoo import ZOO, as_dtype


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def graph() -> Graph:
    return as_dtype(ZOO["parallel_edges"](), "int32")


def test_store_round_trip() -> None:
    shape = LaunchShape(128, 96, 192, 50)
    path = launch_shapes.store("GPU A", "n=2^10 degree=2^3 int32", "crauser_successors", shape)
    assert launch_shapes.stored("GPU A", "n=2^10 degree=2^3 int32", "crauser_successors") == shape
    assert launch_shapes.stored("GPU B", "n=2^10 degree=2^3 int32", "crauser_successors") is None
    other = dataclasses.replace(shape, relax=512)
    launch_shapes.store("GPU B", "n=2^10 degree=2^3 int32", "crauser_successors", other)
    assert launch_shapes.stored("GPU A", "n=2^10 degree=2^3 int32", "crauser_successors") == shape
    assert len(json.loads(path.read_text())["shapes"]) == 2


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 99, "shapes": {}}'])
def test_a_damaged_store_counts_as_empty_and_is_replaced(content: str) -> None:
    path = launch_shapes.store_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    assert launch_shapes.stored("GPU", "class", "idea") is None
    launch_shapes.store("GPU", "class", "idea", DEFAULT)
    assert launch_shapes.stored("GPU", "class", "idea") == DEFAULT


def test_a_store_that_cannot_be_written_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path / "file"))
    with pytest.raises(CacheError, match="NEARFAR_CACHE"):
        launch_shapes.store("GPU", "class", "idea", DEFAULT)


def test_options_win_over_the_store_and_the_store_over_the_default(graph: Graph) -> None:
    assert launch_shapes.resolve(LaunchOptions(), graph, "idea", "GPU") == DEFAULT
    kept = LaunchShape(64, 128, 512, 100)
    launch_shapes.store("GPU", launch_shapes.graph_class(graph), "idea", kept)
    assert launch_shapes.resolve(LaunchOptions(), graph, "idea", "GPU") == kept
    mixed = launch_shapes.resolve(
        LaunchOptions(threads_minimum=32, carveout=-1), graph, "idea", "GPU"
    )
    assert mixed == LaunchShape(64, 32, 512, -1)


def test_graph_classes() -> None:
    small = Graph.from_edges([0], [1], np.array([1.5], dtype=np.float32), n_vertices=1000)
    assert launch_shapes.graph_class(small) == "n=2^10 degree=2^-10 float32"
    empty = Graph.from_edges([], [], n_vertices=1)
    assert launch_shapes.graph_class(empty) == "n=2^0 degree=2^0 int32"


@pytest.mark.usefixtures("emulated_gpu")
def test_tune_measures_every_shape_and_later_runs_take_the_best(graph: Graph) -> None:
    steps: list[tuple[float, float]] = []
    result = tune(
        graph,
        "crauser_successors",
        rounds=2,
        threads=(32, 64),
        carveouts=(-1, 50),
        progress=lambda done, total: steps.append((done, total)),
    )
    assert len(steps) == 4
    tried = {m.shape for m in result.measurements}
    assert {shape.relax for shape in tried} == {32, 64, 256}
    assert {shape.carveout for shape in tried} == {-1, 50}
    assert all(len(m.seconds) == 2 for m in result.measurements)
    assert result.best_seconds <= result.default_seconds
    assert result.gain >= 0
    kept = launch_shapes.stored(result.device, result.graph_class, "crauser_successors")
    assert kept == result.best
    wanted = LaunchShape(32, 64, 96, 50)
    launch_shapes.store(result.device, result.graph_class, "crauser_successors", wanted)
    paths = nearfar.sssp(graph, 0, method="crauser_successors@cuda", trace=True)
    assert paths.stats["launch_shape"] == wanted


@pytest.mark.usefixtures("emulated_gpu")
def test_the_default_shape_may_be_the_best(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(_: object, shapes: list[LaunchShape], rounds: int) -> list[Measurement]:
        return [Measurement(s, (1.0 if s == DEFAULT else 2.0,) * rounds) for s in shapes]

    monkeypatch.setattr("nearfar.cuda.tune._Solver.compare", compare)
    result = tune(graph, "crauser_successors", rounds=1, threads=(32,), carveouts=(-1,))
    assert (result.best, result.best_seconds, result.gain) == (DEFAULT, 1.0, 0.0)
    assert result.measurements[-1].shape == DEFAULT


@pytest.mark.usefixtures("emulated_gpu")
def test_tune_can_keep_nothing(graph: Graph, own_cache: Path) -> None:
    result = tune(
        graph, "frontier_successors", rounds=1, threads=(32,), carveouts=(-1,), store=False
    )
    assert result.path is None
    assert not launch_shapes.store_path().exists()


@pytest.mark.usefixtures("emulated_gpu")
def test_tune_refuses(graph: Graph) -> None:
    with pytest.raises(OptionError, match="cannot be tuned"):
        tune(graph, "dijkstra")
    with pytest.raises(OptionError, match="rounds"):
        tune(graph, rounds=0)
    with pytest.raises(GraphError, match="no edges"):
        tune(Graph.from_edges([], [], n_vertices=3))
    assert "crauser_successors" in tunable()
    assert "crauser_fused" not in tunable()


def test_tune_without_a_gpu_says_why(graph: Graph) -> None:
    from nearfar.system.devices import runtime

    here = runtime.available()
    if here is True:
        pytest.skip("this machine has a GPU")
    with pytest.raises(VariantUnavailable, match="no CUDA device"):
        tune(graph)


@pytest.mark.usefixtures("emulated_gpu")
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], graph: Graph) -> None:
    from nearfar.cli.main import main
    from nearfar.formats import write

    file = tmp_path / "graph.npz"
    write(graph, file)
    arguments = ["tune", os.fspath(file), "--method", "frontier_successors", "--rounds", "1"]
    assert main([*arguments, "--json"]) == 0
    (facts,) = json.loads(capsys.readouterr().out)
    assert facts["method"] == "frontier_successors"
    assert facts["best"]["threads_relax"] % 32 == 0
    assert Path(facts["stored_in"]).is_file()
    assert main([*arguments, "--no-store"]) == 0
    assert "gain" in capsys.readouterr().out
