"""Oracle of the soak test: distances by rounds over all edges, and checks of answers.

No code is shared with the library. Integers are added exactly: in 64 bits if no sum can come close
to their range, else as Python integers. Floats are added from the source outwards in their own
dtype. For non-negative weights rounding is monotone, so the least of these sums is the number that
every search gives. Negative float weights are drawn so that every sum is exact.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FAR = 2**62  # value of unreached vertices in sums of 64 bits


class TooLarge(Exception):
    """Error for a distance of the answer that does not fit 64 bits."""


@dataclass(frozen=True)
class Edges:
    """List of edges as a solver sees them: undirected ones are in both directions.

    ``weights`` are int64 or the floats' own dtype; ``kind`` is the dtype of answers.
    """

    n: int
    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    weights: NDArray[Any]
    kind: np.dtype[Any]

    @property
    def negative(self) -> bool:
        """Whether some weight is below 0."""
        return bool((self.weights < 0).any())

    @cached_property
    def huge(self) -> bool:
        """Whether sums may exceed 64 bits."""
        if self.kind.kind == "f" or not len(self.weights):
            return False
        most = max(abs(int(self.weights.max())), abs(int(self.weights.min())))
        return most * (self.n + 1) >= _FAR // 2


@dataclass(frozen=True)
class Rows:
    """Exact distances from some sources.

    ``values`` has shape ``(k, n)`` and is int64, a float dtype or Python numbers; ``reached`` marks
    its valid entries; ``cycle`` marks sources that reach a negative cycle, whose rows are invalid.
    """

    edges: Edges
    sources: NDArray[np.int64]
    values: NDArray[Any]
    reached: NDArray[np.bool_]
    cycle: NDArray[np.bool_]

    def expected(
        self,
        rows: Any,
        *,
        limit: float | None = None,
        targets: NDArray[np.int64] | None = None,
        columns: NDArray[np.int64] | None = None,
        wide: bool = False,
    ) -> NDArray[Any]:
        """Return the expected array: within the limit, up to the last target.

        Raises
        ------
        TooLarge
            If one of its distances does not fit 64 bits.
        """
        values, reached = self.values[rows], self.reached[rows]
        if limit is not None:
            reached = reached & (values <= limit)
        if targets is not None:
            for row, there in zip(values, reached, strict=True):
                if there[targets].all():
                    there &= row <= row[targets].max()
        if columns is not None:
            values, reached = values[:, columns], reached[:, columns]
        return answer(values, reached, self.edges.kind, wide)


def answer(
    values: NDArray[Any], reached: NDArray[np.bool_], kind: np.dtype[Any], wide: bool = False
) -> NDArray[Any]:
    """Return distances in the weights' dtype or in 64 bits, with unreached vertices filled in."""
    if kind.kind == "f":
        return np.where(reached, values, kind.type(np.inf)).astype(kind)
    dtype = np.dtype(np.int64) if wide else kind
    there = values[reached]
    if len(there):
        low, high = int(there.min()), int(there.max())
        if high >= np.iinfo(dtype).max or low < np.iinfo(dtype).min:
            dtype = np.dtype(np.int64)
        if high >= np.iinfo(np.int64).max:
            raise TooLarge
    out = np.full(values.shape, np.iinfo(dtype).max, dtype=dtype)
    out[reached] = there
    return out


