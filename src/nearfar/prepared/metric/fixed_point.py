"""Floats as integers: weights in steps of a power of two, whose sums are exact in any order.

A float weight ``w`` becomes the integer ``round(w / s)`` for a step ``s = 2**e`` that is chosen for
the whole graph. Sums of integers are exact, so walks, sweeps, labels and devices that add in
different orders find the same distance, which is converted to a float once, at the end.

Error
-----
Let ``D`` be the distance between two vertices in exact arithmetic of the given weights, ``k`` the
largest number of edges of a shortest path under either weights, and ``F`` the result in steps. Each
weight is moved by at most half a step, so the length of any path of ``k`` edges is moved by at most
``k s / 2``. The shortest path of the given weights has in steps at most the length ``D + k s / 2``,
and the path that is found has under the given weights at least the length ``D``, so ``|F s - D| <=
k s / 2``. Converting ``F`` rounds once more, by at most half a unit in the last place; a step is a
power of two, so that multiplying by it does not round.

The size of a step: with ``B`` an upper bound of every distance, ``s <= 2**-61 B``. A path of 2,000
edges is thus found within ``2**-51 B``; adding them in float64 one after the other may itself err
by ``2,000 * 2**-53`` of its length. Besides, a weight that is not 0 has at least 24 significant
bits in steps, as float32 has, so that no distance is off by more than a relative ``2**-24``,
however short it is: ``|w - round(w / s) s| <= s / 2 <= 2**-24 w`` for every edge, and both sides
may be added along a path.

If all weights are multiples of one power of two and their sums fit (integers stored as floats,
halves, most float32 weights), nothing is rounded. A sum below ``2**53`` steps is then also the one
that a search makes in float64, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import _cpu
from nearfar.errors import does_not_fit
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.prepared.order.tree import Preparation

_BITS = 62  # bits of the bound in steps, with one bit to spare
_SIGNED_BITS = 60  # with negative weights half of the range means "no path"
_LEAST_BITS = 24  # minimum number of significant bits of a rounded weight
_TRIES = 4  # maximum number of roots that are tried for the spanning trees


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """Float weights in steps of a power of two."""

    graph: Graph  # edges with weights in steps: int32 if every distance fits, else int64
    exponent: int  # exponent of the step `2.0**exponent`
    exact: bool  # whether every weight is an integer number of steps
    bound: float  # upper bound of all distances in steps

    @property
    def step(self) -> float:
        """Value of one step."""
        return math.ldexp(1.0, self.exponent)

    def floats(self, steps: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the distances in steps as floats, rounded once; unreached becomes infinity."""
        with np.errstate(over="ignore", under="ignore"):
            found = (steps.astype(dtype).astype(np.float64) * self.step).astype(dtype)
        found[steps == unreached_value(steps.dtype)] = np.inf
        return found

    def stands_for(self, graph: Graph) -> bool:
        """Return whether these steps represent the weights of a graph."""
        mine, weights = self.graph, graph.effective_weights
        if graph.weight_dtype.kind != "f" or len(mine.effective_weights) != len(weights):
            return False
        if not (-1074 <= self.exponent <= 1023 and self.bound >= 0):
            return False
        if self.bound > _most(mine.weight_dtype, mine.n_negative > 0):
            return False
        scaled = _divided(weights.astype(np.float64), self.exponent)
        steps = np.rint(scaled)
        if not np.array_equal(_as_integers(steps, mine.weight_dtype), mine.effective_weights):
            return False
        return bool((steps == scaled).all()) if self.exact else _has_bits(scaled)

    def distances(self, steps: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the distances in steps as floats, of 64 bits where one does not fit 32."""
        reached = steps != unreached_value(steps.dtype)
        for one in (dtype, np.dtype(np.float64)):
            found = self.floats(steps, one)
            if np.isfinite(found[reached]).all():
                return found
        raise does_not_fit("float64")

    def steps_within(self, limit: float, dtype: np.dtype[Any]) -> int:
        """Return the greatest number of steps whose float is at most a limit, or -1."""
        if limit < 0:
            return -1
        low, high = -1, int(self.bound) + 1
        while low < high:  # floats increase with the steps
            middle = (low + high + 1) // 2
            if self.floats(np.array([middle], dtype=np.int64), dtype)[0] <= limit:
                low = middle
            else:
                high = middle - 1
        return low

    def with_changes(self, graph: Graph, edges: NDArray[np.int64]) -> FixedPoint | None:
        """Return the graph with changed weights in the same steps; None if they do not fit."""
        new = graph.effective_weights[edges].astype(np.float64)
        before = self.graph.effective_weights[edges].astype(np.float64)
        scaled = _divided(new, self.exponent)
        steps = np.rint(scaled)
        bound = self.bound + float(np.maximum(steps - before, 0).sum())
        most = _most(self.graph.weight_dtype, bool(self.graph.n_negative))
        if bound > most or graph.n_negative != self.graph.n_negative:
            return None
        same = bool((steps == scaled).all())
        if not same and (self.exact or not _has_bits(scaled)):
            return None
        weights = self.graph.effective_weights.copy()
        weights[edges] = _as_integers(steps, weights.dtype)
        return FixedPoint(_with_steps(graph, weights), self.exponent, self.exact, bound)


def fixed_point(graph: Graph, preparation: Preparation | None = None) -> FixedPoint | None:
    """Convert float weights to steps, or return None if their range does not allow it."""
    weights = graph.effective_weights.astype(np.float64)
    heaviest = float(np.abs(weights).max(initial=0.0))
    if heaviest == 0:
        zeros = _in_steps(graph, weights, 0, np.dtype(np.int32))
        return FixedPoint(zeros, 0, True, 0.0)
    top = math.frexp(heaviest)[1]
    scaled = np.abs(_divided(weights, top))  # below 1
    signed = graph.n_negative > 0
    bound = min(math.ldexp(heaviest, -top) * (graph.n_vertices - 1), 1.001 * float(scaled.sum()))
    lowest = _lowest_bit(weights)
    if (
        preparation is not None
        and not signed
        and _times(bound, top - lowest) > _most(np.dtype(np.int32), signed)
    ):
        bound = min(bound, _spanned(graph, preparation, scaled))
    steps = _times(bound, top - lowest)
    for dtype in (np.dtype(np.int32), np.dtype(np.int64)):
        if steps <= _most(dtype, signed):
            return FixedPoint(_in_steps(graph, weights, lowest, dtype), lowest, True, steps)
    if signed:
        return None
    exponent = top + math.frexp(bound)[1] - _BITS
    if not _has_bits(_divided(weights, exponent)):
        return None
    steps = math.ldexp(bound, top - exponent)
    rounded = _in_steps(graph, weights, exponent, np.dtype(np.int64))
    return FixedPoint(rounded, exponent, False, steps)


def _times(bound: float, exponent: int) -> float:
    """Return a bound times a power of two, infinite beyond the range."""
    try:
        return math.ldexp(bound, exponent)
    except OverflowError:
        return math.inf


def _most(dtype: np.dtype[Any], signed: bool) -> float:
    """Return the greatest bound, in steps, that integers of a dtype can represent."""
    if signed:
        return 2.0**_SIGNED_BITS if dtype.itemsize == 8 else -1.0
    return 2.0 ** (_BITS if dtype.itemsize == 8 else 30)


def _in_steps(
    graph: Graph, weights: NDArray[np.float64], exponent: int, dtype: np.dtype[Any]
) -> Graph:
    steps = np.rint(_divided(weights, exponent))
    return _with_steps(graph, _as_integers(steps, dtype))


def _as_integers(steps: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return steps as integers; edges beyond every bound, on no shortest path, stay beyond it."""
    beyond = 1.5 * 2.0 ** (8 * dtype.itemsize - 2)
    return np.clip(steps, -beyond, beyond).astype(dtype)


def _with_steps(graph: Graph, steps: NDArray[Any]) -> Graph:
    """Return the edges of a graph, without names, with other weights."""
    return Graph.from_csr(graph.indptr, graph.indices, steps, copy=False)


def _divided(weights: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Divide weights by a power of two in two steps, since its reciprocal may not be a float."""
    half = -exponent // 2
    with np.errstate(over="ignore"):  # edges beyond every bound overflow
        found = (weights * math.ldexp(1.0, half)) * math.ldexp(1.0, -exponent - half)
    if np.count_nonzero(found) < np.count_nonzero(weights):  # too small for a float, and not 0
        lost = (found == 0) & (weights != 0)
        found[lost] = np.copysign(np.finfo(np.float64).tiny, weights[lost])
    return found


def _has_bits(steps: NDArray[np.float64]) -> bool:
    """Return whether every weight that is not 0 has enough significant bits in steps."""
    least = float(np.min(steps, initial=np.inf, where=steps > 0))
    return least >= 2.0 ** (_LEAST_BITS - 1)


def _lowest_bit(weights: NDArray[np.float64]) -> int:
    """Return the exponent of the greatest power of two that divides all weights."""
    fractions, exponents = np.frexp(weights[weights != 0])
    whole = np.abs(np.ldexp(fractions, 53).astype(np.int64))
    _, lowest = np.frexp((whole & -whole).astype(np.float64))
    return int((exponents + lowest).min()) - 54


def _spanned(graph: Graph, preparation: Preparation, scaled: NDArray[np.float64]) -> float:
    """Return a bound of all distances by trees into and out of a vertex of each component.

    Between vertices that the root reaches and that reach it, a distance is at most the depths of
    both trees together. A shortest path enters and leaves these vertices once; its other edges have
    an end that is none of them, and occur once.
    """
    if not preparation.spanning:
        preparation.spanning.append(_trees(graph, preparation))
    out, into, beyond = preparation.spanning[0]
    n = graph.n_vertices
    depths = sum(_cpu.greatest_depth(a, b, c, n, scaled) for a, b, c in (out, into))
    return 1.001 * (depths + float(scaled[beyond].sum()))


def _trees(graph: Graph, preparation: Preparation) -> tuple[Any, Any, NDArray[np.int64]]:
    """Return trees out of and into a vertex per component, and the edges not bounded by them."""
    tree = preparation.tree
    roots = tree.vertex[tree.parent < 0].astype(np.int64)
    best: tuple[Any, Any, NDArray[np.bool_]] | None = None
    for i in range(_TRIES):  # a vertex at the top of the tree may have no way out
        out, into = _cpu.spanning_trees(graph.view, roots)
        core = np.zeros(graph.n_vertices, dtype=np.bool_)
        core[out[0]] = True
        reaches = np.zeros(graph.n_vertices, dtype=np.bool_)
        reaches[into[0]] = True
        core &= reaches
        if best is None or core.sum() > best[2].sum():
            best = out, into, core
        if 2 * best[2].sum() > graph.n_vertices or len(roots) > 1:
            break
        roots = np.array([tree.vertex[(i + 1) * graph.n_vertices // (_TRIES + 1)]], dtype=np.int64)
    assert best is not None
    inside = best[2]
    beyond = np.flatnonzero(~(inside[graph.tails()] & inside[graph.indices]))
    return best[0], best[1], beyond
