"""The paper's bound, and what public implementations report, beside what is measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nearfar.lab.experiments.claims import Claim, claim, spread
from nearfar.papers.duan_2025.tables import BASE, BMSSP, METHODS, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nearfar.lab.experiments.experiment import Done

__all__ = ["claims_of"]


def claims_of(done: Sequence[Done]) -> list[Claim]:
    """Return the statements with their outcomes on the measured graphs."""
    ratios = [_over(one, BMSSP, BASE) for one in done]
    known = [ratio for ratio in ratios if ratio is not None]
    work = [_work(one) for one in done]
    fastest = [
        seconds(one, BMSSP) == min(s for label in METHODS if (s := seconds(one, label)) is not None)
        for one in done
        if seconds(one, BMSSP) is not None
    ]
    return [
        claim(
            "bound",
            "Theorem 1.1",
            "O(m log^(2/3) n) comparisons and additions",
            f"relaxations are {spread(work)} of m log2(n)^(2/3)",
            [value is not None and value <= 2 for value in work],
        ),
        claim(
            "faster",
            "1",
            "Dijkstra's method is not optimal: the sorting barrier is broken",
            f"BMSSP takes {spread(known)} times as long as Dijkstra's method over a binary heap",
            [ratio < 1 for ratio in known],
        ),
        claim(
            "practice",
            "public implementations",
            "3 to 4 times slower than their own Dijkstra at 2^25 vertices",
            f"{spread(known)} times",
            [ratio > 3 for ratio in known],
        ),
        claim(
            "fastest",
            "-",
            "the fastest of the methods here",
            f"on {sum(fastest)} of {len(fastest)} graphs",
            fastest,
        ),
    ]


def _over(one: Done, top: str, base: str) -> float | None:
    above, below = seconds(one, top), seconds(one, base)
    return None if above is None or not below else above / below


def _work(one: Done) -> float | None:
    """Return BMSSP's relaxations over m log2(n)^(2/3)."""
    case = one.result["cases"].get(BMSSP)
    if case is None:
        return None
    n, m = int(one.result["n"]), int(one.result["m"])
    relaxations = float(case["counters"]["edges_relaxed"])
    return relaxations / float(max(m, 1) * math.log2(max(n, 2)) ** (2 / 3))
