"""Graphs of the BMSSP experiment: sparse random, road-like and Kronecker, by size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.generators import generate
from nearfar.graph.graph import Graph

FAMILIES = ("random", "roads", "kronecker")
#: Exponents of the numbers of vertices, by scale.
SIZES = {"tiny": (6, 8), "small": tuple(range(10, 19, 2)), "paper": tuple(range(10, 25, 2))}


def graph_of(what: Mapping[str, Any]) -> Graph:
    """Return the graph of a task."""
    exponent, seed = what["exponent"], what["seed"]
    n = 2**exponent
    if what["family"] == "roads":
        return generate("road_like", vertices=n, seed=seed)
    if what["family"] == "kronecker":
        return generate("kronecker", scale=exponent, seed=seed)
    return generate("uniform_random", vertices=n, degree=4, high=1 << 20, seed=seed)
