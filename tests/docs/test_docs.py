"""The documentation says what code and measurements say, and its links lead somewhere."""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from docs.generators import __main__ as generator
from docs.generators import breadth_first, cpu_engine, gpu_engine, readme, reproduction

from nearfar.lab import checkout
from nearfar.lab.bench.peers.adds import Adds
from nearfar.lab.bench.peers.doublegraph import DoubleGraph
from nearfar.lab.bench.peers.gap import Gap
from nearfar.lab.bench.peers.pasgal import Pasgal
from nearfar.lab.bench.peers.wasp import Wasp
from nearfar.registry import variants

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md"]
)
LINK = re.compile(r"""!?\[[^\]]*\]\(([^)\s]+)\)|<img [^>]*src="([^"]+)\"""")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, by GitHub's rule."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(plain.strip().replace(" ", "-"))
    return found


def broken_links(page: Path) -> list[str]:
    """Relative links of a page that lead nowhere."""
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


@pytest.mark.parametrize("where", generator.makers())
def test_generated_documentation_is_fresh(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = generator.main(["--check", Path(where).stem])
    assert (status, capsys.readouterr().err) == (0, "")


def test_pictures_of_the_reproduction_are_those_of_its_pages() -> None:
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / reproduction.FOLDER).glob("*.md")]
    assert reproduction.wrong_pictures(reproduction.shown(texts)) == []
    name = "martin-2009-cpu-figure-6.png"
    wrong = reproduction.wrong_pictures(reproduction.shown(texts) ^ {name, "new.png"})
    folder = f"{reproduction.FOLDER}/images"
    assert wrong == [f"{folder}/{name} is on no page", f"{folder}/new.png is missing"]


def test_a_stale_page_is_told_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "docs" / "reference" / "command-line.md"
    page.parent.mkdir(parents=True)
    (tmp_path / "benchmarks").mkdir()
    page.write_text("old")
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    assert generator.main(["--check", "command-line"]) == 1
    assert "docs/reference/command-line.md is out of date" in capsys.readouterr().err
    assert generator.main(["command-line"]) == 0
    assert page.read_text() == (ROOT / "docs" / "reference" / "command-line.md").read_text()
    with pytest.raises(SystemExit):
        generator.main(["no-page"])
    assert "no generated page 'no-page'" in capsys.readouterr().err


def test_outside_a_checkout_the_generator_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    assert generator.main([]) == 2
    assert "no docs and no benchmarks" in capsys.readouterr().err


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
    """Environment variables that code and tests read, by the text of the calls."""
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
    # What one test hands to another process of its own, or is handed.
    inner = {"NEARFAR_SUITE_REPORT", "PATH", "PYTHONPATH"}
    inner |= {f"NEARFAR_GPU_{name}" for name in ("COUNT", "OUTCOMES", "RECORD")}
    assert variables_read() - inner - named == set()
    # The notebook reads two, NetworkX, CUDA and a loop over names the others.
    elsewhere = {"NETWORKX_BACKEND_PRIORITY", "CUDA_PATH", "CUDA_HOME"}
    elsewhere |= {"NEARFAR_MAP", "NEARFAR_NOTEBOOK_OUTPUT"}
    # Adapters of programs make the names of theirs.
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
    # Beside its neighbours on the path, one would hide the module of that name from Python itself.
    assert {Path(name).stem for name in scripts} & sys.stdlib_module_names == set()
    from nearfar.lab.experiments import experiments

    kept = {f"{name}-{device}.json" for name in experiments() for device in ("cpu", "cuda")}
    variants_of_one = {"frontier_crauser_rows.json", "frontier_crauser_cpu.json"}
    results = {file.name for file in (folder / "results").glob("*.json")} - kept - variants_of_one
    assert {name for name in results if f"`{name}`" not in text} == set()


