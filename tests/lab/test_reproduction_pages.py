"""Pages of docs/reproduction with no, some, all, and reversed results."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from docs.generators.reproduction import makers

from nearfar.lab import checkout
from nearfar.lab.experiments import find
from nearfar.lab.experiments.experiment import Settings
from nearfar.lab.experiments.kept import Kept
from nearfar.lab.experiments.render import markdown_table

ROOT = Path(__file__).resolve().parents[2]
PAGES = {Path(where).stem: page for where, page in makers().items()}
FIGURES = {
    "martin-2009": ["figure-6", "figure-7"],
    "ortega-arranz-2015": [f"figure-{n}" for n in range(2, 12)],
    "johnson-apsp": ["figures-3-4"],
    "davidson-2014": [f"figure-{n}" for n in range(3, 8)],
    "beyond": ["beyond"],
    "duan-2025": ["ratios"],
}
#: Experiments that are measured on one device only.
DEVICES = {"duan-2025": ("cpu",)}
Document = dict[str, Any]


def devices_of(name: str) -> tuple[str, ...]:
    return DEVICES.get(name, ("cuda", "cpu"))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a folder of results for the pages, with the other measurements as stored."""
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    for file in ("kernel_times.json", "paper_counts.json"):
        (folder / file).write_bytes((ROOT / "benchmarks" / "results" / file).read_bytes())
    return folder


def kept(name: str, device: str) -> Document:
    text = (ROOT / "benchmarks" / "results" / f"{name}-{device}.json").read_text()
    document: Document = json.loads(text)
    return document


def page_of(name: str, folder: Path, *documents: Document) -> str:
    """Return the page of an experiment from these documents only."""
    for document in documents:
        label = f"{name}-{document['settings']['device']}"
        (folder / f"{label}.json").write_text(json.dumps(document))
    return PAGES[name]()


def whole(document: Document, graphs: int | None = None) -> Document:
    """Return all tasks of the scale; missing ones get the result of one of their kind."""
    settings = Settings(**{**document["settings"], **({"graphs": graphs} if graphs else {})})
    tasks = {task["key"]: task for task in document["tasks"]}
    found = []
    for task in find(document["experiment"]).tasks(settings):
        like = tasks.get(task.key)
        if like is None:
            same = [
                t
                for t in document["tasks"]
                if t["what"].get("kind") == task.what.get("kind")
                and t["what"].get("part") == task.what.get("part")
            ]
            like = copy.deepcopy((same or document["tasks"])[-1])
            if not same and task.what.get("kind") == "martin":
                add_martins_methods(like["result"])
            like["result"]["n"] = task.what.get("vertices", like["result"].get("n"))
        found.append({**like, "key": task.key, "what": task.what})
    held = {**document["settings"], "graphs": settings.graphs}
    return {**document, "settings": held, "tasks": found}


def add_martins_methods(result: dict[str, Any]) -> None:
    """Add the further methods that are measured on Martin's graphs."""
    cases = result["cases"]
    for device in ("CPU", "GPU"):
        for method in ("Martin", "Crauser"):
            for form in ("succ.", "pred."):
                label, like = f"{device} {method} {form}", f"{device} {method} succ."
                model = cases.get(like, cases["CPU Crauser succ."])
                cases.setdefault(label, copy.deepcopy(model))


