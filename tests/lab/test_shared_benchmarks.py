"""Shared code of benchmarks: alternating contenders, files by parts, and both together."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pytest

from tests.loading import ROOT, load_program


def test_every_benchmark_finds_what_it_imports() -> None:
    names = {file.stem for file in (ROOT / "benchmarks").glob("*.py")}
    assert len(names) > 40
    for name in sorted(names):
        assert load_program("benchmarks", name).__doc__, name


def test_contenders_take_turns_and_answers_are_compared() -> None:
    turns = load_program("benchmarks", "turns")
    order: list[str] = []
    contenders = {name: lambda name=name: order.append(name) for name in ("a", "b")}
    samples = turns.take_turns(contenders, 2, lambda one, other: one == other)
    assert order == ["a", "b"] * 3
    assert {name: len(times) for name, times in samples.items()} == {"a": 2, "b": 2}
    # The first round is the sample of a contender that exceeds the patience.
    assert len(turns.take_turns(contenders, 2, lambda one, other: True, 0.0)["a"]) == 1
    with pytest.raises(SystemExit, match="b gave a different answer"):
        turns.take_turns({"a": lambda: 1, "b": lambda: 2}, 1, lambda one, other: one == other)
    row = turns.line("what", "a", {"a": [2.0, 4.0], "b": [1.0, 2.0]}, graph="toy")
    assert row["median_seconds"] == {"a": 3.0, "b": 1.5}
    assert row["least_seconds"] == {"a": 2.0, "b": 1.0}
    assert row["times_of_base"] == {"b": 0.5}
    assert row["graph"] == "toy"


def test_results_go_to_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser("speed.py")
    load_program("benchmarks", "result_file").add_output(parser)
    assert parser.parse_args([]).output is None
    file = tmp_path / "new" / "speed.json"
    assert parser.parse_args(["-o", str(file)]).output == file
    for wrong, why in ((tmp_path, "a folder"), (tmp_path / "speed", "not named *.json")):
        with pytest.raises(SystemExit):
            parser.parse_args(["-o", str(wrong)])
        said = f"{wrong} is {why}: give a file, such as {tmp_path / 'speed.json'}"
        assert said in capsys.readouterr().err
    texts = {file.name: file.read_text() for file in (ROOT / "benchmarks").glob("*.py")}
    del texts["result_file.py"]
    for own, instead in (('add_argument("-o"', "add_output"), ("write_json", "write_result")):
        wrong = [name for name, text in texts.items() if own in text]
        assert wrong == [], f"result_file.{instead} is for that"


def test_parts_that_give_no_row_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "parts.json"
    parts = {"some": lambda scale: iter([{"scale": scale}]), "none": lambda scale: iter(())}
    file.write_text(json.dumps({"parts": {"none": "kept"}}))
    monkeypatch.setattr(sys, "argv", ["program", "--scale", "tiny", "-o", str(file)])
    load_program("benchmarks", "in_parts").answer("about", parts, lambda part, row: None)
    found = json.loads(file.read_text())["parts"]
    assert found["none"] == "kept"
    assert found["some"]["rows"] == [{"scale": "tiny"}]
    assert found["some"]["environment"]["commit"]


def test_the_interface_of_scipy() -> None:
    script = load_program("benchmarks", "front_doors")
    rows = list(script.DOORS["scipy"]("tiny"))
    assert {row["graph"] for row in rows} == {"kronecker", "mesh", "random", "martin"}
