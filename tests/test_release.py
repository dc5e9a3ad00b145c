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
metadata = load_program("scripts", "project_metadata")


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = re.search(r"^version: (.+)$", citation, re.MULTILINE)
    assert found is not None
    assert found[1] == nearfar.__version__


def targets_of(text: str) -> list[str]:
    """Where the links and pictures of a page lead, outside its code."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", prose) + re.findall(r'src="([^"]+)"', prose)


def test_the_long_description_leads_nowhere_while_there_is_no_address() -> None:
    """Its links and its picture were relative: broken on the package index."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any(target.startswith("docs/") for target in targets_of(readme))
    text = metadata.long_description(readme, None)
    assert [t for t in targets_of(text) if not t.startswith(("https:", "#"))] == []
    assert "OpenStreetMap contributors" not in text  # the picture's caption
    assert not re.search(r"^#+ .*\n\s*(#|\Z)", text, re.MULTILINE)  # no heading of nothing
    assert metadata.project_urls(None) == {}
    for block in re.findall(r"^```.*?^```", readme, re.MULTILINE | re.DOTALL):
        assert block in text


def test_with_an_address_every_link_is_absolute() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    at, version = "https://example.org/graphs/nearfar", nearfar.__version__
    text = metadata.long_description(readme, at)
    targets = targets_of(text)
    assert len(targets) == len(targets_of(readme))
    assert all(target.startswith(("https:", "#")) for target in targets)
    assert f"{at}/raw/v{version}/docs/images/helsinki-isochrones.png" in targets
    for target in targets:
        if target.startswith(at):
            kind, _, rest = target.removeprefix(f"{at}/").partition("/")
            assert kind in ("blob", "raw")
            assert (ROOT / rest.removeprefix(f"v{version}/").partition("#")[0]).exists(), target
    assert set(metadata.project_urls(at)) == {
        "Repository", "Documentation", "Changelog", "Issues",
    }  # fmt: skip


def test_the_build_takes_both_from_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert metadata.citation("version") == nearfar.__version__
    assert metadata.citation("title").startswith("nearfar: ")
    assert metadata.citation("volume") is None  # of a reference
    places = {"repository-code": "https://example.org/a/b", "version": "9"}
    monkeypatch.setattr(metadata, "citation", places.get)
    assert metadata.dynamic_metadata("urls")["Repository"] == "https://example.org/a/b"
    shown = metadata.dynamic_metadata("readme")
    assert shown["content-type"] == "text/markdown"
    assert "https://example.org/a/b/blob/v9/CHANGELOG.md" in shown["text"]
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = tables["tool"]["scikit-build"]["metadata"]
    for field in ("readme", "urls"):
        assert (ROOT / asked[field]["provider-path"] / f"{asked[field]['provider']}.py").exists()


def test_workflows_run_what_is_there() -> None:
    goals = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    steps = ""
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        steps += file.read_text(encoding="utf-8")
    asked = set(re.findall(r"run: make ([\w-]+)", steps))
    assert {"lint", "test", "docs"} <= asked <= goals
    assert "pypa/cibuildwheel@" in steps
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tables["cibuildwheel"]["build"] == ["cp311-manylinux_x86_64", "cp312-manylinux_x86_64"]
    assert tables["cibuildwheel"]["test-command"].endswith("scripts/try_install.py")


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


def test_the_changelog_is_for_users() -> None:
    """Scripts that measure and what they found stand in benchmarks/README.md and the docs."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"benchmarks/\w+\.\w+", text.replace("(benchmarks/README.md)", "")) == []
    assert text.startswith("# Changelog\n")
    assert "(benchmarks/README.md)" in text
