"""Fewer combinations than a full product where dimensions hardly interact.

Running a kernel with every weight dtype, on every graph and with every option costs their product;
what one of the three breaks is seen with any value of the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

__all__ = ["each_value", "pairwise"]


def each_value(*dimensions: Sequence[Any]) -> list[tuple[Any, ...]]:
    """As many combinations as the longest dimension has values: each value of each occurs."""
    longest = max(map(len, dimensions))
    return list(zip(*([d[i % len(d)] for i in range(longest)] for d in dimensions), strict=True))


def pairwise(*dimensions: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which each two values of any two dimensions meet, chosen greedily."""
    axes = range(len(dimensions))
    places = [range(len(values)) for values in dimensions]

    def pairs(row: tuple[int, ...]) -> set[tuple[int, int, int, int]]:
        return {(a, b, row[a], row[b]) for a, b in itertools.combinations(axes, 2)}

    rows = list(itertools.product(*places))
    open_pairs = set().union(*map(pairs, rows))
    chosen = []
    while open_pairs:
        row = max(rows, key=lambda row: len(pairs(row) & open_pairs))
        open_pairs -= pairs(row)
        chosen.append(tuple(dimensions[a][row[a]] for a in axes))
    return chosen
