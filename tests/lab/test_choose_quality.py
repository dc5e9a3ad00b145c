"""Benchmarks of the automatic choice: on an emulated GPU, and for many sources."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nearfar.generators import generate
from tests.loading import load_program

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_program("benchmarks", "choose_quality_cuda")


@pytest.mark.usefixtures("emulated_gpu")
def test_every_cuda_variant_is_tried_and_auto_is_judged(script: ModuleType) -> None:
    graph = generate("uniform_random", vertices=40, degree=3)
    found = script.judge("toy", graph, 2, 20.0)
    assert found["wrong"] == []
    assert {"near_far@cuda", "crauser_fused@cuda", "bellman_ford@cuda"} <= set(found["tried"])
    assert found["auto_over_best"] > 0
    assert set(found["samples"]) == {"auto", *found["finalists"]}
    assert all(len(times) == 2 for times in found["samples"].values())


@pytest.mark.usefixtures("emulated_gpu")
def test_the_negative_graph_is_one(script: ModuleType) -> None:
    graph = script.make("negative", None)
    assert 0.05 < graph.n_negative / graph.n_edges < 0.5


def test_batches_are_judged_and_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = load_program("benchmarks", "choose_batches")
    tiny = {
        "mesh": lambda: generate("delaunay", vertices=400),
        "social": lambda: generate("kronecker", scale=8),
    }
    monkeypatch.setattr(script, "GRAPHS", tiny)
    bounded = {"prepared-within-40": {"within": 40}}
    monkeypatch.setattr(script, "BOUNDED", bounded)
    monkeypatch.setattr(script, "load", lambda _: generate("road_like", vertices=400))
    file = tmp_path / "choose_batches.json"
    monkeypatch.setattr(sys, "argv", ["benchmark", "--rounds", "1", "-o", str(file)])
    assert script.main() == 0
    found = json.loads(file.read_text())
    assert [row["graph"] for row in found["results"]] == [*tiny, *bounded]