def surroundings(value: Any) -> list[dict[str, Any]]:
    """Every environment in a document."""
    if isinstance(value, list):
        return [one for item in value for one in surroundings(item)]
    if not isinstance(value, dict):
        return []
    found = [value] if {"cpu", "date"} <= value.keys() else []
    return found + [one for item in value.values() for one in surroundings(item)]


def test_every_result_says_where_and_when_it_was_measured() -> None:
    for file in sorted((ROOT / "benchmarks" / "results").glob("*.json")):
        found = surroundings(json.loads(file.read_text(encoding="utf-8")))
        assert found, file.name
        for one in found:
            assert one["date"], file.name
            assert one["commit"], file.name
            assert one["versions"]["nearfar"], file.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_waits_for_a_number(page: Path) -> None:
    """Places for numbers that a run was to bring, and notes to oneself."""
    left = re.findall(r"@[A-Z_]+@|\b(?:TODO|FIXME|XXX)\b", page.read_text(encoding="utf-8"))
    assert left == []


# --- the numbers of the README follow the JSON ---------------------------------------------------


def peer_document() -> dict[str, Any]:
    """What ``nearfar bench peers`` writes, with made-up samples."""
    from nearfar.lab.bench.environment import environment
    from nearfar.lab.bench.report import document
    from nearfar.lab.bench.result import Result, Run, Sample

    def result(contender: str, name: str, seconds: float, threads: int = 1) -> Result:
        samples = [Sample(0, 0, seconds, 1)]
        return Result(contender, name, "1.0", threads, samples=samples, answer="equal")

    results = [
        result("nearfar (1 thr)", "nearfar", 0.004),
        result("nearfar (2 thr)", "nearfar", 0.002, 2),
        result("scipy", "scipy", 0.020),
        result("igraph", "igraph", 0.010),
        Result("networkx", "networkx", "3.4", 1, skipped="too slow"),
    ]
    run = Run("toy", "a toy", 10, 20, "int32", "made up", [0], 1, results)
    return document([run], environment(), {})


