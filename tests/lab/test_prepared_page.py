"""``benchmarks/prepared.py`` on a small graph, and the tables made from what it writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from docs.generators import prepared_graphs

from tests.loading import load_program

pytest.importorskip("pymetis")

TABLES = (
    prepared_graphs.prepared_graphs,
    prepared_graphs.orders,
    prepared_graphs.float_sums,
    prepared_graphs.refused,
)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script writes for a small map, with SciPy as the only peer."""
    output = tmp_path_factory.mktemp("prepared") / "prepared.json"
    small = "country-roads-5k"
    script = load_program("benchmarks", "prepared")
    given = sys.argv
    sys.argv = ["prepared.py", "--graphs", small, "--foresee", small, "--peers", "scipy"]
    sys.argv += ["--rounds", "2", "--threads", "2", "-o", str(output)]
    try:
        assert script.main() == 0
    finally:
        sys.argv = given
    found: dict[str, Any] = json.loads(output.read_text())
    return found


@pytest.fixture
def kept(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """It stands for the kept result."""
    monkeypatch.setattr(prepared_graphs, "results", lambda name: document)
    return document


def test_every_answer_is_right_and_every_round_is_kept(document: dict[str, Any]) -> None:
    (result,) = document["results"]
    assert result["right"]
    assert result["rounds"] == 2
    assert {len(samples) for samples in result["samples"].values()} == {2}
    assert result["order"] == "metis"
    assert 0 < result["float_difference"] < 1e-12
    assert result["structure_bytes"] > 16 * result["arcs"]
    assert {row["order"] for row in document["foreseen"]} == {"metis", "inertial", "levels"}


def test_every_row_of_the_page_is_measured(kept: dict[str, Any]) -> None:
    text = prepared_graphs.prepared_graphs()
    for label, said, _ in prepared_graphs._ROWS:
        if label.split(":")[0] not in ("routingkit_cch", "pandana"):
            assert f"| {said.replace('W workers', '2 workers')} |" in text, label
    assert "Medians of 2 rounds" in text
    assert "Every answer is that of a search" in text


def test_wrong_answers_are_told(kept: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(kept["results"][0], "right", False)
    assert "SOME ANSWERS WERE WRONG" in prepared_graphs.prepared_graphs()


def test_orders_and_graphs_that_do_not_pay(
    kept: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "country-roads-5k, `inertial`" in prepared_graphs.orders()
    assert prepared_graphs.refused().startswith("Not measured yet")
    row = {**kept["foreseen"][0], "graph": "social", "worth": False, "n_triangles": 2_500_000_000}
    monkeypatch.setitem(kept, "foreseen", [row])
    assert "| social | " in prepared_graphs.refused()
    assert "| 2.50 |" in prepared_graphs.refused()


def test_float_sums(kept: dict[str, Any]) -> None:
    text = prepared_graphs.float_sums()
    for said in ("row, float64, ms", "a search, float64, ms", "pair, int64, us"):
        assert f"| {said} |" in text


@pytest.mark.parametrize("make", TABLES)
def test_what_was_not_measured_says_how(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared_graphs, "results", lambda name: None)
    assert make().startswith("Not measured yet: `python benchmarks/prepared.py")


def test_a_missing_map_is_left_out_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NEARFAR_DATA", str(tmp_path))
    given = ["prepared.py", "--graphs", "florida", "ny-roads", "--foresee", "p2p-Gnutella31"]
    monkeypatch.setattr(sys, "argv", given)
    assert load_program("benchmarks", "prepared").main() == 0
    said = capsys.readouterr().out
    assert "== florida: left out: " in said
    assert "== p2p-Gnutella31: left out: " in said