def rows_of(edges: Edges, sources: NDArray[np.int64]) -> Rows:
    """Return distances from all sources together: rounds over all edges until nothing improves.

    O(rounds x m x k), vectorised; with sums that may leave 64 bits by a heap of Python numbers.
    """
    if edges.huge:
        return _with_python_numbers(edges, sources)
    k, floats = len(sources), edges.kind.kind == "f"
    none: Any = np.inf if floats else _FAR
    order = np.argsort(edges.heads, kind="stable")
    tails, weights = edges.tails[order], edges.weights[order, None]
    ends, first = np.unique(edges.heads[order], return_index=True)
    dtype = edges.kind if floats else np.dtype(np.int64)
    found = np.full((edges.n, k), none, dtype=dtype)
    found[sources, np.arange(k)] = 0
    cycle = np.zeros(k, dtype=bool)
    for _ in range(edges.n + 1):
        if not len(ends):
            break
        new = np.minimum.reduceat(found[tails] + weights, first, axis=0)
        if not floats:
            new[new > _FAR // 2] = _FAR
        np.minimum(new, found[ends], out=new)
        changed = new < found[ends]
        if not changed.any():
            break
        found[ends] = new
    else:
        cycle = changed.any(axis=0)
    rows = np.ascontiguousarray(found.T)
    return Rows(edges, sources, rows, rows != none, cycle)


def _with_python_numbers(edges: Edges, sources: NDArray[np.int64]) -> Rows:
    values = np.zeros((len(sources), edges.n), dtype=object)
    reached = np.zeros(values.shape, dtype=bool)
    for i, source in enumerate(sources.tolist()):
        for v, d in heap_search(edges, source).items():
            values[i, v], reached[i, v] = d, True
    return Rows(edges, sources, values, reached, np.zeros(len(sources), dtype=bool))


def heap_search(edges: Edges, source: int) -> dict[int, Any]:
    """Return distances by a textbook heap search of Python or NumPy scalars, for weights from 0."""
    number = int if edges.kind.kind == "i" else edges.kind.type
    out: list[list[tuple[int, Any]]] = [[] for _ in range(edges.n)]
    ends = zip(edges.tails.tolist(), edges.heads.tolist(), edges.weights, strict=True)
    for u, v, w in ends:
        out[u].append((v, number(w)))
    found: dict[int, Any] = {source: number(0)}
    heap = [(number(0), source)]
    settled = set()
    while heap:
        d, u = heapq.heappop(heap)
        if u in settled:
            continue
        settled.add(u)
        for v, w in out[u]:
            if v not in found or d + w < found[v]:
                found[v] = d + w
                heapq.heappush(heap, (d + w, v))
    return found


# ---- judges: what is wrong with an answer, or None ----------------------------------------------


def host(array: Any) -> Any:
    """Return a NumPy array of a CuPy one."""
    return array.get() if hasattr(array, "get") and not isinstance(array, dict) else array


def differs(found: Any, want: NDArray[Any], dtype: bool = True, near: float = 0.0) -> str | None:
    """Describe a difference from the expected array beyond the relative tolerance ``near``."""
    found = host(found)
    if not isinstance(found, np.ndarray):
        return f"a {type(found).__name__} instead of an array"
    if found.shape != want.shape:
        return f"shape {found.shape} instead of {want.shape}"
    if dtype and found.dtype != want.dtype:
        return f"dtype {found.dtype} instead of {want.dtype}"
    wrong = found != want
    if want.dtype.kind == "f":
        wrong &= ~(np.isnan(found) & np.isnan(want))
        wrong &= ~np.isclose(found, want, rtol=near, atol=0)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{np.count_nonzero(wrong)} entries differ, first {at}: {found[at]}, not {want[at]}"


def wrong_tree(
    truth: Rows, rows: NDArray[np.int64], found: Any, none: int = -1, near: float = 0.0
) -> str | None:
    """Describe a fault of predecessors: each is tight, the smallest, and leads to the source.

    If an edge of a tree adds nothing, the smallest predecessors need not form a tree: then only
    tightness and the path to the source are checked, as for sums that may differ by ``near``.
    ``found`` has one row for each of ``rows``, which are whole rows.
    """
    found = host(found)
    edges, values, reached = truth.edges, truth.values[rows], truth.reached[rows]
    k, n = values.shape
    if found.shape != (k, n):
        return f"predecessors of shape {found.shape} instead of {(k, n)}"
    starts = truth.sources[rows]
    rooted = reached.copy()
    rooted[np.arange(k), starts] = False
    if ((found == none) != ~rooted).any():
        return "predecessors are there for other vertices than those reached from the source"
    before = np.where(rooted, found, np.arange(n))
    if before.size and (before.min() < 0 or before.max() >= n):
        return "a predecessor is not a vertex"
    if edges.kind.kind == "f":
        sums = values[:, edges.tails] + edges.weights
        tight = np.isclose(sums, values[:, edges.heads], rtol=near, atol=0)
    else:
        tight = values[:, edges.tails] == values[:, edges.heads] - edges.weights
    tight &= reached[:, edges.tails] & reached[:, edges.heads]
    chosen = tight & (before[:, edges.heads] == edges.tails)
    seen = np.zeros((k, n), dtype=bool)
    at_row, at_edge = np.nonzero(chosen)
    seen[at_row, edges.heads[at_edge]] = True
    if (rooted & ~seen).any():
        return f"an edge of the tree is not tight, at {np.argwhere(rooted & ~seen)[0].tolist()}"
    jump = before
    for _ in range(max(n, 1).bit_length() + 1):
        jump = np.take_along_axis(jump, jump, axis=1)
    if (jump[rooted] != np.broadcast_to(starts[:, None], (k, n))[rooted]).any():
        return "the predecessors are not a tree rooted at the source"
    idle = tight & (values[:, edges.tails] >= values[:, edges.heads])
    if edges.negative or idle.any() or near:
        return None  # then the answer is the breadth-first tree over tight edges
    least = np.full((k, n), n, dtype=np.int64)
    at_row, at_edge = np.nonzero(tight)
    np.minimum.at(least, (at_row, edges.heads[at_edge]), edges.tails[at_edge])
    if (least[rooted] != found[rooted]).any():
        return "a predecessor is not the smallest among equals"
    return None


def lightest(edges: Edges) -> dict[tuple[int, int], Any]:
    """Return the least weight per pair of adjacent vertices, as numbers that add exactly."""
    number = int if edges.kind.kind == "i" else edges.kind.type
    found: dict[tuple[int, int], Any] = {}
    ends = zip(edges.tails.tolist(), edges.heads.tolist(), edges.weights, strict=True)
    for u, v, w in ends:
        value = number(w)
        if (u, v) not in found or value < found[u, v]:
            found[u, v] = value
    return found


def length_of(weights: dict[tuple[int, int], Any], path: list[int]) -> Any:
    """Return the sum along a path from its first vertex; None if an edge does not exist."""
    total = None
    for pair in pairwise(path):
        if pair not in weights:
            return None
        total = weights[pair] if total is None else total + weights[pair]
    return 0 if total is None else total


def simple_paths(edges: Edges, source: int, target: int) -> list[Any]:
    """Return lengths of all simple paths, ascending; for graphs of a few vertices."""
    weights = lightest(edges)
    lengths = []
    stack: list[tuple[int, Any, frozenset[int]]] = [(source, None, frozenset([source]))]
    while stack:
        at, total, seen = stack.pop()
        if at == target:
            lengths.append(0 if total is None else total)
            continue
        for (u, v), w in weights.items():
            if u == at and v not in seen:
                stack.append((v, w if total is None else total + w, seen | {v}))
    return sorted(lengths)
