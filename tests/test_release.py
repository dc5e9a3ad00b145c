"""Release: one version, and wheels with the right tags."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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
    assert "version" in project["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    found = re.search(r"^version: (.+)$", citation, re.MULTILINE)
    assert found is not None
    assert found[1] == nearfar.__version__


def test_the_metadata_needs_no_file_beside_the_package() -> None:
    """Metadata must not need CITATION.cff or README.md, which a source distribution may lack."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert tables["project"]["dynamic"] == ["version"]
    build = tables["tool"]["scikit-build"]
    assert "experimental" not in build
    assert build["metadata"] == {
        "version": {
            "provider": "scikit_build_core.metadata.regex",
            "input": "src/nearfar/__init__.py",
        }
    }
    readme = tables["project"]["readme"]
    # Relative links would be broken on the package index.
    assert re.findall(r"\]\((?!https:)[^)]*\)", readme["text"]) == []


def test_the_example_of_the_metadata_runs() -> None:
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    example = re.search(r"```python\n(.*?)```", tables["project"]["readme"]["text"], re.DOTALL)
    assert example is not None
    names: dict[str, nearfar.Paths] = {}
    exec(example[1], names)
    assert list(names["paths"].path_to(2)) == [0, 1, 2]


def test_workflows_run_what_is_there() -> None:
    goals = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    steps = ""
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        steps += file.read_text(encoding="utf-8")
    asked = set(re.findall(r"run: make ([\w-]+)", steps))
    assert {"lint", "test", "test-arm64", "docs"} <= asked <= goals
    assert "pypa/cibuildwheel@" in steps
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tables["cibuildwheel"]["build"] == ["cp311-*", "cp312-*", "cp314t-*"]
    assert tables["cibuildwheel"]["test-command"].endswith("scripts/try_install.py")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_source_distribution_builds_in_a_clean_environment(tmp_path: Path) -> None:
    build = "from scikit_build_core.build import build_sdist; import sys; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, tmp_path], cwd=ROOT, check=True)
    (archive,) = tmp_path.glob("nearfar-*.tar.gz")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "clean"], check=True)
    python = tmp_path / "clean" / "bin" / "python"
    around = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for words in (["-m", "pip", "install", archive], [ROOT / "scripts" / "try_install.py"]):
        subprocess.run([python, *words], cwd=tmp_path, env=around, check=True)


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
    """The check of `make wheels` passes with this package."""
    trial = load_program("scripts", "try_install")
    graph = nearfar.generate("road_like", vertices=500)
    assert trial.differs(graph, nearfar.sssp(graph, 0)) is False
    other = nearfar.sssp(graph, 1)
    assert trial.differs(graph, other) is True


def test_the_changelog_is_for_users() -> None:
    """Benchmark scripts and findings belong in benchmarks/README.md and the docs."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"benchmarks/\w+\.\w+", text.replace("(benchmarks/README.md)", "")) == []
    assert text.startswith("# Changelog\n")
    assert "(benchmarks/README.md)" in text


def test_the_wheel_has_no_generator_and_no_test() -> None:
    """Generators of pages and tests are not part of a wheel."""
    from scikit_build_core.build._pathutil import packages_to_file_mapping

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["scikit-build"]["wheel"]
    files = packages_to_file_mapping(
        packages={Path(name).name: str(ROOT / name) for name in wheel["packages"]},
        platlib_dir=Path("."),
        include=[],
        src_exclude=[],
        target_exclude=wheel["exclude"],
        build_dir="",
        mode="default",
    )
    names = {Path(target).as_posix() for target in files.values()}
    assert {"nearfar/__init__.py", "nearfar/papers/martin_2009/run.py", "nearfar/py.typed"} <= names
    assert any(name.endswith(".cuh") for name in names)
    inside = {Path(name).suffix for name in names}
    assert not inside & {".cpp", ".hpp", ".md", ".json"}
    unwanted = re.compile(r"/papers/\w+/page\.py$|/(conftest|test_\w+)\.py$|/(pages|tests|docs)/")
    assert not [name for name in names if unwanted.search(name)]
