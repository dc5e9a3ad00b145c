"""What the README and the page on choosing tell a newcomer to type works, on a small graph."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from nearfar.cli.main import main
from nearfar.formats import write
from nearfar.generators import generate

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/explanation/choosing.md")
FILES = ("USA-road-d.NY.gr.xz", "roads.gr.xz", "roads.gr.gz")


def blocks(page: str, *kinds: str) -> list[str]:
    """Fenced blocks of these kinds."""
    found = re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    return [body for kind, body in found if kind in kinds]


def commands(page: str) -> list[list[str]]:
    """Lines that run nearfar, as argument lists without the program's name."""
    lines = [line for body in blocks(page, "sh", "console") for line in body.splitlines()]
    split = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]
    return [words[1:] for words in split if words[:1] == ["nearfar"]]


@pytest.fixture(autouse=True)
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the graphs that the pages name, and a cache of its own."""
    monkeypatch.setenv("NEARFAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        write(generate("grid", rows=40, columns=40, missing=0), tmp_path / name)


@pytest.mark.parametrize("page", PAGES)
def test_python(page: str) -> None:
    bodies = blocks(page, "python")
    assert bodies
    for body in bodies:
        exec(compile(body, page, "exec"), {})


@pytest.mark.parametrize("page", PAGES)
def test_shell(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = commands(page)
    assert lines
    for words in lines:
        quick = [*words, "--rounds", "1"] if words == ["tune"] else words
        # 8: doctor says so where an optional package or the GPU is missing.
        assert main(quick) in ((0, 8) if words[0] == "doctor" else (0,)), words
        assert capsys.readouterr().out
