"""Where what is derived from a graph is kept with it: a transpose, copies on devices, choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from nearfar.graph.graph import Graph

__all__ = ["Kept", "Slot"]

T = TypeVar("T")

_ABSENT = object()

#: What a graph holds: the values of each slot by key.
Kept = dict["Slot[Any]", dict[Any, Any]]


class Slot(Generic[T]):
    """A place for one kind of thing that is derived from a graph, made once and kept with it.

    A module declares its slots at the top, so that a type checker knows what lies in each and no
    two modules can mean different things by one name. Each access is one operation of a
    dictionary, which is atomic in Python with and without its global lock: two threads may both
    make a value, and both get the one that was there first. No lock is held while a value is made,
    because that may need other slots of the graph on other threads.

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
        """The graph's value, made where there is none."""
        held: dict[Hashable, T | object] = graph._kept.setdefault(self, {})
        value = held.get(key, _ABSENT)  # another thread may drop it behind a look for the key
        if value is _ABSENT:
            if alone:
                held.clear()
            value = held.setdefault(key, make())
        return cast("T", value)

    def get(self, graph: Graph, key: Hashable = None) -> T | None:
        """The graph's value, or None where none has been made."""
        held: dict[Hashable, T] = graph._kept.get(self, {})
        return held.get(key)

    def held(self, graph: Graph) -> dict[Hashable, T]:
        """The graph's values of all keys, as they are now."""
        return dict(graph._kept.get(self, {}))

    def put(self, graph: Graph, value: T, key: Hashable = None) -> None:
        """Keep a value that was made elsewhere."""
        graph._kept.setdefault(self, {})[key] = value

    def take(self, graph: Graph, key: Hashable = None) -> T | None:
        """The graph's value, kept no longer; for what one caller at a time may use."""
        held: dict[Hashable, T] = graph._kept.get(self, {})
        return held.pop(key, None)

    def share(self, graph: Graph, values: dict[Hashable, T]) -> None:
        """Let the graph have these values, and add what it makes to them: it stands for another."""
        graph._kept[self] = values

    def filled(self, graph: Graph, key: Hashable = None) -> bool:
        """Whether the graph has a value, which may be None."""
        return key in graph._kept.get(self, {})

    def filled_anywhere(self, graph: Graph) -> bool:
        """Whether the graph has a value under any key."""
        return bool(graph._kept.get(self))

    def drop(self, graph: Graph) -> None:
        """Forget the values of all keys."""
        graph._kept.pop(self, None)
