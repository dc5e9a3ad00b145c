"""BMSSP on one core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearfar import _cpu
from nearfar.errors import OptionError
from nearfar.graph.graph import Graph
from nearfar.registry import Answer, Workspace, variant


@dataclass(frozen=True, slots=True)
class BmsspOptions:
    """Options of ``bmssp@cpu``.

    Parameters
    ----------
    pivot_rounds : int or None
        The paper's k: rounds of FindPivots and vertices of a base case, at least 1. None is
        ``floor(log2(n)^(1/3))``.
    level_bits : int or None
        The paper's t: a level settles 2^t times the vertices of the level below, 1 to 40. None is
        ``floor(log2(n)^(2/3))``.
    constant_degree : bool
        Search the graph of section 2, in which every vertex is a cycle of vertices of degree two.
    """

    pivot_rounds: int | None = None
    level_bits: int | None = None
    constant_degree: bool = False

    def __post_init__(self) -> None:
        for name, most in (("pivot_rounds", 2**20), ("level_bits", 40)):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= most:
                raise OptionError(f"{name} is {value}: give 1 to {most:,}, or None")


@variant(
    "bmssp",
    device="cpu",
    options=BmsspOptions,
    summary="recursion over bounded sets of sources, which sorts less than a heap",
    paper="duan-2025",
    section="3, Algorithms 1 to 3",
    complexity="O(m log^(2/3) n) for constant degree",
)
def bmssp(graph: Graph, source: int, options: BmsspOptions, workspace: Workspace) -> Answer:
    """Settle all vertices by one call of the highest level."""
    distances = np.empty(graph.n_vertices, dtype=graph.weight_dtype)
    stats = _cpu.bmssp(
        graph.view,
        source,
        distances,
        options.pivot_rounds or 0,
        options.level_bits or 0,
        options.constant_degree,
        workspace.limit,
    )
    return Answer(distances, stats)
