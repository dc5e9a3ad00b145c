"""Slots for data derived from a graph and cached on it, such as transposes and device copies."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

T = TypeVar("T")

_ABSENT = object()

#: Values of each slot by key, as stored in a graph.
Kept = dict["Slot[Any]", dict[Any, Any]]


class Slot(Generic[T]):
    """Slot for one kind of data that is derived from a graph, computed once and cached on it.

    A module declares its slots at the top, so that type checkers know the type of each and modules
    do not share names by accident. Each access is one dictionary operation, which is atomic in
    Python with and without the global interpreter lock: two threads may both compute a value, and
    both get the one stored first. No lock is held during the computation, which may use other
    slots.

    Examples
    --------
    >>> from nearfar import Graph
    >>> from nearfar.graph.slots import Slot
    >>> degrees_sorted: Slot[list[int]] = Slot("degrees sorted")
    >>> graph = Graph.from_edges([0, 0], [1, 2], [4, 3])
    >>> degrees_sorted.of(graph, lambda: sorted(graph.degrees.tolist()))
    [0, 0, 2]
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Slot({self.name!r})"

    def of(
        self, graph: Graph, make: Callable[[], T], key: Hashable = None, *, alone: bool = False
    ) -> T:
        """Return the graph's value, computing it on first use; ``alone`` drops other keys."""
        held: dict[Hashable, Any] = graph._kept.setdefault(self, {})
        value = held.get(key, _ABSENT)  # one access: another thread may drop the key
        if value is _ABSENT:
            if alone:
                held.clear()
            value = held.setdefault(key, make())
        found: T = value
        return found

    def get(self, graph: Graph, key: Hashable = None) -> T | None:
        """Return the graph's value, or None if it has none."""
        held: dict[Hashable, T] | None = graph._kept.get(self)
        return None if held is None else held.get(key)

    def held(self, graph: Graph) -> dict[Hashable, T]:
        """Return a copy of the graph's values by key."""
        return dict(graph._kept.get(self, {}))

    def put(self, graph: Graph, value: T, key: Hashable = None) -> None:
        """Store a value."""
        graph._kept.setdefault(self, {})[key] = value

    def take(self, graph: Graph, key: Hashable = None) -> T | None:
        """Remove and return the graph's value, for data with one user at a time."""
        held: dict[Hashable, T] = graph._kept.get(self, {})
        return held.pop(key, None)

    def share(self, graph: Graph, values: dict[Hashable, T]) -> None:
        """Let the graph share the values of another graph."""
        graph._kept[self] = values

    def filled(self, graph: Graph, key: Hashable = None) -> bool:
        """Return whether the graph has a value, which may be None."""
        return key in graph._kept.get(self, {})

    def filled_anywhere(self, graph: Graph) -> bool:
        """Return whether the graph has a value under any key."""
        return bool(graph._kept.get(self))

    def drop(self, graph: Graph) -> None:
        """Remove the values of all keys."""
        graph._kept.pop(self, None)