def test_peers_table_follows_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    held: dict[str, Any] = {}
    monkeypatch.setattr(readme, "results", held.get)
    assert "nearfar bench peers" in readme.peers()
    held["peers.json"] = peer_document()
    row = next(line for line in readme.peers().splitlines() if line.startswith("| toy"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:] == ["20.0", "10.0 igraph", "4.00", "2.00", "2.50x", "5.00x"]


def test_the_chart_follows_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    held: dict[str, Any] = {}
    monkeypatch.setattr(readme, "results", held.get)
    assert readme.chart().startswith("<svg")
    held["peers.json"] = peer_document()
    text = readme.chart()
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="13"', text)]
    scipy, other, own = widths  # 20, 10 and 2 ms on a logarithmic axis
    assert scipy - other == pytest.approx(math.log10(2) * (other - own) / math.log10(5), abs=0.2)
    assert ">2.00</text>" in text
    assert text.count(" ms</text>") >= 2


def test_gpu_table_of_the_page_of_speeds_follows_the_experiment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: dict[str, Any] = {}
    monkeypatch.setattr(readme, "results", held.get)
    assert "nearfar experiment beyond" in readme.gpu_beside_its_host()
    seconds = {"nearfar, 1 core": 0.008, "nearfar, 4 cores": 0.004, "nearfar, GPU": 0.001}
    cases = {k: {"median_seconds": v, "wrong_runs": 0} for k, v in seconds.items()}
    peers = {"results": [{"name": "scipy", "median_seconds": 0.05}, {"name": "igraph"}]}
    result = {"n": 10, "m": 20, "cases": cases, "peers": peers}
    task = {"key": "toy", "environment": 0, "result": result}
    where = {
        "gpu": {"name": "a GPU", "cupy": "14"},
        "cpu": "a processor",
        "cores": 4,
        "date": "2026-01-01T00:00:00",
        "commit": "0123456789abcdef",
    }
    kept = {"tasks": [task], "environments": [where], "settings": {"rounds": 5}}
    held["beyond-cuda.json"] = kept
    text = readme.gpu_beside_its_host()
    head = "| graph | SciPy | 1 core | 4 cores | GPU | over SciPy | over our cores |"
    assert head in text
    assert "| toy: 10 vertices, 20 edges | 50.0 | 8.00 | 4.00 | 1.00 | 50x | 4.0x |" in text
    assert "every answer bit for bit a proven one" in text
    cases["nearfar, GPU"]["wrong_runs"] = 2
    assert "2 wrong answers" in readme.gpu_beside_its_host()


def flagship_document() -> dict[str, Any]:
    """What ``benchmarks/flagship.py`` writes of two graphs, with made-up times."""
    row = {"options": {}, "median_ms": 2.0, "first_ms": [4.0], "samples_ms": [2.0], "right": True}
    ended = {"peer": "adds", "ms": 20.0, "right": True, "skipped": ""}
    wrong = {"peer": "doublegraph", "ms": 1.0, "right": False, "skipped": ""}
    cores = [
        {"threads": 1, "median_ms": 200.0},
        {"threads": 16, "median_ms": 50.0, "load_average": 9},
    ]
    graph = {"graph": "toy", "n": 5, "m": 6, "rows": [row]}
    return {
        "environment": {"cpu": "a processor", "date": "2026-01-01", "commit": "0123456789abcdef"},
        "device": {"name": "a GPU", "driver": "13.0", "cupy": "14"},
        "results": [
            {**graph, "best_peer_ms": 20.0, "peers": [ended, wrong], "cores": cores},
            {**graph, "graph": "old", "best_peer_ms": None, "peers": []},
            {"graph": "cores alone", "n": 7, "m": 8, "cores": cores},
        ],
    }


def test_the_gpu_table_of_the_readme_follows_the_measurement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: dict[str, Any] = {}
    monkeypatch.setattr(readme, "results", held.get)
    assert "benchmarks/flagship.py" in readme.gpu_beside_peers()
    held["flagship.json"] = flagship_document()
    text = readme.gpu_beside_peers()
    assert "| toy: 5 vertices, 6 edges | 200 | 50.0 | 20.0 ADDS | 4.00 | 2.00 | 10.0x |" in text
    assert "| old: 5 vertices, 6 edges | - | - | - | 4.00 | 2.00 | - |" in text
    assert "after a first solve while other cores were busy (load average 9)." in text
    assert "wrong" not in text
    assert "cores alone" not in text
    assert "ADDS and doubleGraph\n[as built here]" in text
    held["flagship.json"]["results"][1]["peers"] = [
        {"peer": "cugraph", "ms": 9.0, "right": True, "skipped": "", "version": "26.10.0"}
    ]
    assert "ADDS, doubleGraph and cuGraph 26.10.0\n[as built here]" in readme.gpu_beside_peers()
    held["flagship.json"]["results"][1]["rows"][0]["right"] = False
    assert "**some of ours were wrong**" in readme.gpu_beside_peers()


def test_the_gpu_chart_follows_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    held: dict[str, Any] = {}
    monkeypatch.setattr(readme, "results", held.get)
    assert readme.gpu_chart().startswith("<svg")
    held["flagship.json"] = flagship_document()
    text = readme.gpu_chart()
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="13"', text)]
    one, many, other, gpu, alone = widths  # 200, 50, 20 and 2 ms; no other bar of the old graph
    assert other - gpu == pytest.approx((one - other), abs=0.2)
    assert one > many > other
    assert alone == gpu
    assert "nearfar, 16 cores" in text
    assert ">1,000 ms</text>" in text


def test_sentences_on_the_cpu_follow_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_engine, "results", lambda _: peer_document())
    text = cpu_engine.cpu_beside_peers()
    assert "One thread is 2.5 (toy) to 2.5 (toy) times" in text
    assert "Two threads are 5.0 (toy) to 5.0 (toy) times" in text
    assert "A second thread makes a solve 2.0 (toy)" in text


