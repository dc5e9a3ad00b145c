"""Ablation: every trick can be removed, and measurements without it are checked."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from nearfar import _cpu
from nearfar.generators import generate

from .loading import load_program

ROOT = Path(__file__).resolve().parents[1]
script = load_program("benchmarks", "ablation")
builds = load_program("benchmarks", "ablation_tricks")
EVERY = builds.TRICKS
LISTS = (
    EVERY,
    builds.BREADTH_FIRST_TRICKS,
    builds.PREPARED_TRICKS,
    builds.MEASURE_TRICKS,
    builds.RASTER_TRICKS,
    builds.RASTER_CUDA_TRICKS,
)
ALL = {trick.folder: trick for tricks in LISTS for trick in tricks}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("sources")
    builds.copy_sources(tree)
    return tree


@pytest.mark.parametrize("trick", ALL.values(), ids=ALL)
def test_a_trick_is_where_its_edits_expect_it(trick: Any, sources: Path) -> None:
    for old, _ in trick.edits:
        assert old in builds.find(sources / "src" / "nearfar", old).read_text()


def test_a_trick_is_taken_out_of_the_copy_alone(sources: Path, tmp_path: Path) -> None:
    trick = next(one for one in EVERY if one.name == "packed edges")
    tree = shutil.copytree(sources, tmp_path / "tree")
    edited = builds.take_out(trick, tree)
    assert len(edited) == 1
    package = Path("src", "nearfar")
    for path in (sources / package).rglob("*.?pp"):
        name = path.relative_to(sources / package)
        same = path.read_bytes() == (tree / package / name).read_bytes()
        assert same == (name.as_posix() not in edited), name
    with pytest.raises(LookupError, match="no file"):
        builds.take_out(trick, tree)


def test_names_and_folders_are_distinct() -> None:
    for tricks in LISTS:
        assert len({trick.folder for trick in tricks}) == len(tricks)
        assert all(trick.edits or trick.environment or trick is builds.NOTHING for trick in tricks)
        assert all(old != new for trick in tricks for old, new in trick.edits)


def test_text_in_no_place_or_in_two_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("one two two")
    (tmp_path / "b.hpp").write_text("three")
    (tmp_path / "c.py").write_text("three")
    assert builds.find(tmp_path, "one") == tmp_path / "a.cpp"
    for text in ("two", "three", "four"):
        with pytest.raises(LookupError, match="expected one place"):
            builds.find(tmp_path, text)


def test_what_an_edit_compiles_anew() -> None:
    family = builds.FAMILY
    depends = {
        f"{family}sequential.cpp": {f"{family}relax.hpp", "cpu/view.hpp"},
        f"{family}cpu.cpp": {"cpu/view.hpp"},
        "cpu/view.cpp": {"cpu/view.hpp"},
        "cpu/distances/proof.cpp": {"cpu/view.hpp"},
    }
    assert builds.to_compile({"cpu/distances/proof.cpp"}, depends) == ["cpu/distances/proof.cpp"]
    assert builds.to_compile({f"{family}relax.hpp"}, depends) == [f"{family}sequential.cpp"]
    everything = builds.to_compile({"cpu/view.hpp"}, depends)
    assert everything == sorted(set(depends) - {"cpu/distances/proof.cpp"})
    assert builds.to_compile({"memory.py"}, depends) == []
    with pytest.raises(LookupError, match="something to compile"):
        builds.to_compile({"cpu/nobody.hpp"}, depends)


def part(**ratios: float) -> dict[str, Any]:
    return {
        name.replace("_", " "): {"ratio": ratio, "ratio_of_medians": ratio, "least_ms": 10 * ratio}
        for name, ratio in {"with_all": 1.0, **ratios}.items()
    }


def data(**more: Any) -> dict[str, Any]:
    names = ("a", "b", "c")
    threads = [
        {"1": part(a=1.01, b=1.5), "2": part(a=0.9, b=1.0, c=1.0)},
        {"1": part(a=1.04, b=0.7), "2": part(a=1.049, b=1.0, c=1.02)},
    ]
    graphs = {f"graph {i}": {"threads": one} for i, one in enumerate(threads)}
    return {
        "tricks": dict.fromkeys(names, ""),
        "graphs": graphs,
        "busy": None,
    } | more


def test_tricks_that_do_not_pay_anywhere() -> None:
    assert script.not_paying(data()) == ["a", "c"]
    crowded = {"graph": "small", "loops": {"2": part(c=1.9)}}
    assert script.not_paying(data(busy=crowded)) == ["a"]


def test_a_trick_pays_where_least_and_median_times_agree() -> None:
    crowded = {"graph": "small", "loops": {"2": part(c=1.9)}}
    crowded["loops"]["2"]["c"]["ratio_of_medians"] = 1.04
    assert "c" in script.not_paying(data(busy=crowded))


def test_tables_have_a_row_per_trick_and_a_column_per_graph() -> None:
    said = "\n".join(script.lines(data(busy={"graph": "small", "loops": {"2": part(c=1.9)}})))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines()]
    assert ["without, 1 thread", "graph 0", "graph 1"] in rows
    assert ["a", "1.01", "1.04"] in rows
    assert ["c", "1.00", "1.02"] in rows
    assert ["with all", "10 ms", "10 ms"] in rows
    assert "with 2 busy loops, small: c 1.90" in said
    assert said.endswith("below 1.05 everywhere: a")


class Made:
    """Stand-in for a process with given times."""

    def __init__(self, times: list[float], digest: str = "right") -> None:
        self.times, self.digest = iter(times), digest

    def call(self, *_: Any) -> dict[str, Any]:
        time = next(self.times)
        return {"wall": [time, time + 1], "processor": [2 * time], "digest": self.digest}


def test_ratios_are_those_of_the_least_times() -> None:
    made = {"with all": Made([4, 2, 3]), "a": Made([3, 5, 4])}
    samples = script.take_turns(made, 3, ("solve",), "right")
    found = script.summary(samples, "wall")
    assert found["a"]["samples_ms"] == [3, 5, 4]
    assert (found["a"]["ratio"], found["a"]["ratio_of_medians"]) == (1.5, 4 / 3)
    assert found["with all"]["ratio"] == 1
    assert script.summary(samples, "processor")["a"]["least_ms"] == 6


@pytest.mark.parametrize("digest", ["right", None])
def test_a_wrong_answer_ends_the_measurement(digest: str | None) -> None:
    made = {"with all": Made([1, 1]), "a": Made([1, 1], "wrong")}
    with pytest.raises(SystemExit, match=r"without a, .*wrong answer"):
        script.take_turns(made, 2, ("solve",), digest)


def test_processes_run_the_edited_packages(sources: Path, tmp_path: Path) -> None:
    """Tricks in Python need no compiler and use the present module."""
    tricks = [one for one in EVERY if one.name == "narrow view"]
    trees = {}
    for trick in (*tricks, builds.Trick("with all", "")):
        tree = shutil.copytree(sources, tmp_path / trick.folder)
        builds.take_out(trick, tree)
        shutil.copy(_cpu.__file__, tree / "src" / "nearfar")
        trees[trick.name] = tree / "src"
    graph = generate("uniform_random", vertices=2000, degree=40, seed=1)
    file = script.save(graph, tmp_path / "graph.npz")
    with script.processes(trees, tricks) as started:
        assert set(started) == {"with all", "narrow view"}
        assert all(
            one.call("load", str(file), "delta_stepping") == graph.n_edges
            for one in started.values()
        )
        for threads in (1, 2):
            request = ("solve", 3, threads, 0.1)
            samples = script.take_turns(started, 2, request, script.proven(graph, 3))
            assert all(len(one["wall"]) == 2 for one in samples.values())


def test_a_package_from_elsewhere_is_refused(tmp_path: Path) -> None:
    process = script.Process(tmp_path, {})
    with pytest.raises(SystemExit, match="a process ended with 1"):
        process.answer()
    process.close()
