"""Soak test: it runs, detects a wrong or crashing engine, and keeps counts at Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tests.loading import load_program

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, str(ROOT / "benchmarks" / "soak.py")]

PLANTED = '''"""A loop that is right but for what is planted."""

import os

import numpy as np

from nearfar.options import NoOptions
from nearfar.registry import Answer, find, variant

{planted}

@variant("planted", device="cpu", summary="a planted mistake", options=NoOptions,
         paper="dijkstra-1959", section="none", complexity="O(m)")
def planted(graph, source, options, workspace):
    """The answer of another variant, spoilt."""
    answer = find("dijkstra_array@cpu")[0].run(graph, source, options, workspace)
    spoil(graph, answer.distances)
    return answer
'''


def soak(*arguments: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    words = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=env)


def planted(folder: Path, spoil: str) -> dict[str, str]:
    """Return the environment with a registered variant that spoils its distances."""
    family = folder / "variants" / "planted"
    family.mkdir(parents=True)
    (family / "__init__.py").write_text('"""Planted."""\n')
    (family / "cpu.py").write_text(PLANTED.replace("{planted}", spoil))
    return {**os.environ, "NEARFAR_VARIANTS": str(family.parent)}


def part_of(file: Path) -> dict[str, Any]:
    found = json.loads(file.read_text())["cpu"]
    assert isinstance(found, dict)
    return found


def test_a_second(tmp_path: Path) -> None:
    kept = tmp_path / "soak.json"
    kept.write_text('{"cuda": {"rows": 7}}')
    done = soak("--seconds", 1, "--processes", 2, "--failures", tmp_path / "wrong", "-o", kept)
    assert done.returncode == 0, done.stdout + done.stderr
    part = part_of(kept)
    assert json.loads(kept.read_text())["cuda"] == {"rows": 7}
    assert (part["wrong"], part["graphs"] >= 2) == (0, True)
    for group in ("by_door", "by_variant", "by_dtype"):
        for what in ("solves", "rows"):
            assert sum(entry[what] for entry in part[group].values()) == part[what] > 0
    assert part["environment"]["commit"]
    assert not (tmp_path / "wrong").exists()


def test_a_wrong_engine_is_caught_and_its_case_runs_again(tmp_path: Path) -> None:
    env = planted(
        tmp_path,
        "def spoil(graph, distances):\n    distances[int(np.argmax(distances))] //= 2\n",
    )
    kept, wrong = tmp_path / "soak.json", tmp_path / "wrong"
    few = ("--without", "ends of the dtypes", "--goal", 2000)  # the same progress on a busy machine
    done = soak("--seconds", 60, "--seed", 3, *few, "--failures", wrong, "-o", kept, env=env)
    assert done.returncode == 1, done.stdout + done.stderr
    part = part_of(kept)
    found = [answer for answer in part["wrong_answers"] if answer["variant"] == "planted@cpu"]
    assert found
    assert part["wrong"] == len(part["wrong_answers"])
    file = sorted(wrong.glob("soak-3-*.npz"))[0]
    with np.load(file) as arrays:
        about = json.loads(str(arrays["about"]))
        case = load_program("benchmarks", "soak_graphs").make(about["seed"], about["number"])
        np.testing.assert_array_equal(arrays["tails"], case.drawn[0])
        np.testing.assert_array_equal(arrays["heads"], case.drawn[1])
        assert int(arrays["n_vertices"]) == case.edges.n
    again = soak("--case", f"3:{about['number']}", env=env)
    assert again.returncode == 1
    assert "planted@cpu" in again.stdout


def test_a_process_that_dies_is_a_wrong_answer_and_the_next_case_runs(tmp_path: Path) -> None:
    env = planted(
        tmp_path,
        "def spoil(graph, distances):\n    if len(distances) > 100:\n        os._exit(77)\n",
    )
    kept = tmp_path / "soak.json"
    few = ("--seconds", 60, "--goal", 1000)  # the same progress on a busy machine
    done = soak(*few, "--failures", tmp_path / "wrong", "-o", kept, env=env)
    assert done.returncode == 1, done.stdout + done.stderr
    assert any("exit code 77" in answer["found"] for answer in part_of(kept)["wrong_answers"])
    assert list((tmp_path / "wrong").glob("*.npz"))


def test_ctrl_c_keeps_what_was_counted(tmp_path: Path) -> None:
    kept = tmp_path / "soak.json"
    words = [
        *PROGRAM,
        "--seconds",
        "3600",
        "--failures",
        str(tmp_path / "wrong"),
        "-o",
        str(kept),
    ]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.stdout is not None
    assert run.stdout.readline().startswith("seed 1")
    run.send_signal(signal.SIGINT)
    text, _ = run.communicate(timeout=120)
    assert run.returncode == 0, text
    assert part_of(kept)["interrupted"] is True


def test_the_oracle_agrees_with_a_textbook_search() -> None:
    graphs = load_program("benchmarks", "soak_graphs")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import soak_oracle
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    compared: Counter[str] = Counter()
    for number in range(200):
        case = graphs.make(5, number)
        if case.edges.n > 200 or case.edges.negative:
            continue
        truth = case.truth
        for row in range(0, len(truth.sources), 37):
            found = soak_oracle.heap_search(truth.edges, int(truth.sources[row]))
            there = np.flatnonzero(truth.reached[row]).tolist()
            assert sorted(found) == there
            assert [found[v] for v in there] == truth.values[row, there].tolist()
            compared[case.kind] += 1
    assert set(compared) == {"int32", "int64", "float32", "float64", "unweighted"}
    assert min(compared.values()) > 20


def test_a_run_ends_at_its_goal_and_goes_on_and_parts_are_added(tmp_path: Path) -> None:
    kept, other = tmp_path / "soak.json", tmp_path / "other.json"
    run = ("--seconds", 100, "--goal", 200, "--failures", tmp_path / "wrong")
    soak(*run, "--add", "-o", kept)
    first = part_of(kept)
    assert first["solves"] + first["rows"] >= 200
    assert first["seconds"] < 60
    soak(*run, "--add", "-o", kept)
    second = part_of(kept)
    assert second["next"] > first["next"] > 0
    assert [one["rows"] for one in second["runs"]] == [
        first["rows"],
        second["rows"] - first["rows"],
    ]
    soak(*run, "--seed", 9, "-o", other)
    refused = soak(*run, "--seed", 9, "--add", "-o", kept)
    assert refused.returncode == 2
    assert "has seed 1" in refused.stderr
    both = tmp_path / "both.json"
    soak("--merge", kept, other, "-o", both)
    sums = part_of(both)
    assert [one["seed"] for one in sums["runs"]] == [1, 1, 9]
    for what in ("graphs", "solves", "rows"):
        assert sums[what] == second[what] + part_of(other)[what]
        assert what == "graphs" or sums[what] == sum(d[what] for d in sums["by_door"].values())


def test_exact_distances_at_the_ends_of_the_dtypes() -> None:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import soak_extremes
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    ends = np.array([0, 1]), np.array([1, 2])
    high = soak_extremes.Small(3, *ends, np.array([3e38, 3e38], np.float32))
    judge = soak_extremes.rows_judge(high, [high.rows[0]])
    assert judge(np.array([0, 3e38, np.inf])) is not None  # a sum that left the range
    assert judge(np.array([0, 3e38, 6e38], np.float64)) is None
    one = soak_extremes.Small(3, *ends, np.array([1e308, 1e308]))
    assert soak_extremes.error_of(one, [one.rows[0]])
    assert not soak_extremes.error_of(one, [one.rows[1]])
    ring = np.array([0, 1, 2]), np.array([1, 2, 0])
    below = soak_extremes.Small(3, *ring, np.array([1, -1, -2.7e-39], np.float32))
    assert below.rows == [None, None, None]
