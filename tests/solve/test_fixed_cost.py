"""Fixed cost of a call, in numbers of function calls, which do not depend on the machine."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph, _cpu
from nearfar.choose import measured

if TYPE_CHECKING:
    from collections.abc import Callable

#: Calls of functions, of Python and of C, in a warm call. One takes some 0.1 us.
_CALLS: dict[str, tuple[int, Callable[[Graph], Any]]] = {
    "one source": (62, lambda g: nearfar.sssp(g, 0, threads=1)),
    "a limit": (74, lambda g: nearfar.sssp(g, 0, threads=1, limit=5)),
    "a method's name": (83, lambda g: nearfar.sssp(g, 0, threads=1, method="delta_stepping")),
    "a family's name": (64, lambda g: nearfar.sssp(g, 0, threads=1, method="dijkstra")),
    "a target": (89, lambda g: nearfar.sssp(g, 0, threads=1, targets=[2])),
    "a path": (63, lambda g: nearfar.shortest_path(g, 0, 2, threads=1)),
    "rows": (162, lambda g: nearfar.distances(g, [0, 1], threads=1)),
}


#: Functions of nearfar in a warm call, their files, and the number of changes of file.
_WALKS: dict[str, tuple[int, int, int, Callable[[Graph], Any]]] = {
    "one source": (31, 13, 20, lambda g: nearfar.sssp(g, 0, device="cpu")),
    "prepared rows on a GPU": (
        *(239, 32, 119),
        lambda g: nearfar.distances(g, range(40), method="elimination_tree_rows@cuda"),
    ),
}


@pytest.fixture(autouse=True)
def no_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no search be long enough for its time to be recorded, as on a busy machine."""
    monkeypatch.setattr(measured, "SHORT", 1e9)


@pytest.mark.parametrize("what", _WALKS)
def test_a_call_passes_few_files(what: str, request: pytest.FixtureRequest) -> None:
    """The number of changes of file along a call."""
    calls, files, turns, call = _WALKS[what]
    graph = nearfar.generate("grid", rows=12, columns=12)
    if "GPU" in what:
        request.getfixturevalue("emulated_gpu")
        graph = nearfar.prepare(graph)
    for _ in range(3):
        call(graph)
    seen: list[str] = []

    def note(frame: Any, event: str, function: Any) -> None:
        if event == "call" and "/nearfar/" in (file := frame.f_code.co_filename):
            seen.append(file.rpartition("/nearfar/")[2])

    sys.setprofile(note)
    try:
        call(graph)
    finally:
        sys.setprofile(None)
    turned = sum(one != other for one, other in pairwise(seen))
    found = (len(seen), len(set(seen)), turned)
    assert 10 < found[0] <= calls, found
    assert found[1] <= files, found
    assert found[2] <= turns, found


@pytest.mark.parametrize("what", _CALLS)
def test_a_call_passes_few_functions(what: str) -> None:
    most, call = _CALLS[what]
    graph = Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    for _ in range(3):
        call(graph)
    seen: list[str] = []

    def note(frame: Any, event: str, function: Any) -> None:
        if event in ("call", "c_call"):
            seen.append(frame.f_code.co_qualname if event == "call" else function.__name__)

    sys.setprofile(note)
    try:
        call(graph)
    finally:
        sys.setprofile(None)
    assert 20 < len(seen) <= most, f"{len(seen)} calls: {seen}"


def test_the_choice_within_a_family_is_remembered_and_made_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from nearfar.choose import ranking

    graph = nearfar.generate("grid", rows=20, columns=20)
    first = nearfar.sssp(graph, 0, method="dijkstra", device="cpu")
    asked: list[str] = []
    real = ranking.estimates

    def counted(graph: Any, request: Any, device: str, **options: Any) -> Any:
        asked.append(device)
        return real(graph, request, device, **options)

    monkeypatch.setattr(ranking, "estimates", counted)
    again = nearfar.sssp(graph, 1, method="dijkstra", device="cpu")
    assert (again.engine, again.reason) == (first.engine, first.reason)
    assert not asked
    nearfar.sssp(graph, 1, method="dijkstra", device="cpu", targets=[3])
    assert asked == ["cpu"]  # with targets other forms may be cheaper
    # The choice of auto and the choice within a family are cached separately.
    assert nearfar.sssp(graph, 1, device="cpu").reason != first.reason


def test_a_target_that_is_not_reached_does_not_end_the_answer() -> None:
    graph = Graph.from_edges([0, 1, 3], [1, 2, 0], [4, 3, 1], n_vertices=5)
    stats: dict[str, Any] = {}
    found = nearfar.sssp(graph, 0, targets=[4, 1], device="cpu", stats=stats)
    unreached = np.iinfo(np.int64).max
    assert found.distances.tolist() == [0, 4, 7, unreached, unreached]
    assert stats["proof_limit"] is None
    found = nearfar.sssp(graph, 0, targets=[1, 1], device="cpu", limit=9, stats=stats)
    assert found.distances.tolist() == [0, 4, unreached, unreached, unreached]
    assert stats["proof_limit"] == 4


def test_the_first_search_of_a_small_graph_measures_no_hops(monkeypatch: Any) -> None:
    measured: list[int] = []
    real = _cpu.ball
    monkeypatch.setattr(_cpu, "ball", lambda *arguments: measured.append(1) or real(*arguments))
    small = nearfar.generate("grid", rows=30, columns=30, seed=1)
    nearfar.sssp(small, 0, threads=2)
    assert not measured
    large = nearfar.generate("grid", rows=300, columns=300, seed=1)
    nearfar.sssp(large, 0, threads=2, device="cpu")
    assert measured
    ranked = {c.variant.id for c in nearfar.explain(small, 0, threads=2).ranking}
    assert "delta_stepping_parallel@cpu" in ranked  # whose cost needs the hops
