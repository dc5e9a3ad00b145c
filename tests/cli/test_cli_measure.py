"""``nearfar measure``: one sub-command per measure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import nearfar
from nearfar.cli.console import Exit
from nearfar.cli.measure_kinds import KINDS
from tests.program import fail, run, succeed


def values(text: str) -> dict[str, float]:
    return {line.split("\t")[0]: float(line.split("\t")[-1]) for line in text.splitlines()}


def test_betweenness(graph_file: Path, named_file: Path) -> None:
    graph = nearfar.read(graph_file)
    want = nearfar.measures.betweenness(graph, normalized=False)
    found = values(succeed("measure", "betweenness", graph_file, "--raw"))
    assert found == dict(zip(map(str, range(graph.n_vertices)), want.tolist(), strict=True))
    top = succeed("measure", "betweenness", graph_file, "--raw", "--top", 1).splitlines()
    assert top == [f"{want.argmax()}\t{want.max()}"]
    edges = json.loads(succeed("measure", "betweenness", named_file, "--edges", "--json"))
    named = nearfar.read(named_file)
    assert edges["values"] == nearfar.measures.betweenness(named, edges=True).tolist()
    assert set(edges["tails"]) <= set(named.vertex_names)
    one = values(succeed("measure", "betweenness", named_file, "--source", "Bern", "--raw"))
    assert (
        one["Basel"]
        == nearfar.measures.betweenness(named, ["Bern"], normalized=False)[named.index_of("Basel")]
    )


def test_path_counts_and_all_shortest_paths(tmp_path: Path) -> None:
    path = tmp_path / "diamond.el"
    path.write_text("0 1\n0 2\n1 3\n2 3\n")
    assert values(succeed("measure", "path-counts", path, 0)) == {"0": 1, "1": 1, "2": 1, "3": 2}
    assert values(succeed("measure", "path-counts", path, 0, "--log2", "--top", 1)) == {"3": 1}
    done = run("measure", "all-shortest-paths", path, 0, 3)
    assert done.stdout.splitlines() == ["0 1 3", "0 2 3"]
    assert "2 shortest paths of length 2" in done.stderr
    one = json.loads(succeed("measure", "all-shortest-paths", path, 0, 3, "--most", 1, "--json"))
    assert one == {"count": 2, "length": 2, "paths": [[0, 1, 3]]}
    assert "not reached" in fail(Exit.NO_PATH, "measure", "all-shortest-paths", path, 3, 0)


def test_one_number_per_vertex(named_file: Path) -> None:
    graph = nearfar.read(named_file)
    names = graph.vertex_names.tolist()
    for name in ("closeness", "harmonic"):
        for flags, more in (((), {}), (("--outward", "--limit", 2), {"outward": True, "limit": 2})):
            want = getattr(nearfar.measures, name)(graph, **more).tolist()
            found = values(succeed("measure", name, named_file, *flags))
            assert found == dict(zip(names, want, strict=True))
    one = succeed("measure", "closeness", named_file, "--vertex", "Chur", "--device", "cpu")
    assert list(values(one)) == ["Chur"]


def test_measures_of_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "path.wel"
    path.write_text("0 1 2\n1 0 2\n1 2 3\n2 1 3\n")
    found = {
        name: succeed("measure", name, path).split()
        for name in ("diameter", "radius", "center", "periphery", "average-length", "efficiency")
    }
    assert found["diameter"] == ["5"]
    assert found["radius"] == ["3"]
    assert found["center"] == ["1"]
    assert found["periphery"] == ["0", "2"]
    assert float(found["average-length"][0]) == pytest.approx(20 / 6)
    assert float(found["efficiency"][0]) == pytest.approx((1 / 2 + 1 / 3 + 1 / 5) / 3)
    assert json.loads(succeed("measure", "center", path, "--json")) == {"center": [1]}
    far = values(succeed("measure", "eccentricity", path, "--top", 2))
    assert far == {"0": 5, "2": 5}


def test_errors(graph_file: Path, cycle_file: Path) -> None:
    assert "MEASURE" in run("measure").stderr
    assert "sources or samples" in fail(
        Exit.USAGE, "measure", "betweenness", graph_file, "--source", 1, "--samples", 2
    )
    assert "component" in fail(Exit.NO_PATH, "measure", "diameter", graph_file)
    assert "negative" in fail(Exit.BAD_INPUT, "measure", "betweenness", cycle_file)


def test_a_zero_cycle_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "zeros.wel"
    path.write_text("0 1 0\n1 0 0\n")
    assert "weight zero" in fail(Exit.BAD_INPUT, "measure", "betweenness", path)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_help_of_each(name: str) -> None:
    assert f"nearfar measure {name}" in succeed("measure", name, "--help")
