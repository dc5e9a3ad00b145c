"""Structure of a prepared graph, independent of the weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.prepared.order.tree import Arcs, Figures, Tree


@dataclass(frozen=True, slots=True)
class Preparation:
    """Structure of a prepared graph, independent of the weights."""

    tree: Tree
    arcs: Arcs
    figures: Figures
    method: str  # method of the order
    # nearfar._cpu.PreparedArcs; typed pointers of the C++ module into the arrays of the tree and
    # its arcs
    view: Any = field(default=None, repr=False, compare=False)
    # spanning trees that bound every distance (`fixed_point.py`), once computed
    spanning: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.view is not None:
            return
        tree, arcs = self.tree, self.arcs
        view = _cpu.PreparedArcs(
            tree.vertex,
            tree.label,
            tree.parent,
            tree.depth,
            tree.low,
            arcs.first,
            arcs.head_depth,
            arcs.lower_first,
            arcs.lower_arc,
            arcs.lower_tail,
            arcs.edge_first,
            arcs.edge,
            arcs.edge_place,
        )
        object.__setattr__(self, "view", view)

    def __reduce__(self) -> tuple[Any, ...]:
        return Preparation, (self.tree, self.arcs, self.figures, self.method)

    def with_edges(
        self, first: NDArray[np.int64], edge: NDArray[np.int32], place: NDArray[np.int32]
    ) -> Preparation:
        """Return the same tree and arcs with weights from other edges, as in :class:`Arcs`."""
        arcs = replace(self.arcs, edge_first=first, edge=edge, edge_place=place)
        view = self.view.with_edges(first, edge, place)
        return Preparation(self.tree, arcs, self.figures, self.method, view)
