"""What one search takes on a core: the formulas that the costs of several families share.

Fitted to ``benchmarks/cpu_variants.py`` and ``benchmarks/choose_quality.py``;
docs/explanation/choosing.md has the story. They need not be exact: they only have to put the
variants in the right order, and the fastest first above all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearfar.graph.facts import Facts

__all__ = ["bucket_search", "heap_search"]


def bucket_search(facts: Facts) -> float:
    """Seconds of one search over the buckets of delta-stepping; non-negative weights."""
    # Beyond the second-level cache a vertex costs a few more misses, half of which are hidden.
    vertex = 25e-9 + 15e-9 * min(1.0, facts.n / 2**20)
    return facts.n * vertex + facts.m * 2.6e-9


def heap_search(facts: Facts) -> float:
    """Seconds of one search over a lazy heap of four children per place; non-negative weights."""
    n = facts.n
    return n * (25e-9 + 9e-9 * math.log2(n + 2)) + facts.m * 4e-9
