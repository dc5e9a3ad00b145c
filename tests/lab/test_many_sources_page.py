"""Tables of many sources: what a result says, and what is said before there is one."""

from __future__ import annotations

from typing import Any

import pytest
from docs.generators import many_sources

DEVICE = {"name": "GPU X", "driver": "13.0", "cupy": "14"}
ENTRY: dict[str, Any] = {
    "vertices": 6301,
    "edges": 20777,
    "block_per_source": {"all_pairs_seconds": 0.00123},
    "block_per_source lists": {"all_pairs_seconds": 0.00101},
    "heap_sampled_sources": 48,
    "heaps_one_core_all_pairs_seconds": {"a": 3.5, "b": 2.25},
    "times_best_heap": 1829.3,
    **{
        f"johnson_{form}": {"sampled_sources": 24, "all_pairs_seconds": seconds}
        for form, seconds in (("flag", 19.6), ("queue", 20.8), ("prefix", 113.5))
    },
}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What stands for the kept results, by file name."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(many_sources, "results", found.get)
    return found


def test_what_was_not_measured_says_how(held: dict[str, Any]) -> None:
    for make in (
        many_sources.all_pairs_gpu,
        many_sources.roads_gpu,
        many_sources.floyd_gpu,
        many_sources.all_pairs_cpu,
    ):
        assert make().startswith("Not measured yet: `python benchmarks/")


def test_the_batch_stands_beside_the_heap_and_the_papers_forms(held: dict[str, Any]) -> None:
    second = {**ENTRY, "block_per_source": {"all_pairs_seconds": 0.5}}
    second["block_per_source lists"] = {"all_pairs_seconds": 0.75}
    found = [{"graph": "one", **ENTRY}, {"graph": "two", **second}]
    held["all_pairs_cuda.json"] = {"device": DEVICE, "results": found}
    text = many_sources.all_pairs_gpu()
    assert (
        "| one: 6,301 vertices, 20,777 edges | 1.23 | 1.01 | 2.25 | 2,228 | 19.6 | 20.8 | 114 |"
        in text
    )
    assert "form: 0.50 s" in text
    assert "at most 48 and 24" in text.replace("\n", " ")
    assert "GPU X" in text


def test_roads_take_the_best_sample_in_microseconds(held: dict[str, Any]) -> None:
    found = [{"graph": "New York roads", "methods": {"a": {"ms_per_source": [0.05, 0.041]}}}]
    held["all_pairs_cuda.json"] = {"device": DEVICE, "results": found}
    assert "| a | 41.0 |" in many_sources.roads_gpu()


def test_floyd_warshall_and_its_predecessors(held: dict[str, Any]) -> None:
    entry = {"vertices": 16384, "samples": [0.4, 0.318], "share_of_ceiling": 0.876}
    both = {"int32": {**entry, "predecessor_samples": [0.63]}, "float32": entry}
    held["floyd_warshall_cuda.json"] = {
        "results": both,
        "environment": {"gpu": DEVICE, "date": "2026-01-02", "commit": "0123456789abcdef"},
    }
    text = many_sources.floyd_gpu()
    assert "| int32, n = 16,384 | 318 | 88% | 630 |" in text
    assert "| float32, n = 16,384 | 318 | 88% | - |" in text
    assert "commit 0123456789ab" in text


def test_two_threads_over_one_and_times_scipy(held: dict[str, Any]) -> None:
    contenders = {"scipy": {"median": 2.0}, "x, 1 threads": {"median": 0.5}}
    contenders["x, 2 threads"] = {"median": 0.25}
    held["all_pairs_cpu.json"] = {"results": {"task": contenders}}
    text = many_sources.all_pairs_cpu()
    assert "| task: x, one thread | 500 | 4.0 | - |" in text
    assert "| task: x, 2 threads | 250 | 8.0 | 2.00 |" in text
