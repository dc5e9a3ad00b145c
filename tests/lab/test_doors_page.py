"""Tables of a GPU's doors: what a result says, and what is said before there is one."""

from __future__ import annotations

from typing import Any

import pytest
from docs.generators import doors_cuda

DEVICE = {"name": "GPU X", "driver": "13.0", "cupy": "14"}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What stands for the kept results, by file name."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(doors_cuda, "results", found.get)
    return found


def test_what_was_not_measured_says_how(held: dict[str, Any]) -> None:
    for make, part in ((doors_cuda.all_pairs, "all-pairs"), (doors_cuda.first_calls, "first")):
        assert make().startswith(
            f"Not measured yet: `python benchmarks/doors_cuda.py --only {part}"
        )


def test_each_door_has_its_first_call_and_the_next(held: dict[str, Any]) -> None:
    def taken(*walls: float) -> list[dict[str, float]]:
        return [{"wall": wall, "device": wall / 2} for wall in walls]

    kinds = {"fresh": taken(0.4, 0.2, 0.3), "again": taken(0.1, 0.1, 0.9)}
    one = {"graph": "g", "vertices": 1000, "edges": 2000, "samples": {"rows": kinds}}
    held["doors_cuda.json"] = {
        "all-pairs": {"device": DEVICE, "settings": {"rounds": 3}, "results": [one]}
    }
    text = doors_cuda.all_pairs()
    assert "| rows | 300 | 150 | 100 | 50.0 |" in text
    assert "g: 1,000 vertices, 2,000 edges" in text
    assert "GPU X" in text


def test_first_calls_with_caches_full_and_empty(held: dict[str, Any]) -> None:
    lines: list[dict[str, Any]] = [
        {"what": "CuPy", "seconds": {"full": [0.25], "empty": []}},
        {"what": "sssp", "seconds": {"full": [0.5], "empty": [1.25, 1.5, 1]}},
    ]
    for one, ours in zip(lines, (0, 2), strict=True):
        one["kernel_files"] = {"kernels": ours, "cupy": 0}
    held["doors_cuda.json"] = {
        "first-calls": {"device": DEVICE, "settings": {"rounds": 1}, "results": lines}
    }
    text = doors_cuda.first_calls()
    assert "| CuPy | 0.25 |  |  |  |" in text
    assert "| sssp | 0.50 | 1.25 | 2 | 0 |" in text