def test_flagship_table_stands_beside_the_peers_of_its_run() -> None:
    row = {"options": {}, "median_ms": 3.0, "first_ms": [4.0]}
    ended = {"peer": "adds", "ms": 6.0, "right": True, "skipped": ""}
    wrong = {"peer": "doublegraph", "ms": 1.0, "right": False, "skipped": ""}
    stuck = {"peer": "adds", "ms": None, "right": False, "skipped": "it took longer than 10 s"}
    graph = {"graph": "g", "n": 5, "m": 6, "rows": [row]}
    one = {**graph, "best_peer_ms": 6.0, "peers": [ended, wrong]}
    other = {**graph, "best_peer_ms": None, "peers": [stuck]}
    some = {"peer": "doublegraph", "forms": {"a": 1.0, "b": 2.0}}
    few = {"graph": "h", "peers": [{"peer": "doublegraph", "forms": {"a": 1.0}}]}
    told = gpu_engine._forms({"results": [{"graph": "g", "peers": [some]}, few]})
    assert told == "2 forms (1 on h, the best ones elsewhere)"
    text = gpu_engine.flagship_table({"results": [one, other]})
    assert "| g: 5 vertices, 6 edges | 3.00 | 4.00 | 6.00 | wrong | 2.0x |" in text
    assert "| g: 5 vertices, 6 edges | 3.00 | 4.00 | does not end | - | - |" in text


def test_breadth_first_search_stands_beside_cugraph(monkeypatch: pytest.MonkeyPatch) -> None:
    near = {"engine": "weights of 1", "median_ms": 3.0, "first_ms": 6.0, "samples_ms": [3.0]}
    own = {**near, "engine": "breadth-first", "median_ms": 2.0, "times_faster": 1.5, "first_ms": 4}
    rows = [{**row, "right": True, "kinds": {"push": {"steps": 4}}} for row in (own, near)]
    result: dict[str, Any] = {"graph": "g", "levels": 7, "rows": rows}
    document = {**flagship_document(), "results": [result]}
    monkeypatch.setattr(breadth_first, "results", lambda _: document)
    assert "cuGraph" not in breadth_first.breadth_first()
    peer = {"peer": "cugraph", "version": "26.10.0", "ms": 5.0, "right": True, "skipped": ""}
    result["peers"] = [peer]
    text = breadth_first.breadth_first()
    assert "| g, 7 levels | 3.00 | 2.00 | 1.50 | 6.00 | 4.00 | - | 5.00 |" in text
    assert "cuGraph 26.10.0: a whole call" in text
    peer["right"] = False
    assert "| - | wrong |" in breadth_first.breadth_first()


def test_where_two_billion_edges_were_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"method": "m", "stated_graph_bytes": 2**31, "held_bytes": 2**30, "median_ms": 5.0}
    row |= {"proven": True, "samples_ms": [5.0]}
    document = {**flagship_document(), "n": 3, "m": 4, "rows": [row], "validation_s": 13.5}
    document["refusal"] = {"free": 2**30, "allocated": 0}
    monkeypatch.setattr(breadth_first, "results", lambda _: document)
    assert "checked on the host then, in 13.5 s" in breadth_first.two_billion_edges()
    document["host_bytes"] = 3 * 2**30
    text = breadth_first.two_billion_edges()
    assert "on the device took 13.5 s; the host held 3.0 GiB at most." in text


def test_a_page_without_its_block_is_refused() -> None:
    with pytest.raises(SystemExit, match="must have the block"):
        generator.filled("no block here", {"speed": str}, "page.md")
    page = "a <!-- speed: generated by python -m docs.generators -->old<!-- /speed --> b"
    assert "old" not in generator.filled(page, {"speed": lambda: "new"}, "page.md")
