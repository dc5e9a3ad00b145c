"""Cached data of a graph: built once, separate by key and graph, dropped on request."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from nearfar import Graph
from nearfar.graph.slots import Slot


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges([0, 1], [1, 2], [4, 3])


def counting() -> tuple[list[int], Callable[[], int]]:
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    return made, make


def test_a_value_is_made_once_per_graph_and_key(graph: Graph) -> None:
    slot: Slot[int] = Slot("a test")
    made, make = counting()
    assert [slot.of(graph, make), slot.of(graph, make)] == [0, 0]
    assert [slot.of(graph, make, "key"), slot.of(graph.astype("float64"), make)] == [1, 2]
    assert made == [0, 1, 2]
    assert (slot.get(graph), slot.get(graph, "key"), slot.get(graph, "other")) == (0, 1, None)


def test_slots_of_one_name_hold_different_things(graph: Graph) -> None:
    first: Slot[int] = Slot("name")
    second: Slot[int] = Slot("name")
    first.put(graph, 1)
    assert not second.filled(graph)


def test_none_is_a_value(graph: Graph) -> None:
    slot: Slot[int | None] = Slot("a test")
    assert not slot.filled(graph)
    slot.of(graph, lambda: None)
    assert slot.filled(graph)
    assert slot.of(graph, lambda: 5) is None


def test_a_lone_value_is_dropped_before_the_next_is_made(graph: Graph) -> None:
    slot: Slot[int] = Slot("a test")
    slot.of(graph, lambda: 1, "one", alone=True)
    seen = slot.of(graph, lambda: int(slot.filled_anywhere(graph)), "two", alone=True)
    assert seen == 0
    assert not slot.filled(graph, "one")


def test_values_are_dropped_on_request(graph: Graph) -> None:
    slot: Slot[int] = Slot("a test")
    slot.put(graph, 1, "one")
    slot.drop(graph)
    assert not slot.filled_anywhere(graph)
    slot.put(graph, 1)
    assert graph.transpose().transpose() is graph
    assert graph.has_view
    graph.forget()
    assert not graph.has_view
    assert not slot.filled(graph)
    assert not graph.has_transpose


def test_a_value_is_taken_once(graph: Graph) -> None:
    slot: Slot[int] = Slot("a test")
    assert slot.take(graph) is None
    slot.put(graph, 1, "one")
    assert slot.take(graph, "one") == 1
    assert slot.take(graph, "one") is None
    assert not slot.filled(graph, "one")


def test_a_graph_that_stands_for_another_shares_its_values(graph: Graph) -> None:
    slot: Slot[int] = Slot("a test")
    values: dict[Hashable, int] = {"old": 1}
    other = Graph.from_edges([0], [1])
    for one in (graph, other):
        slot.share(one, values)
    slot.put(other, 2, "new")
    assert (slot.get(graph, "old"), slot.get(graph, "new")) == (1, 2)
    slot.drop(other)
    assert slot.get(graph, "new") == 2


def test_threads_that_make_it_at_once_share_one(graph: Graph) -> None:
    slot: Slot[object] = Slot("a test")
    together = Barrier(4)

    def make() -> object:
        together.wait()
        return object()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: slot.of(graph, make), range(4)))
    assert len(set(map(id, found))) == 1
