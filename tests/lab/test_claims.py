"""Statements of the papers and results: verdicts, ratios, the papers' tables, counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar import generate
from nearfar.lab.experiments import experiments, run
from nearfar.lab.experiments.claims import (
    CONTRADICTED,
    NOT_MEASURED,
    SMALLER,
    OneOf,
    Stated,
    beside,
    claim,
    spread,
    table_of_claims,
    verdicts,
)
from nearfar.lab.experiments.experiment import Column, Done, Settings, Table
from nearfar.lab.experiments.render import by_family, draw, markdown_table
from nearfar.papers.davidson_2014.figures import figures_of
from nearfar.papers.davidson_2014.tables import discarded
from nearfar.papers.martin_2009.claims import claims_of as martin_claims
from nearfar.papers.ortega_arranz_2015.claims import claims_of as ortega_claims
from nearfar.papers.ortega_arranz_2015.paper_tables import (
    TABLE_1,
    TABLE_2,
    TABLE_4,
    degree_class,
    paper_tables,
)
from nearfar.papers.ortega_arranz_2015.tables import ratio_of
from tests.loading import load_program

ROOT = Path(__file__).resolve().parents[2]


def of(cases: list[bool], stated: Any = None, sizes: tuple[float, ...] = ()) -> str:
    return claim("k", "w", "s", "h", cases, stated, sizes).verdict


def test_a_verdict_comes_from_the_cases() -> None:
    assert of([True, True]) == "reproduced"
    assert of([False]) == CONTRADICTED
    assert of([True, False, False]) == "not reproduced: 1 of 3 cases"
    assert of([True, True, False]) == "not reproduced: 2 of 3 cases"
    assert of([True, True, True, False]) == "reproduced in 3 of 4 cases"
    nothing = claim("k", "w", "s", "h", [], 10, [])
    assert (nothing.verdict, nothing.here) == (NOT_MEASURED, "-")
    table = table_of_claims([nothing], "page.md")
    assert table.rows == [["s", "w", "-", NOT_MEASURED]]
    assert "page.md" in table.caption


def test_a_verdict_comes_from_sizes_too() -> None:
    """An effect of 1.16 is not "as in the paper" if the paper has more than 4.5."""
    both = [True, True]
    assert of(both, 10, (4.0, 8.0)) == "reproduced within a factor of 1.25"
    assert of(both, 10, (2.0, 4.9)) == "same direction but smaller: 0.490 of the paper's size"
    assert of(both, 10, (2.0, 25.0)) == "reproduced: 2.50 times the paper's size"
    span = Stated(5.21, 130.25)
    assert of(both, span, (1.5, 3.69)).startswith(SMALLER)
    assert of(both, span, (5.0, 60.0)).startswith(SMALLER)  # the upper end is far away
    assert of(both, span, (4.0, 90.0)) == "reproduced within a factor of 1.45"
    boards = OneOf((45.8, 1.07))
    assert of(both, boards, (1.2, 11.4)) == "reproduced within a factor of 1.00"
    assert of(both, boards, (0.1, 0.2)).startswith(SMALLER)
    assert of(both, boards, (0.1, 458.0)) == "reproduced: 10.0 times the paper's size"
    assert of(both, Stated(1.13, 32.2), (0.92, 3.19)).startswith(SMALLER)
    assert of([True, False], 10, (0.5, 9.0)) == "not reproduced: 1 of 2 cases"
    assert of([False, False], 10, (0.5, 0.9)) == CONTRADICTED


@pytest.mark.parametrize("name", ["johnson-apsp", "ortega-arranz-2015", "martin-2009"])
def test_sizes_of_the_pages(name: str) -> None:
    """No claim with a number in the paper is reproduced by its direction alone."""
    page = (ROOT / "docs" / "reproduction" / f"{name}.md").read_text()
    found = re.findall(r"^- (.*)\. Measured: (.*)$|^\*\*(\w.*)\*\*$", page, re.MULTILINE)
    assert len(found) > 5
    verdict = ""
    for said, measured, heading in found:
        verdict = heading or verdict
        numbers = re.search(r"\d+(\.\d+)?( times|X|%)", said)
        known = r"factor|paper's size|of \d+ cases|Contradicted"
        assert not numbers or re.search(known, f"{measured} {verdict}"), said


def test_a_page_has_a_sentence_per_statement_and_a_reason_once() -> None:
    claims = [
        claim("a", "V", "a is faster", "2 times", [True, True]),
        claim("b", "Table 2", "b is slower", "3 times", [False]),
        claim("c", "6", "c is slower", "4 times", [False]),
        claim("d", "6", "d is faster", "", []),
    ]
    why = {key: f"because {'x' if key in 'bc' else key}" for key in "abcd"}
    text = "\n".join(beside(claims, why))
    assert text == (
        "**Reproduced**\n\n- A is faster (§V). Measured: 2 times.\n\n"
        "**Contradicted**\n\n- B is slower (Table 2). Measured: 3 times. Reason: because x.\n"
        "- C is slower (§6). Measured: 4 times. Reason: as above.\n\n"
        "**Not measured**: d is faster (§6)."
    )
    assert "\n".join(beside(claims, why, differing=True)).startswith("**Contradicted**")
    told = verdicts([("one GPU", claims), ("the CPU", claims[3:])])
    assert told[2] == (
        "**On one GPU**, of 3 statements of the paper: 1 reproduced, 2 contradicted. "
        "Contradicted: b is slower (Table 2); c is slower (§6)."
    )
    assert "the CPU" not in "".join(told)


def test_the_verdict_says_how_near_the_papers_sizes_are() -> None:
    claims = [
        claim("a", "V", "a", "h", [True], 10, [8.0]),
        claim("b", "V", "b", "h", [True], 10, [90.0]),
        claim("c", "V", "c", "h", [True]),
    ]
    assert (
        "3 reproduced (1 within a factor of 1.25, 1 with more than twice the paper's effect)."
        in (verdicts([("one GPU", claims)])[2])
    )


def test_a_summary_has_a_row_per_family() -> None:
    columns = [Column("graph"), Column("time", "ms"), Column("edges"), Column("on"), Column("gain")]
    rows = [
        ["a1", 1.0, 5, "x", None],
        ["b", 3.0, 7, "y", 0.0],
        ["a2", 4.0, 9, "z", -1.0],
    ]
    table = Table("t", "T", "", columns, rows).as_dict()
    made = by_family(table, lambda row: row[0][0])
    assert [column["name"] for column in made["columns"]] == [
        "group (graphs)", "time", "edges", "gain",
    ]  # fmt: skip
    assert made["rows"] == [
        ["a (2)", "1.00 to 4.00 (2.00)", "5 to 9", "-1.00"],
        ["b", "3.00", "7", "0"],
    ]
    assert by_family(table, lambda row: "all", ["time, ms"])["rows"] == [
        ["all (3)", "1.00 to 4.00 (2.29)"]
    ]


def test_texts_stand_on_the_left_and_numbers_on_the_right() -> None:
    columns = [Column("graph"), Column("which"), Column("ms"), Column("none")]
    table = Table("t", "T", "", columns, [["a", "long name", 1.5, None], ["b", None, 12.0, None]])
    assert markdown_table(table.as_dict()) == [
        "| graph | which     |   ms | none |",
        "| ----- | --------- | ---: | ---: |",
        "| a     | long name | 1.50 |    - |",
        "| b     | -         | 12.0 |    - |",
    ]


def test_spread_in_words() -> None:
    assert spread([2.0, 1.0, None]) == "1.00 to 2.00"
    assert spread([3, 3]) == "3"
    assert spread([1.0001, 1.0002]) == "1.00"
    assert spread([float("nan")]) == NOT_MEASURED


@pytest.mark.parametrize("name", sorted(experiments()))
def test_every_paper_without_any_result(name: str) -> None:
    experiment = experiments()[name]
    for device in ("cpu", "cuda"):
        tables = experiment.tables([], Settings("paper", device))
        stated = [table for table in tables if table.key == "stated"]
        for table in stated:
            assert {row[-1] for row in table.rows} == {NOT_MEASURED}
        paper = name != "beyond" and (name, device) != ("johnson-apsp", "cpu")
        assert len(stated) == int(paper)


def ortega(kind: dict[str, Any], seconds: dict[str, list[float]], **more: Any) -> Done:
    """Return a result with one sample per source."""
    cases = {
        label: {
            "samples": [[0, source, value] for source, value in enumerate(values)],
            "median_seconds": float(np.median(values)),
            "mean_seconds": float(np.mean(values)),
            "counters": {"iterations": 7},
            "options": {
                "threads_relax": 256,
                "threads_minimum": 256,
                "threads_update": 256,
                "carveout": -1,
            },
        }
        for label, values in seconds.items()
    }
    result = {"n": 10, "m": 20, "cases": cases, "sources": [0, 1], **more}
    return Done("key", kind, result)


RANDOM = {"kind": "random", "vertices": 98_304, "degree": 2}


def test_a_ratio_is_over_the_sources_that_both_have() -> None:
    one = ortega(RANDOM, {"slow": [4.0], "fast": [1.0, 100.0]})
    assert ratio_of(one, "slow", "fast") == pytest.approx(4.0)
    assert ratio_of(one, "slow", "none") is None


def test_tables_in_the_papers_form() -> None:
    assert [degree_class(d) for d in (2, 20, 50, 200, 500, 2000)] == [0, 0, 1, 1, 2, 2]
    assert all(len(pair.split(", ")) == 4 for pair in TABLE_1.values())
    assert all(len(row) == 9 for row in TABLE_4.values())
    times = {"CPU Crauser succ.": [8.0, 8.0], "GPU Martin succ.": [4.0, 4.0]}
    times |= {"GPU Crauser succ.": [2.0, 2.0], "GPU Crauser opt.": [1.5, 1.5]}
    shape = {"threads_relax": 128, "threads_minimum": 512, "threads_update": 64, "carveout": 0}
    made = {table.key: table for table in paper_tables([ortega(RANDOM, times, shape=shape)])}
    assert sorted(made) == ["table-1", "table-2", "table-4"]  # no real graph, no Table 3
    relax = made["table-1"].rows[0]
    assert relax[:5] == ["98k", "relax", "192-A", "128-A", "128-A"]
    assert made["table-1"].rows[1][4] == "512-A"
    assert made["table-2"].rows[0] == [
        "98k deg2", *TABLE_2["98k deg2"][0], 4.0, *TABLE_2["98k deg2"][1], 2.0, 7, 7,
    ]  # fmt: skip
    assert made["table-4"].rows[-1] == ["here", pytest.approx(25.0), None, None]
    assert made["table-4"].rows[0] == ["Fermi", 4.2, 8.9, 14.4]
    found = {c.key: c for c in ortega_claims([ortega(RANDOM, times, shape=shape)])}
    assert found["thin"].verdict == CONTRADICTED  # GPU Martin is ahead of CPU Crauser
    assert found["table 4"].here == "25.0%"


def test_crossing_with_the_heap() -> None:
    def at(degree: int, heap: float) -> Done:
        times = {"relaxed heap": [heap, heap], "GPU Crauser opt.": [1.0, 1.0]}
        return ortega({**RANDOM, "degree": degree}, times)

    found = {c.key: c for c in ortega_claims([at(2, 0.5), at(10, 0.9), at(20, 3.0)])}
    assert found["heap, 98k"].here == "from degree 20 on, 0.900 times at degree 10"
    assert found["heap, 98k"].verdict == CONTRADICTED
    assert found["heap, thin"].here == "2.00 times on 98k deg2"


def test_martins_claims_count_graphs() -> None:
    def one(n: int, seconds: dict[str, float]) -> Done:
        cases = {
            label: {"median_seconds": value, "counters": {"iterations": 44}}
            for label, value in seconds.items()
        }
        return Done("k", {"kind": "list", "k": 1}, {"n": n, "cases": cases})

    done = [one(8, {"FH": 6.0, "F-GPU": 0.1, "U-GPU": 0.2}), one(16, {"F-GPU": 0.3, "U-GPU": 0.2})]
    found = {c.key: c for c in martin_claims(done)}
    assert found["F-GPU"].here == "60.0 at 8 vertices, 60.0 over 1 graph"
    assert (found["F over U"].agree, found["F over U"].of) == (1, 2)
    assert found["iterations"].here == "44 at 16 vertices"
    assert found["race"].verdict == NOT_MEASURED


def test_what_compactions_drop() -> None:
    queues = {"iteration": [1, 2, 3], "frontier": [1, 5, 20], "far": [30, 60, 10]}
    one = Done("msdoor", {}, {"queues": {"Near-Far": queues}})
    assert discarded(one) == pytest.approx(50.0)  # of 60 entries, 10 remain and 20 are processed
    thinned = {**queues, "iteration": [1, 3, 5]}
    assert discarded(Done("msdoor", {}, {"queues": {"Near-Far": thinned}})) is None


@pytest.mark.usefixtures("undrawn")
def test_figure_4_has_the_papers_panels(tmp_path: Path) -> None:
    only = ["rmat", "msdoor"]
    outcome = run("davidson-2014", out=tmp_path, scale="tiny", device="cpu", only=only)
    done = [Done(t["key"], t["what"], t["result"]) for t in outcome.results["tasks"]]
    (figure,) = [f for f in figures_of(done, "cpu") if f.key == "figure-4"]
    assert [panel.title for panel in figure.panels] == [
        "rmat: Workfront Sweep",
        "rmat: Near-Far",
        "msdoor: Workfront Sweep",
        "msdoor: Near-Far",
    ]
    edges = [s for panel in figure.panels for s in panel.series if s.right]
    assert len(edges) == 4
    (svg,) = [name for name in draw(figure.as_dict(), tmp_path) if name.endswith("svg")]
    assert (tmp_path / svg).read_text().count("edges touched (right)") >= 1


@pytest.mark.usefixtures("undrawn")
def test_large_rmat_is_for_the_throughput_alone(tmp_path: Path) -> None:
    only = ["rmat-17m"]
    outcome = run("davidson-2014", out=tmp_path, scale="tiny", device="cpu", only=only)
    assert outcome.wrong == []
    (task,) = outcome.results["tasks"]
    assert sorted(task["result"]["cases"]) == ["Dijkstra, binary heap", "Near-Far"]
    (table,) = [t for t in outcome.results["tables"] if t["key"] == "table-2"]
    assert table["rows"] == []  # the graph is not in Table II


def test_counts_follow_the_library() -> None:
    counts = load_program("benchmarks", "paper_counts")
    graph = generate("martin", vertices=1 << 10, seed=2)
    source = int(np.flatnonzero(graph.degrees)[0])
    for criterion in ("frontier", "crauser"):
        seen: list[Any] = []
        count = counts.checked(graph, source, criterion, seen.append)
        assert len(seen) == count  # distances and rounds are compared inside
    working = np.zeros(70, bool)
    assert counts.mixed_warps(working) == 0
    working[:32] = True
    assert counts.mixed_warps(working) == 0
    working[33] = working[69] = True
    assert counts.mixed_warps(working) == 2
    rows = list(counts.threads("tiny"))
    assert all(r["lowers"] <= r["finds"] <= r["unsettled"] <= r["threads"] for r in rows)
