"""One version, and wheels whose tags say what they fit."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import nearfar
from tests.loading import load_program

ROOT = Path(__file__).resolve().parents[1]
wheels = load_program("scripts", "make_wheels")


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert project["dynamic"] == ["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = re.search(r"^version: (.+)$", citation, re.MULTILINE)
    assert found is not None
    assert found[1] == nearfar.__version__


@pytest.mark.parametrize(
    ("wheel", "minors"),
    [
        ("nearfar-0.1.0-cp311-cp311-manylinux_2_28_x86_64.whl", {11}),
        ("nearfar-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl", {12, 13, 14}),
    ],
)
def test_a_wheel_is_tried_where_its_tags_fit(
    wheel: str, minors: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "version", lambda python: (3, int(python)))
    assert {m for m in range(11, 15) if wheels.fits(Path(wheel), str(m))} == minors
    with pytest.raises(SystemExit, match="not tagged for CPython"):
        wheels.fits(Path("nearfar-0.1.0-py3-none-any.whl"), "12")


def test_an_installed_package_passes_its_trial() -> None:
    """What `make wheels` runs in a clean environment finds nothing wrong with this one."""
    trial = load_program("scripts", "try_install")
    graph = nearfar.generate("road_like", vertices=500)
    assert trial.differs(graph, nearfar.sssp(graph, 0)) is False
    other = nearfar.sssp(graph, 1)
    assert trial.differs(graph, other) is True
