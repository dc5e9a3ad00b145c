"""Time of one search on one core, shared by the costs of several families.

The formulas are fitted to ``benchmarks/cpu_variants.py`` and ``benchmarks/choose_quality.py``; see
docs/explanation/choosing.md. They need not be exact, but must rank the variants correctly, above
all the fastest one.
"""

from __future__ import annotations

import math

from nearfar.graph.facts import Facts

_MANY = 1 << 12  # edges of graphs in which a sample of the weights takes little time


def bucket_search(facts: Facts) -> float:
    """Estimate one search with the buckets of delta-stepping, for non-negative weights."""
    # Beyond the second-level cache a vertex costs further misses, half of which are hidden.
    vertex = 25e-9 + 15e-9 * min(1.0, facts.n / 2**20)
    return (facts.n * vertex + facts.m * 2e-9) * _decades(facts)


def _decades(facts: Facts) -> float:
    """Return a factor for floats over so many decades that no width of buckets suits them."""
    spread = facts.weight_spread if facts.dtype.kind == "f" and facts.m >= _MANY else 1.0
    return 1.0 + max(math.log10(spread) - 6.0, 0.0) / 7.0 if 0.0 < spread < math.inf else 1.0


def heap_search(facts: Facts) -> float:
    """Estimate one search with a lazy 4-ary heap, for non-negative weights."""
    # Where few vertices wait, most of what a search reads is in the caches.
    vertex, queue = (25e-9, facts.n) if facts.waiting is None else (10e-9, facts.waiting)
    return facts.n * (vertex + 9e-9 * math.log2(queue + 2)) + facts.m * 4e-9
