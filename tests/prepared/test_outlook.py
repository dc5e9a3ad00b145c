"""Prediction of whether preparing pays, in `describe` and `nearfar info`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nearfar
from nearfar import Graph
from nearfar.measures import describe
from nearfar.prepared import outlook as outlooks
from nearfar.prepared.outlook import outlook
from nearfar.prepared.prepare import foreseen
from tests.prepared.test_queries import mesh, ready
from tests.program import succeed


def test_exact_figures_of_a_small_graph() -> None:
    graph = mesh(50)
    found, exact = outlook(graph), foreseen(graph)
    assert found.worth
    assert found.exact
    assert found.n_shortcuts == exact.n_shortcuts
    assert found.n_triangles == exact.n_triangles
    assert found.nbytes == exact.nbytes
    assert found.break_even is not None
    assert 10 < found.break_even < 2000
    assert str(found).startswith(f"yes: {exact.n_shortcuts:,} shortcuts, ")
    assert str(found).endswith("sources on; separators are small")


def test_large_graphs_are_guessed_from_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("an order was looked for")

    monkeypatch.setattr(outlooks, "_QUICK", 100)
    monkeypatch.setattr(outlooks, "foreseen", never)
    found = outlook(mesh(50))
    assert found.worth
    assert not found.exact
    assert "about" in str(found)
    assert "--dry-run" in found.remark


@pytest.mark.parametrize("family", ["kronecker", "preferential_attachment"])
def test_no_small_separators(family: str) -> None:
    size = {"scale": 12} if family == "kronecker" else {"vertices": 5000}
    found = outlook(nearfar.generate(family, **size))
    assert not found.worth
    assert found.n_shortcuts is None
    assert str(found).startswith("no: no small separators: ")


def test_floats_repay_it_as_integers_do() -> None:
    floats = outlook(mesh(40, "float64")).break_even
    assert floats is not None
    assert floats == outlook(mesh(40, "int64")).break_even


def test_prepared_and_empty_graphs() -> None:
    assert "it is prepared" in str(outlook(ready(mesh(10))))
    assert describe(Graph([0], [])).preparing is None
    lonely = describe(Graph([0, 0], [])).preparing
    assert lonely is not None
    assert lonely.n_shortcuts == 0


def test_info_says_it(tmp_path: Path) -> None:
    nearfar.write(mesh(20), tmp_path / "mesh.gr")
    told = json.loads(succeed("info", str(tmp_path / "mesh.gr"), "--json"))["preparing"]
    assert told["worth"] is True
    assert told["n_shortcuts"] == foreseen(mesh(20)).n_shortcuts
    assert "worth preparing" in succeed("info", str(tmp_path / "mesh.gr"))
