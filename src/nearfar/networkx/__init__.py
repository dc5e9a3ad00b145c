"""NetworkX backend, enabled by ``networkx.config.backend_priority = ["nearfar"]``.

It also works for single calls: ``networkx.single_source_dijkstra_path_length(G, s,
backend="nearfar")``. The entry point ``networkx.backends`` names this module; its functions have
NetworkX's names, parameters, results and exceptions. ``_nx_nearfar`` has what NetworkX needs before
it imports this module.

Four rules apply: a weight is an attribute with plain numbers, never a function; a mapping of
paths builds a path on access; a graph is converted once and cached until NetworkX notices a
change; NetworkX handles small graphs itself.
"""

from __future__ import annotations

import inspect
from typing import Any

from nearfar.networkx import all_pairs, flow, unweighted, weighted
from nearfar.networkx.graph import BackendGraph, convert_from_nx, convert_to_nx
from nearfar.networkx.search import LazyPaths

__all__ = ["FUNCTIONS", "BackendGraph", "LazyPaths", "can_run", "convert_from_nx", "convert_to_nx"]

#: Functions that the backend implements, by name.
FUNCTIONS: dict[str, Any] = {
    name: function
    for module in (weighted, unweighted, all_pairs, flow)
    for name, function in vars(module).items()
    if getattr(function, "__module__", None) == module.__name__ and name[0] != "_"
}
globals().update(FUNCTIONS)
_SIGNATURES = {name: inspect.signature(function) for name, function in FUNCTIONS.items()}

#: Number of vertices plus edges below which a conversion costs more than it saves.
SMALL = 2_000

#: Functions of one pair that are not worth a conversion: NetworkX searches from both ends.
_CHEAP_PAIR = frozenset({"has_path"})


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return whether the backend can serve a call: True, or the reason in words."""
    if name not in FUNCTIONS:
        return f"nearfar does not implement {name}"
    given = _arguments(name, args, kwargs)
    if given is None:
        return "the arguments do not match the function's signature"
    for weight in ("weight", "distance"):
        if callable(given.get(weight)):
            return f"{weight} is a function: only NetworkX can call it on each edge"
    for known in ("sp", "e"):
        if given.get(known) is not None:
            return f"{known} is given: nothing remains to be computed"
    return True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool | str:
    """Return whether the backend is likely faster: True, or the reason in words."""
    given = _arguments(name, args, kwargs) or {}
    graph = given.get("G")
    if graph is None or isinstance(graph, BackendGraph):
        return True
    # NetworkX counts edges in a Python loop, which takes longer than a search of a large graph.
    if len(graph) < SMALL and len(graph) + (m := graph.number_of_edges()) < SMALL:
        return f"the graph is small: {len(graph)} vertices and {m} edges"
    if name in _CHEAP_PAIR and not _converted(graph):
        return "converting the graph takes longer than solving one pair; it has no conversion yet"
    return True


def _converted(graph: Any) -> bool:
    cache = getattr(graph, "__networkx_cache__", None) or {}
    return bool(cache.get("backends", {}).get("nearfar"))


def _arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    known = {key: value for key, value in kwargs.items() if key != "backend"}
    try:
        return _SIGNATURES[name].bind(*args, **known).arguments
    except (KeyError, TypeError):
        return None
