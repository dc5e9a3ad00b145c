"""The documentation agrees with code and measurements, and its links work."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from benchmarks.gpu_peers.adds import Adds
from benchmarks.gpu_peers.doublegraph import DoubleGraph

from nearfar.lab.bench.peers.gap import Gap, Wasp
from nearfar.lab.bench.peers.pasgal import Pasgal
from nearfar.registry import variants

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md"]
)
LINK = re.compile(r"""!?\[[^\]]*\]\(([^)\s]+)\)|<img [^>]*src="([^"]+)\"""")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, by GitHub's rule."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(plain.strip().replace(" ", "-"))
    return found


def broken_links(page: Path) -> list[str]:
    """Return the relative links of a page without a target."""
    broken = []
    for link in map("".join, LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists() or (
            anchor and there.suffix == ".md" and anchor not in anchors(there)
        ):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A title\n[a](#a-title) [b](gone.md) [c](page.md#gone) [d](https://x.org/y)\n"
        '<img src="gone.png" width="4">\n'
    )
    assert broken_links(page) == ["gone.md", "page.md#gone", "gone.png"]


def test_every_picture_is_shown() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = [file for file in (ROOT / "docs").rglob("*.png") if "images" in file.parts]
    assert [file.name for file in pictures if f"images/{file.name}" not in text] == []


def test_every_paper_has_a_citation() -> None:
    entries = (ROOT / "CITATION.cff").read_text().split("\n  - type:")[1:]
    cited = {}
    for entry in entries:
        key = re.search(r'notes: "key: ([^"]+)"', entry)
        assert key is not None, entry
        assert key[1] not in cited, f"{key[1]} is there twice"
        cited[key[1]] = entry
    used = {v.paper for v in variants(unsafe=True)}
    assert used - {None, ""} <= set(cited), f"missing: {sorted(used - set(cited))}"
    for key, entry in cited.items():
        assert "title:" in entry, key
        assert "authors:" in entry, key
        year = re.search(r"-(\d{4})$", key)
        if year:
            assert f"year: {year[1]}" in entry, key


def variables_read() -> set[str]:
    """Return environment variables that code and tests read, by the text of the calls."""
    call = re.compile(r"""(?:environ\.get|getenv)\(\s*["']([A-Z_]+)["']""")
    found = set()
    for folder in ("src", "benchmarks", "scripts", "tests"):
        for file in (ROOT / folder).rglob("*"):
            if file.suffix in (".py", ".cpp", ".hpp"):
                found |= set(call.findall(file.read_text(encoding="utf-8")))
    return found


def test_every_environment_variable_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z][A-Z_]+)(?:=\S+)?`", page))
    # Variables that tests pass to processes, or that are passed to tests.
    inner = {"NEARFAR_SUITE_REPORT", "PATH", "PYTHONPATH"}
    inner |= {f"NEARFAR_GPU_{name}" for name in ("COUNT", "OUTCOMES", "RECORD")}
    assert variables_read() - inner - named == set()
    # The notebook reads two; NetworkX, CUDA and a loop over names read the others.
    elsewhere = {"NETWORKX_BACKEND_PRIORITY", "CUDA_PATH", "CUDA_HOME"}
    elsewhere |= {"NEARFAR_MAP", "NEARFAR_NOTEBOOK_OUTPUT"}
    # Adapters of programs construct the names of their variables.
    programs = {
        kind().variable + more
        for kind in (Gap, Wasp, Pasgal, Adds, DoubleGraph)
        for more in ("", "_FLOAT")
        if kind.floats or not more
    }
    assert programs - named == set()
    elsewhere |= programs
    assert named - elsewhere - variables_read() == set()


def test_every_dependency_has_its_reason() -> None:
    page = (ROOT / "docs" / "explanation" / "dependencies.md").read_text(encoding="utf-8").lower()
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += [name for name in extra if not name.startswith("nearfar[")]
    names = {re.split(r"[\[<>=;, ]", name)[0] for name in wanted}
    short = {re.sub(r"^(cupy)-cuda.*|^nvidia-cuda-(nvrtc).*", r"\1\2", name) for name in names}
    short = {name.removesuffix("-cu12") for name in short}
    assert {name for name in short if name not in page} == set()


def test_every_real_graph_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text(encoding="utf-8")
    from nearfar.lab.bench.suite import SUITE
    from nearfar.papers.johnson_apsp import graphs as johnson
    from nearfar.papers.ortega_arranz_2015 import graphs as ortega

    files = [graph.file for graph in SUITE.values() if graph.file]
    files += [file for _, file in ortega._FILES.values()]
    files += [f"snap-johnson/{name}.txt.xz" for name, _, _ in johnson.GRAPHS.values() if name]
    for file in files:
        folder, name = Path(file).parts
        stem = name.split(".")[0]
        assert f"`{file}`" in page or (f"`{folder}/NAME." in page and f"`{stem}`" in page), file


def test_every_benchmark_and_result_is_in_the_table_of_benchmarks() -> None:
    folder = ROOT / "benchmarks"
    text = (folder / "README.md").read_text(encoding="utf-8")
    scripts = {file.name for file in folder.glob("*.py")}
    assert {name for name in scripts if f"`{name}" not in text} == set()
    # With scripts on the path, such a name would hide a module of the standard library.
    assert {Path(name).stem for name in scripts} & sys.stdlib_module_names == set()
    from nearfar.lab.experiments import experiments

    kept = {f"{name}-{device}.json" for name in experiments() for device in ("cpu", "cuda")}
    variants_of_one = {"frontier_crauser_rows.json", "frontier_crauser_cpu.json"}
    results = {file.name for file in (folder / "results").glob("*.json")} - kept - variants_of_one
    assert {name for name in results if f"`{name}`" not in text} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_waits_for_a_number(page: Path) -> None:
    """Pages contain no placeholders for numbers and no notes."""
    left = re.findall(r"@[A-Z_]+@|\b(?:TODO|FIXME|XXX)\b", page.read_text(encoding="utf-8"))
    assert left == []


def test_the_front_page_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 100
    assert len(re.findall(r"<img |!\[", text)) == 1
    assert len(re.findall(r"^\| ---", text, re.MULTILINE)) == 1
    for kind, most in (("python", 8), ("sh", 4)):
        for block in re.findall(rf"^```{kind}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            assert len(block.splitlines()) <= most