@pytest.mark.parametrize("name", list(PAGES))
def test_a_page_is_short_and_a_papers_begins_with_its_verdict(name: str) -> None:
    text = (ROOT / "docs" / "reproduction" / f"{name}.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 2500
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "Verdict" or name == "beyond"


@pytest.mark.parametrize("name", list(PAGES))
def test_without_results_a_page_says_how_to_measure(name: str, results: Path) -> None:
    for file in results.iterdir():
        file.unlink()
    text = page_of(name, results)
    assert text.count("Not measured yet: `nearfar experiment") == len(devices_of(name))
    assert "![" not in text


@pytest.mark.parametrize("name", list(PAGES))
def test_with_single_results(name: str, results: Path) -> None:
    for device in devices_of(name):
        document = kept(name, device)
        for task in document["tasks"][:: max(len(document["tasks"]) // 5, 1)]:
            text = page_of(name, results, {**document, "tasks": [task]})
            assert f"From `benchmarks/results/{name}-{device}.json`" in text


@pytest.mark.parametrize("name", list(PAGES))
def test_with_all_results(name: str, results: Path) -> None:
    graphs = 25 if name == "martin-2009" else None
    documents = [whole(kept(name, device), graphs) for device in devices_of(name)]
    text = page_of(name, results, *documents)
    assert "Not measured yet: `nearfar" not in text
    assert "tasks (" not in text  # nothing is missing
    for figure in FIGURES[name]:
        assert f"images/{name}-{devices_of(name)[0]}-{figure}.png" in text
    assert "| nan" not in text
    assert "| inf" not in text


def test_all_sizes_and_graphs_of_martin(results: Path) -> None:
    text = page_of("martin-2009", results, whole(kept("martin-2009", "cuda"), 25))
    assert "lists: 11 of 11 sizes" in text
    assert "matrices: 15 of 15 sizes" in text
    assert text.count("graphs of each: 25, where the paper has 25") == 2


def test_martins_page_says_which_sizes_have_how_many_graphs(results: Path) -> None:
    document = whole(kept("martin-2009", "cuda"), 25)

    left = {f"lists-{size:02}-g{graph:02}" for size in range(6, 12) for graph in range(3, 25)}
    tasks = [task for task in document["tasks"] if task["key"] not in left]
    for number, task in enumerate(t for t in tasks if t["what"].get("part") == "host"):
        task |= {"began": f"2026-11-22T16:00:{number % 60:02}+00:00", "seconds": 2.5}
        task["result"]["cases"] = {"FH": next(iter(task["result"]["cases"].values()))}
    text = page_of("martin-2009", results, {**document, "tasks": tasks})
    assert "graphs of each: 25 of size 1 to 5, 3 of size 6 to 11, where the paper has 25." in text
    assert "graphs of each: 25, where the paper has 25." in text  # matrices
    assert "each on its own core, up to" in text


def test_a_page_says_which_tasks_ran_on_which_gpu(results: Path) -> None:
    document = copy.deepcopy(kept("ortega-arranz-2015", "cuda"))
    places = document["environments"]
    other = copy.deepcopy(places[-1])
    other["gpu"]["name"] = "NVIDIA X100"
    for task in document["tasks"]:
        task["environment"] = 0
        if task["key"] in ("martin-01", "martin-02", "martin-03", "martin-05", "real-wing"):
            task["environment"] = len(places)
    text = page_of("ortega-arranz-2015", results, {**document, "environments": [*places, other]})
    name = places[0]["gpu"]["name"]
    told = "Measured `real-wing`, `martin-01`, `martin-02`, `martin-03`, `martin-05` on NVIDIA X100"
    assert f"{told}; everything else on {name}." in text
    for task in document["tasks"]:
        task["environment"] = len(places) if task["what"].get("part") == "host" else 0
    other["gpu"] = None  # the machine that measured methods of the host
    beside = {**document, "environments": [*places, other]}
    last = places[-1]["gpu"]["name"]
    assert f"*{last}, driver" in page_of("ortega-arranz-2015", results, beside)
    for task in document["tasks"]:
        task["environment"] = 0
    assert "everything else on" not in page_of("ortega-arranz-2015", results, beside)
    assert "everything else on" not in page_of("ortega-arranz-2015", results, document)


def test_the_papers_tables_in_full(results: Path) -> None:
    page_of("ortega-arranz-2015", results, whole(kept("ortega-arranz-2015", "cuda")))
    run = Kept("ortega-arranz-2015", "cuda")
    lines = [line for table in run.tables.values() for line in markdown_table(table)]
    for kernel in ("relax", "minimum", "update"):
        rows = [line for line in lines if line.startswith("| 49k") and f" {kernel} " in line]
        assert len(rows) == 1
        assert "192-A" in rows[0]
    (titan, here) = ([x for x in lines if x.startswith(f"| {b} ")] for b in ("Titan", "here"))
    assert "22.9" in titan[0]
    assert here[0].count("|") == titan[0].count("|") == 11  # nine classes and the board
    (row,) = [x for x in lines if x.startswith("| 98k deg2 ") and "31.9" in x]
    assert "32.2" in row
    assert [x for x in lines if x.startswith("| social ") and "45.4" in x]


def times(document: Document, change: Callable[[dict[str, Any]], None]) -> Document:
    """Return the same results with changed times."""
    turned = copy.deepcopy(document)
    for task in turned["tasks"]:
        if "cases" in task["result"]:
            change(task["result"]["cases"])
    return turned


def scale(case: dict[str, Any], factor: float) -> None:
    for key in ("median_seconds", "mean_seconds", "all_pairs_seconds", "seconds_per_source"):
        if key in case:
            case[key] *= factor
    if case["samples"] and isinstance(case["samples"][0], list):
        case["samples"] = [[t, s, seconds * factor] for t, s, seconds in case["samples"]]


def verdict_of(text: str, words: str) -> tuple[str, str]:
    """Return the verdict of a statement in the page's first list, and its item."""
    before, _, rest = text.partition("### Statements of the paper")[2].partition(words)
    assert rest
    assert rest, f"no statement {words!r}"
    verdict = re.findall(r"^\*\*(.*)\*\*$", before, re.MULTILINE)[-1]
    return verdict, words + rest.partition("\n")[0]


def test_a_page_follows_the_numbers_of_martin(results: Path) -> None:
    words = "U-GPU is the fastest on matrices"
    document = kept("martin-2009", "cuda")

    def columns_win(cases: dict[str, Any]) -> None:
        if "U-GPU" in cases:
            scale(cases["U-GPU"], 1e-3)

    text = page_of("martin-2009", results, times(document, columns_win))
    verdict, item = verdict_of(text, words)
    assert verdict == "Reproduced"
    assert "Reason" not in item

    def rows_win(cases: dict[str, Any]) -> None:
        if "F-GPU" in cases:
            scale(cases["F-GPU"], 1e-3)

    text = page_of("martin-2009", results, times(document, rows_win))
    verdict, item = verdict_of(text, words)
    assert verdict == "Contradicted"
    assert "Reason: the fastest is F-GPU" in item
    assert f"{words} (§6)" in text.partition("## On ")[0]  # the verdict names it


def test_a_page_follows_the_numbers_of_johnson(results: Path) -> None:
    words = "ueue has a higher speed-up than flag"
    document = kept("johnson-apsp", "cuda")

    def queue_wins(cases: dict[str, Any]) -> None:
        scale(cases["queue"], 0.5)

    def flag_wins(cases: dict[str, Any]) -> None:
        scale(cases["flag"], 0.5)

    verdict, _ = verdict_of(page_of("johnson-apsp", results, times(document, queue_wins)), words)
    assert verdict == "Reproduced"
    verdict, item = verdict_of(page_of("johnson-apsp", results, times(document, flag_wins)), words)
    assert verdict == "Contradicted"
    assert "Reason: it depends on the size" in item


def test_a_page_follows_the_numbers_of_davidson(results: Path) -> None:
    words = "oad networks: both methods run at 0.24-0.6 times Dijkstra"
    document = kept("davidson-2014", "cuda")
    for factor, expected in ((1e-3, "Contradicted"), (1e3, "Reproduced")):

        def change(cases: dict[str, Any], factor: float = factor) -> None:
            for label in {"Near-Far", "Workfront Sweep"} & set(cases):
                scale(cases[label], factor)

        verdict, item = verdict_of(
            page_of("davidson-2014", results, times(document, change)), words
        )
        assert verdict == expected
        assert ("us per iteration" in item) == (verdict == "Contradicted")


def test_a_page_follows_the_numbers_of_ortega(results: Path) -> None:
    words = "t the lowest degree GPU Martin is slower"
    document = kept("ortega-arranz-2015", "cuda")
    for factor, expected in ((1e-3, "Contradicted"), (1e3, "Reproduced")):

        def change(cases: dict[str, Any], factor: float = factor) -> None:
            if "GPU Martin succ." in cases:
                scale(cases["GPU Martin succ."], factor)

        text = page_of("ortega-arranz-2015", results, times(document, change))
        assert verdict_of(text, words)[0] == expected


def test_fewer_sources_are_told(results: Path) -> None:
    document = copy.deepcopy(kept("ortega-arranz-2015", "cuda"))
    for one in document["tasks"]:
        for case in one["result"]["cases"].values():
            case.pop("sources", None)
    found = [t["result"]["cases"] for t in document["tasks"] if t["what"]["kind"] == "random"]
    case = next(cases for cases in found if "CPU Crauser succ." in cases)["CPU Crauser succ."]
    case["samples"], case["sources"] = case["samples"][:2], 2
    text = page_of("ortega-arranz-2015", results, document)
    assert text.count("Timed from fewer sources: CPU Crauser succ. on 1 graph (2).") == 1


def test_wrong_answers_are_counted_of_safe_methods_alone(results: Path) -> None:
    document = copy.deepcopy(kept("martin-2009", "cuda"))
    cases = next(t for t in document["tasks"] if "cases" in t["result"])["result"]["cases"]
    assert "safe methods: 0." in page_of("martin-2009", results, document)
    cases["F-GPU"]["wrong_runs"] = 3
    assert "safe methods: 3." in page_of("martin-2009", results, document)
