"""Turn restrictions on the command line: searched and prepared, with the same answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearfar.cli.main import main
from tests.datafiles import data_path


def test_path_in_a_prepared_file_with_turns(tmp_path: Path, capsys: Any) -> None:
    city, file = str(data_path("transport-misc/Helsinki.osm.pbf.xz")), str(tmp_path / "city.nfp")
    assert main(["prepare", city, "--turns", "-o", file, "-q"]) == 0
    ends = ["60.17,24.94", "60.19,24.96"]
    capsys.readouterr()
    answers = []
    for given in (["path", city], ["path", file], ["path", file, "--prove"]):
        assert main([*given, *ends, "--turns", "--json", "-q"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    lengths = [answer["length"] for answer in answers]
    assert lengths[1] == pytest.approx(lengths[0], rel=1e-12)  # added in fixed point
    assert lengths[2] in lengths[:2]
    assert answers[1]["distances"][-1] == lengths[1]
    assert answers[2]["proved"]
    assert main(["path", file, *ends]) == 2
    assert "with turn costs" in capsys.readouterr().err


def test_a_reweighted_file_takes_no_turns(tmp_path: Path, capsys: Any) -> None:
    out = str(tmp_path / "b.nfp")
    assert main(["prepare", "a.nfp", "--reweight", "w.npy", "--turns", "-o", out]) == 2
    assert "leave out --turns" in capsys.readouterr().err
