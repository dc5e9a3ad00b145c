"""Distances in exact rational arithmetic, and the error bound of answers in fixed point."""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import Any

import numpy as np

from nearfar import Graph, Prepared

__all__ = ["assert_within_bound", "exact_rows"]


def exact_rows(graph: Graph) -> list[list[Fraction | None]]:
    """Return distances between all vertices for non-negative weights; None for no path."""
    weights = [Fraction(float(w)) for w in graph.effective_weights]
    starts, heads = graph.indptr.tolist(), graph.indices.tolist()
    rows = []
    for source in range(graph.n_vertices):
        row: list[Fraction | None] = [None] * graph.n_vertices
        queue: list[tuple[Fraction, int]] = [(Fraction(0), source)]
        while queue:
            distance, v = heapq.heappop(queue)
            if row[v] is not None:
                continue
            row[v] = distance
            for e in range(starts[v], starts[v + 1]):
                if row[heads[e]] is None:
                    heapq.heappush(queue, (distance + weights[e], heads[e]))
        rows.append(row)
    return rows


def assert_within_bound(prepared: Prepared, found: Any, exact: list[Fraction | None]) -> None:
    """Check the bound of :mod:`nearfar.prepared.metric.fixed_point`, and exact answers exactly."""
    fixed = prepared.fixed
    assert fixed is not None
    step = Fraction(2) ** fixed.exponent
    moved = 0 if fixed.exact else (prepared.n_vertices - 1) * step / 2
    assert found.shape == (len(exact),)
    for one, truth in zip(found, exact, strict=True):
        if truth is None:
            assert one == np.inf
            continue
        off = abs(Fraction(float(one)) - truth)
        assert off <= moved + Fraction(float(np.spacing(one))) / 2, (one, truth)
        if not fixed.exact and truth:
            assert off / truth <= Fraction(1, 2**24) + Fraction(float(np.finfo(one.dtype).eps))
