"""Random graphs of the soak test: shapes that have broken solvers, in every dtype of weights.

A case depends only on a seed and a number, so that it can be repeated. Its edges are kept as drawn,
for the oracle, in addition to the graph that the library built from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import Graph
from soak_oracle import Edges, Rows, rows_of

Ends = tuple[NDArray[Any], NDArray[Any]]
KINDS = ("int32", "int64", "float32", "float64", "unweighted")
FEW = 6  # number of sources of a large graph


@dataclass(frozen=True)
class Case:
    """Graph with its known properties; ``drawn`` are the edges before any were reversed."""

    seed: int
    number: int
    shape: str
    kind: str
    directed: bool
    drawn: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any] | None]
    edges: Edges

    @cached_property
    def graph(self) -> Graph:
        """Graph built from the list of edges."""
        tails, heads, weights = self.drawn
        return Graph.from_edges(
            tails, heads, weights, n_vertices=self.edges.n, directed=self.directed
        )

    @cached_property
    def sources(self) -> NDArray[np.int64]:
        """Every vertex, or a few vertices of a large graph."""
        n = self.edges.n
        if n <= 400 and not (self.edges.huge and n > 60):
            return np.arange(n)
        return np.unique(np.random.default_rng([self.seed, self.number, 1]).integers(0, n, FEW))

    @cached_property
    def truth(self) -> Rows:
        """Exact distances from the sources."""
        return rows_of(self.edges, self.sources)

    @property
    def whole(self) -> bool:
        """Whether every vertex is a source."""
        return len(self.sources) == self.edges.n

    @property
    def title(self) -> str:
        """Short description of the case."""
        way = "directed" if self.directed else "undirected"
        n, m = self.edges.n, len(self.drawn[0])
        return f"{self.seed}:{self.number} {self.shape}, {n} vertices, {m} {way} edges, {self.kind}"


# ---- shapes: (random numbers, vertices) -> ends of edges ----------------------------------------


def _random(rng: np.random.Generator, n: int) -> Ends:
    m = int(n * rng.choice([0.5, 1, 2, 4, 8]))
    return rng.integers(0, n, m), rng.integers(0, n, m)


def _path(rng: np.random.Generator, n: int) -> Ends:
    return np.arange(n - 1), np.arange(1, n)


def _ring(rng: np.random.Generator, n: int) -> Ends:
    return np.arange(n), (np.arange(n) + 1) % n


def _star(rng: np.random.Generator, n: int) -> Ends:
    hub, rest = np.zeros(n - 1, dtype=np.int64), np.arange(1, n)
    return np.concatenate((hub, rest)), np.concatenate((rest, hub))


def _grid(rng: np.random.Generator, n: int) -> Ends:
    side = max(int(n**0.5), 1)
    at = np.arange(side * side).reshape(side, side)
    u = np.concatenate((at[:, :-1].ravel(), at[:-1].ravel()))
    v = np.concatenate((at[:, 1:].ravel(), at[1:].ravel()))
    keep = rng.random(len(u)) > 0.1
    return np.concatenate((u[keep], v[keep])), np.concatenate((v[keep], u[keep]))


def _tree(rng: np.random.Generator, n: int) -> Ends:
    child = np.arange(1, n)
    above = (rng.random(n - 1) * child).astype(np.int64)
    both = rng.random(n - 1) < 0.8
    return np.concatenate((above, child[both])), np.concatenate((child, above[both]))


def _hubs(rng: np.random.Generator, n: int) -> Ends:
    m = 6 * n
    return (n * rng.random(m) ** 3).astype(np.int64), (n * rng.random(m) ** 2).astype(np.int64)


def _complete(rng: np.random.Generator, n: int) -> Ends:
    k = min(n, 48)
    u, v = np.divmod(np.arange(k * k), k)
    return u, v


def _layers(rng: np.random.Generator, n: int) -> Ends:
    """Return forward edges of up to a dozen layers; quadratic weights improve vertices often."""
    u = np.repeat(np.arange(n), 6)
    v = u + rng.integers(1, 12, len(u))
    return u[v < n], v[v < n]


def _islands(rng: np.random.Generator, n: int) -> Ends:
    u, v = _random(rng, n)
    part = rng.integers(0, 4, n)
    keep = part[u] == part[v]
    return u[keep], v[keep]


def _lollipop(rng: np.random.Generator, n: int) -> Ends:
    k = max(1, min(n // 2, 30))
    u, v = np.divmod(np.arange(k * k), k)
    tail = np.arange(k - 1, n - 1)
    return np.concatenate((u, tail, tail + 1)), np.concatenate((v, tail + 1, tail))


def _dead_ends(rng: np.random.Generator, n: int) -> Ends:
    u, v = _random(rng, n)
    ends = rng.random(n) < 0.5
    keep = ~ends[u] | (rng.random(len(u)) < 0.1)
    return u[keep], v[keep]


def _parallel(rng: np.random.Generator, n: int) -> Ends:
    u, v = _random(rng, n)
    again = rng.integers(0, max(len(u), 1), 2 * len(u))
    loops = rng.integers(0, n, n // 4)
    return (
        np.concatenate((u, u[again] if len(u) else u, loops)),
        np.concatenate((v, v[again] if len(v) else v, loops)),
    )


def _nothing(rng: np.random.Generator, n: int) -> Ends:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


SHAPES: dict[str, Callable[[np.random.Generator, int], Ends]] = {
    "random": _random,
    "path": _path,
    "ring": _ring,
    "star": _star,
    "grid": _grid,
    "tree": _tree,
    "hubs": _hubs,
    "complete": _complete,
    "layers": _layers,
    "islands": _islands,
    "lollipop": _lollipop,
    "dead ends": _dead_ends,
    "parallel": _parallel,
    "nothing": _nothing,
}
_LONG = ("path", "ring", "lollipop")  # the oracle takes one round per vertex on these


# ---- weights ------------------------------------------------------------------------------------


def _whole(rng: np.random.Generator, m: int, ends: Ends, bits: int) -> NDArray[np.int64]:
    """Return integer weights from one of several distributions, with a maximum number of bits."""
    way = rng.integers(0, 9)
    if way == 0:
        return np.zeros(m, dtype=np.int64)
    if way == 1:
        return np.ones(m, dtype=np.int64)
    if way == 2:
        return rng.integers(0, 3, m)
    if way == 3:
        return (10 ** (min(6.0, bits * 0.28) * rng.random(m))).astype(np.int64)
    if way == 4:
        return (ends[1] - ends[0]).astype(np.int64) ** 2
    if way == 5:
        return rng.integers(1, 256, m) * (rng.random(m) < 0.7)
    if way == 6:  # sums that exceed 32 or 64 bits
        return (2**bits - 1 - rng.integers(0, 2 ** (bits // 2), m)) >> int(rng.integers(0, 8))
    if way == 7:
        return rng.integers(0, 2 ** (bits - int(rng.integers(8, bits - 2))), m)
    return rng.integers(1, 1001, m)


def _weights(
    rng: np.random.Generator, kind: str, ends: Ends, negative: bool
) -> NDArray[Any] | None:
    m = len(ends[0])
    if kind == "unweighted":
        return None
    dtype = np.dtype(kind)
    if negative:
        # An offset per vertex changes no cycle's sum; eighths add exactly.
        offset = rng.integers(-40, 41, int(max(ends[0].max(), ends[1].max())) + 1 if m else 0)
        base = rng.integers(0, 60, m)
        if rng.random() < 0.3 and m:
            base[rng.integers(0, m, 1 + m // 50)] -= rng.integers(1, 60)
        shifted = base + offset[ends[0]] - offset[ends[1]] if m else base
        return (shifted / 8 if dtype.kind == "f" else shifted).astype(dtype)
    if dtype.kind == "i":
        bits = 31 if kind == "int32" or rng.random() < 0.9 else 63
        return _whole(rng, m, ends, bits).astype(dtype)
    way = rng.integers(0, 6)
    if way == 0:
        return _whole(rng, m, ends, 31).astype(dtype)
    if way == 1:
        tiny = np.finfo(dtype).smallest_subnormal
        return (rng.integers(0, 9, m) * tiny).astype(dtype)
    if way == 2:
        return (10.0 ** rng.uniform(-12, 12, m)).astype(dtype)
    if way == 3:
        return np.where(rng.random(m) < 0.3, -0.0, rng.random(m)).astype(dtype)
    return (rng.random(m) * rng.choice([1e-3, 1.0, 1e6])).astype(dtype)


def make(seed: int, number: int) -> Case:
    """Return the case of this number.

    Most graphs have 20 to 200 vertices and all of them as sources; some are tiny, some have
    thousands and a few sources.
    """
    rng = np.random.default_rng([seed, number])
    shape = list(SHAPES)[int(rng.integers(0, len(SHAPES)))]
    size = rng.random()
    if size < 0.06:
        n = int(rng.integers(1, 9))
    elif size < 0.94 or shape in _LONG:
        n = int(rng.integers(20, 201))
    else:
        n = int(rng.integers(1000, 12_000))
    ends = SHAPES[shape](rng, n)
    kind = KINDS[int(rng.integers(0, len(KINDS)))]
    negative = kind != "unweighted" and n <= 200 and bool(rng.random() < 0.15)
    directed = negative or bool(rng.random() < 0.7)
    weights = _weights(rng, kind, ends, negative)
    tails, heads = (np.asarray(part, dtype=np.int64) for part in ends)
    order = rng.permutation(n)  # so that vertex numbers do not follow the shape
    if rng.random() < 0.7:
        tails, heads = order[tails], order[heads]
    values: NDArray[Any] = np.ones(len(tails), dtype=np.int64) if weights is None else weights
    if values.dtype.kind == "i":
        values = values.astype(np.int64)
    both = (tails, heads, values)
    if not directed:
        back = tails != heads
        both = (
            np.concatenate((tails, heads[back])),
            np.concatenate((heads, tails[back])),
            np.concatenate((values, values[back])),
        )
    dtype = np.dtype(np.int32) if weights is None else np.dtype(kind)
    return Case(
        seed, number, shape, kind, directed, (tails, heads, weights), Edges(n, *both, dtype)
    )
