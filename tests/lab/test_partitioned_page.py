"""The table of one source over several GPUs: what fits, what does not, the share of the link."""

from __future__ import annotations

from typing import Any

import pytest
from docs.generators import partitioned

AROUND = {
    "gpu": {"name": "GPU", "driver": "13.0", "cupy": "14"},
    "date": "2026-11-22T12:00:00",
    "commit": "0123456789abcdef",
}


def row(devices: int, wrong: int = 0) -> dict[str, Any]:
    solve = {"samples_s": [0.03, 0.02, 0.01], "gteps": 50.0, "edges_relaxed": 25}
    steps = [
        {"kind": "take", "step": [2.0, 3.0], "pieces": [1.0, 1.0], "fetch": [1.0, 0.5]},
        {"kind": "learn", "step": [1.0, 1.0], "pieces": [0.0, 0.0], "fetch": [0.0, 0.0]},
        {"kind": "pull_open", "step": [4.0, 3.0], "pieces": [0.0, 0.0], "fetch": [0.0, 0.0]},
    ]
    found = {"scale": 24, "devices": devices, "vertices": 1 << 24, "edges": 100, "wrong": wrong}
    return found | {"solves": [solve], "profile": steps}


def test_the_table_of_partitioned_solves(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = row(1) | {"near_far_s": [0.026]}
    refused = [{"scale": 29, "devices": 1, "why": "memory"}]
    document: dict[str, Any] = {"environment": AROUND, "results": [alone, row(2), *refused]}
    monkeypatch.setattr(partitioned, "results", lambda name: document)
    lines = partitioned.partitioned().splitlines()
    first = "| 24: 16,777,216 vertices, 100 edges |"
    assert f"{first} 1 | 20.0 | 50.0 | 0.25 | - | 26.0 |" in lines
    assert f"{first} 2 | 20.0 | 50.0 | 0.25 | 20 % | - |" in lines  # 2 of 10
    assert "| 29 | 1 | does not fit | - | - | - | - |" in lines
    assert any("every distance proven" in line for line in lines)
    document["results"].append(row(2, wrong=3))
    assert "3 wrong" in partitioned.partitioned()
    monkeypatch.setattr(partitioned, "results", lambda name: None)
    assert "Measure with" in partitioned.partitioned()
