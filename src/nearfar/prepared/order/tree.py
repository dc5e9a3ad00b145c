"""Elimination tree of an order, its predicted cost, and its arcs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import GraphError, OutOfMemoryError, keyword
from nearfar.graph.graph import Graph
from nearfar.prepared.order.elimination import Structure
from nearfar.system.memory import bytes_left, free_memory

#: Arcs per vertex and edge of the graph above which preparing does not pay off: a sweep costs
#: more than a search. Roads have 2 to 3, grids and triangulations up to 10, social graphs hundreds.
_MOST_ARCS_PER_ITEM = 16

#: Number of arcs below which no graph is refused: preparing takes milliseconds.
_FEW_ARCS = 200_000


class Tree(NamedTuple):
    """Elimination tree, whose vertices are renumbered by a postorder, their labels."""

    vertex: NDArray[np.int32]  # shape (n,); vertex of each label
    label: NDArray[np.int32]  # shape (n,); label of each vertex
    # parent, depth, low: shape (n,); parent of each label (-1 for a root), edges to the root,
    # and the least label of its subtree, which is the interval from that one to itself
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    low: NDArray[np.int32]
    arcs: NDArray[np.int32]  # shape (n,); number of arcs that lead up from each label

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.vertex)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self)

    @property
    def height(self) -> int:
        """Number of vertices on the longest path to a root."""
        return int(self.depth.max()) + 1 if len(self.depth) else 0


@dataclass(frozen=True, slots=True)
class Figures:
    """Cost of preparing, known before any arc is built.

    Attributes
    ----------
    n_vertices, n_edges : int
        Sizes of the undirected structure, each edge once.
    n_arcs : int
        Edges and shortcuts together.
    n_triangles : int
        Number of steps of a customization.
    height : int
        Height of the elimination tree: the longest search space.
    nbytes : int
        Upper bound of the memory of a prepared graph besides the graph.
    seconds : float
        Rough estimate for one core, without the order.
    """

    n_vertices: int
    n_edges: int
    n_arcs: int
    n_triangles: int
    height: int
    nbytes: int
    seconds: float

    @property
    def n_shortcuts(self) -> int:
        """Number of arcs that are not edges of the graph."""
        return self.n_arcs - self.n_edges

    @property
    def worth(self) -> bool:
        """Whether queries can be expected to be faster than searches."""
        items = self.n_vertices + self.n_edges
        return self.n_arcs <= max(_MOST_ARCS_PER_ITEM * items, _FEW_ARCS)

    def __str__(self) -> str:
        return (
            f"{self.n_arcs:,} arcs for {self.n_edges:,} edges, {self.n_triangles:,} triangles, "
            f"a tree of height {self.height:,}, {self.nbytes / 2**20:,.0f} MiB, "
            f"about {self.seconds:,.{0 if self.seconds >= 10 else 2}f} s on one core"
        )


class Arcs(NamedTuple):
    """Arcs of a tree without weights."""

    # shape (n + 1,); the arcs of label `v` are `first[v]` to `first[v + 1]`
    first: NDArray[np.int64]
    # shape (n_arcs,); depth of the ancestor that the arc leads to, which identifies it, ascending
    # within each label
    head_depth: NDArray[np.int32]
    # shape (n + 1,); the arcs that lead to label `v` are entries `lower_first[v]` to `lower_first[v
    # + 1]` of the next two
    lower_first: NDArray[np.int64]
    # lower_arc, lower_tail: shape (n_arcs,); arc, and the label of its tail, ascending
    lower_arc: NDArray[np.int32]
    lower_tail: NDArray[np.int32]
    # shape (n + 1,); the edges that determine weights of label `v`'s arcs are entries
    # `edge_first[v]` to `edge_first[v + 1]` of the next two
    edge_first: NDArray[np.int64]
    # edge, edge_place: edge, and twice the depth of its upper end, plus 1 if it leads down
    edge: NDArray[np.int32]
    edge_place: NDArray[np.int32]

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return len(self.head_depth)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(array.nbytes for array in self)


def analyse(
    graph: Graph, structure: Structure, order: NDArray[np.int32], perfect: bool = True
) -> tuple[Tree, Figures]:
    """Return the elimination tree of an order, and its predicted cost.

    Time is almost linear in the edges, without memory for arcs: well under a second for a million
    edges.
    """
    tree = Tree(**_cpu.prepared_analyse(structure.first, structure.neighbour, order))
    counts = tree.arcs.astype(np.int64)
    n_arcs = int(counts.sum())
    triangles = int((counts * (counts - 1) // 2).sum())
    figures = Figures(
        n_vertices=structure.n_vertices,
        n_edges=structure.n_edges,
        n_arcs=n_arcs,
        n_triangles=triangles,
        height=tree.height,
        nbytes=arc_bytes(graph, n_arcs),
        seconds=weighing_seconds(structure.n_vertices, n_arcs, triangles, perfect),
    )
    return tree, figures


def weighing_seconds(n: int, n_arcs: float, n_triangles: float, perfect: bool = True) -> float:
    """Return seconds on one core for the steps after the order: analysis, arcs and weights."""
    if perfect:
        return 1.5e-7 * n + 7e-8 * n_arcs + 8e-10 * n_triangles
    return 1.5e-7 * n + 5e-8 * n_arcs + 3e-10 * n_triangles


def arc_bytes(graph: Graph, n_arcs: float) -> int:
    """Return an upper bound of the memory of a number of arcs, their tree and weights."""
    # both directions, with a second copy after pruning
    each = 13 + 4 * graph.weight_dtype.itemsize + 8
    return int(n_arcs * each) + graph.n_vertices * (20 + 5 * 8) + graph.n_edges * 8


def check_worth(figures: Figures, memory: int | None = None, force: bool = False) -> None:
    """Refuse graphs that do not pay off or do not fit, before building anything large."""
    free = bytes_left(memory, free_memory)
    if figures.n_arcs >= 2**31:
        raise GraphError(f"{figures}: a prepared graph has fewer than 2^31 arcs")
    if figures.nbytes > free:
        more = "" if memory is None else f"give a greater {keyword('memory')}; "
        raise OutOfMemoryError(
            figures.nbytes, free, f"{more}a search needs none of its {figures.n_arcs:,} arcs"
        )
    if not force and not figures.worth:
        raise GraphError(
            f"this graph has no small separators, so preparing it does not pay off: {figures}; "
            f"{keyword('force', True)} prepares it anyway"
        )


def build_arcs(graph: Graph, structure: Structure, tree: Tree) -> Arcs:
    """Return the arcs of a tree and the edges that determine their weights; O(arcs + m)."""
    parts: dict[str, Any] = _cpu.prepared_arcs(
        structure.first,
        structure.neighbour,
        tree.vertex,
        tree.label,
        tree.parent,
        tree.depth,
        tree.arcs,
    )
    edge_first, edge, place = _cpu.prepared_edges(graph.view, tree.label, tree.depth)
    return Arcs(**parts, edge_first=edge_first, edge=edge, edge_place=place)


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
        object.__setattr__(self, "view", _cpu.PreparedArcs(*(*self.tree[:5], *self.arcs)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Preparation, (self.tree, self.arcs, self.figures, self.method)

    def with_edges(
        self, first: NDArray[np.int64], edge: NDArray[np.int32], place: NDArray[np.int32]
    ) -> Preparation:
        """Return the same tree and arcs with weights from other edges, as in :class:`Arcs`."""
        arcs = self.arcs._replace(edge_first=first, edge=edge, edge_place=place)
        view = self.view.with_edges(first, edge, place)
        return Preparation(self.tree, arcs, self.figures, self.method, view)
