"""A variant in a single new folder is found wherever variants are listed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FAMILY = '''"""Toy: settle the nearest vertex that waits, found by looking at all that wait.

Dijkstra 1959, over a dictionary::

    waiting = {source: 0}
    while waiting:
        take v of least distance out of waiting; it is settled
        for each edge (v, t, w): waiting[t] = min(waiting[t], distance[v] + w)
"""
'''
CPU = '''"""The loop on one core."""

import numpy as np

from nearfar.options import NoOptions
from nearfar.registry import Answer, Estimate, variant


def cost(facts, request):
    """Nothing at all, as long as there are few vertices."""
    return Estimate(1e-12 * facts.n, f"a toy for {facts.n} vertices") if facts.n < 100 else None


@variant(
    "toy",
    device="cpu",
    summary="the nearest vertex that waits, by looking at all that wait",
    options=NoOptions,
    paper="dijkstra-1959",
    section="a dictionary as queue",
    complexity="O(n^2 + m)",
    cost=cost,
    scratch=lambda graph, request: 7 * graph.n_vertices,
)
def toy(graph, source, options, workspace):
    """Sums are rounded and saturate as in the loops of C++."""
    weights, dtype = graph.effective_weights, graph.weight_dtype
    whole = dtype.kind == "i"
    top = np.iinfo(dtype).max if whole else np.inf
    distances = np.full(graph.n_vertices, top, dtype=dtype)
    waiting, settled = {source: 0}, set()
    while waiting:
        v = min(waiting, key=waiting.get)
        distances[v] = waiting.pop(v)
        settled.add(v)
        for e in range(graph.indptr[v], graph.indptr[v + 1]):
            t = int(graph.indices[e])
            with np.errstate(over="ignore"):
                far = int(distances[v]) + int(weights[e]) if whole else distances[v] + weights[e]
            if t not in settled and far < top:
                waiting[t] = min(far, waiting.get(t, far))
    return Answer(distances, {"iterations": len(settled)})
'''


@pytest.fixture
def more(tmp_path: Path) -> dict[str, str]:
    """Return the environment in which the family of a temporary folder is registered."""
    folder = tmp_path / "more" / "toy"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(FAMILY)
    (folder / "cpu.py").write_text(CPU)
    return {
        **os.environ,
        "NEARFAR_VARIANTS": str(folder.parent),
        "NEARFAR_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT),
    }


def python(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_chooser_takes_it_where_it_is_cheapest(more: dict[str, str]) -> None:
    said = python(
        more,
        "-c",
        "import nearfar\n"
        "from nearfar.choose.ranking import explain\n"
        "from nearfar.generators import generate\n"
        "from nearfar.registry import Request, find\n"
        "small, large = (generate('grid', rows=n, columns=9) for n in (9, 99))\n"
        "solved = nearfar.sssp(small, 0)\n"
        "print(solved.engine, solved.reason)\n"
        "print(nearfar.sssp(large, 0).engine == 'toy@cpu')\n"
        "print(explain(large, device='cpu').others['toy@cpu'])\n"
        "print(find('toy')[0].scratch_bytes(small, Request()))\n",
    )
    assert said.splitlines() == [
        "toy@cpu a toy for 81 vertices",
        "False",
        "never chosen for such a graph and request",
        "567",
    ]


def test_the_commands_and_the_tables_list_it(more: dict[str, str]) -> None:
    listed = json.loads(python(more, "-m", "nearfar", "methods", "--family", "toy", "--json"))
    assert [v["id"] for v in listed] == ["toy@cpu"]
    pages = "from docs.generators import methods as m; print(m.page())"
    page = python(more, "-c", pages)
    assert "- `toy@cpu`: the nearest vertex that waits" in page
    assert "\n## Toy\n" in page


def test_conformance_proves_it(more: dict[str, str]) -> None:
    wanted = [
        *("tests/test_conformance.py::test_zoo[toy@cpu-int32]",),
        *("tests/test_conformance.py::test_zoo[toy@cpu-float32]",),
        "tests/test_conformance.py::test_limit_and_targets[int32-toy@cpu]",
        "tests/test_conformance.py::test_saturation_is_repeated_in_64_bits[toy@cpu]",
        "tests/test_registry.py::test_metadata[toy@cpu]",
    ]
    said = python(more, "-m", "pytest", "-q", "-p", "no:cacheprovider", *wanted)
    assert f"{len(wanted)} passed" in said


def test_without_the_folder_it_is_not_there(more: dict[str, str]) -> None:
    del more["NEARFAR_VARIANTS"]
    assert "toy@cpu" not in python(more, "-m", "nearfar", "methods")
