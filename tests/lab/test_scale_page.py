"""The tables and the picture of GPUs that share sources, from one file, from both, from none."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from docs.generators import scale

AROUND = {"gpu": {"name": "GPU <X>"}, "date": "2026-11-22T12:00:00", "cores": 2, "load_average": 1}


def measured(devices: int, wrong: int = 0) -> dict[str, Any]:
    """A run in which every further device brings nine tenths."""
    times = {count: 1.0 / (1 + 0.9 * (count - 1)) for count in range(1, devices + 1)}
    case = {
        "what": "roads & more",
        "sources": 8192,
        "samples": {str(count): [took] * 3 for count, took in times.items()},
        "speedups": {str(count): 1 / took for count, took in times.items()},
        "wrong": wrong,
    }
    return {"environment": AROUND, "results": [case]}


def lines_drawn() -> int:
    picture = ElementTree.fromstring(scale.chart())
    return sum(part.tag.endswith("polyline") for part in picture.iter())


def test_a_run_and_that_of_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"scale_gpus.json": measured(2), "scale_gpus_four.json": measured(4)}
    monkeypatch.setattr(scale, "results", files.get)
    assert "| roads & more | 8,192 | 1,000 | 1.90 |" in scale.gpus()
    assert "| roads & more | 8,192 | 1,000 | 1.90 | 2.80 | 3.70 |" in scale.four_gpus()
    assert "results/scale_gpus_four.json" in scale.four_gpus()
    assert lines_drawn() == 2
    assert "times as fast as one GPU" in scale.chart()
    assert "dashed: an earlier machine" in scale.chart()
    files["scale_gpus.json"] = measured(2, wrong=1)
    assert "SOME ROWS WERE WRONG" in scale.gpus()
    del files["scale_gpus.json"]
    assert "Not measured yet" in scale.gpus()
    assert lines_drawn() == 1
    files.clear()
    assert "Not measured yet" in scale.four_gpus()
    assert "dashed" not in scale.chart()
    assert lines_drawn() == 0
