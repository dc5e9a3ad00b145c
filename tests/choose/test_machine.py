"""Speeds of the machine: measured, kept, read, and followed by the choice."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import Graph
from nearfar.choose import machine as choose_machine
from nearfar.choose import ranking as choose
from nearfar.choose.calibrate import calibrate
from nearfar.choose.machine import CPU, Machine
from nearfar.errors import CacheError
from nearfar.registry import variants
from tests.choose.test_choose import first


def test_calibration_is_kept_and_read(own_cache: Path, grid: Graph) -> None:
    steps: list[float] = []
    probes = (("uniform_random", {"vertices": 3000, "degree": 8}), ("grid", {"rows": 40}))
    found = calibrate(
        "cpu", rounds=1, probes=probes, progress=lambda done, total: steps.append(done / total)
    )
    assert steps == [0, 0.25, 0.5, 0.75]
    assert choose_machine.machine("cpu") == found
    assert {v.id for v in variants(device="cpu") if v.cost is not None} == set(found.factors)
    assert all(0 < factor < 1e4 for factor in found.factors.values())
    content = json.loads((own_cache / "machine.json").read_text())
    assert content["format"] == 1
    assert list(content["machines"]) == [choose_machine.processor()]
    assert choose.explain(grid, device="cpu").machines == {"cpu": found.measured}
    assert choose_machine.reset()
    assert not choose_machine.reset()
    assert choose_machine.machine("cpu") == CPU


def test_calibration_of_a_gpu(emulated_gpu: object) -> None:
    probes = (("uniform_random", {"vertices": 40, "degree": 3}),)
    found = calibrate("cuda", rounds=1, probes=probes)
    assert found.transfer > 0
    assert found.launch > 0
    assert choose_machine.machine("cuda") == found
    assert choose_machine.graphics() in choose_machine.stored()


def test_choices_follow_what_was_measured(grid: Graph) -> None:
    assert first(grid, device="cpu") == "delta_stepping@cpu"
    slow = Machine(factors={"delta_stepping@cpu": 100.0, "delta_stepping_parallel@cpu": 100.0})
    choose_machine.store(choose_machine.processor(), slow)
    assert first(grid, device="cpu") != "delta_stepping@cpu"
    choose_machine.reset()
    assert first(grid, device="cpu") == "delta_stepping@cpu"


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": 99, "machines": {}}', '{"format": 1, "machines": 3}']
)
def test_a_damaged_profile_counts_as_none(own_cache: Path, content: str) -> None:
    (own_cache / "machine.json").write_text(content)
    assert choose_machine.machine("cpu") == CPU
    choose_machine.store(choose_machine.processor(), replace(CPU, gain=1.9))
    assert choose_machine.machine("cpu").gain == 1.9


def test_an_entry_that_is_not_one_counts_as_none(own_cache: Path) -> None:
    entry = {choose_machine.processor(): {"factors": ["not", "a", "table"]}}
    (own_cache / "machine.json").write_text(json.dumps({"format": 1, "machines": entry}))
    assert choose_machine.machine("cpu") == CPU


def test_writers_lose_nothing() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: choose_machine.store(f"machine {i}", CPU), range(32)))
    assert len(choose_machine.stored()) == 32


def test_a_profile_that_cannot_be_written_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path / "file"))
    with pytest.raises(CacheError, match=r"machine speeds cannot be stored.*NEARFAR_CACHE"):
        choose_machine.store("here", CPU)


def test_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    from nearfar.choose import calibrate as module
    from nearfar.cli.main import main

    def quick(device: str, **given: object) -> Machine:
        return calibrate(
            device,
            rounds=1,
            probes=(("grid", {"rows": 20, "columns": 20}),),
            store=bool(given["store"]),
        )

    monkeypatch.setattr(module, "calibrate", quick)
    assert main(["tune", "--device", "cpu", "--show"]) == 0
    assert "never: defaults" in capsys.readouterr().out
    assert main(["tune", "--device", "cpu", "--no-store", "-q"]) == 0
    said = capsys.readouterr().out
    assert "x the model" in said
    assert "kept in" not in said
    assert not (own_cache / "machine.json").exists()
    assert main(["tune", "--device", "cpu", "-q", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["machines"][0]["factors"]
    assert Path(facts["path"]).is_file()
    assert main(["tune", "--reset"]) == 0
    assert "deleted" in capsys.readouterr().out
    assert main(["tune", "--method", "crauser_successors"]) == 2
    assert main(["tune", "graph.nfg", "--show"]) == 2
