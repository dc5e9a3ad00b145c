"""The paper's bound and reports of public implementations, compared with measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nearfar.lab.experiments.claims import Claim, Stated, ahead, claim, spread
from nearfar.lab.experiments.experiment import Done
from nearfar.papers.duan_2025.tables import BMSSP, METHODS, ratio_of, seconds


def claims_of(done: Sequence[Done]) -> list[Claim]:
    """Return the statements with their outcomes on the measured graphs."""
    ratios = [ratio_of(one, BMSSP) for one in done]
    known = [ratio for ratio in ratios if ratio is not None]
    work = [_work(one) for one in done]
    return [
        claim(
            "bound",
            "Theorem 1.1",
            "O(m log^(2/3) n) comparisons and additions",
            f"relaxations are {spread(work)} of m log2(n)^(2/3)",
            [value is not None and value <= 2 for value in work],
        ),
        ahead(
            "practice",
            "public implementations",
            "3 to 4 times slower than their own Dijkstra at 2^25 vertices",
            known,
            Stated(3, 4),
        ),
    ]


def beside_others(done: Sequence[Done]) -> tuple[list[float], int, int]:
    """Return times over Dijkstra's, and the number of graphs on which BMSSP is fastest."""
    known = [ratio for one in done if (ratio := ratio_of(one, BMSSP)) is not None]
    some = [one for one in done if seconds(one, BMSSP) is not None]
    first = [
        seconds(one, BMSSP) == min(s for label in METHODS if (s := seconds(one, label)) is not None)
        for one in some
    ]
    return known, sum(first), len(first)


def _work(one: Done) -> float | None:
    """Return BMSSP's relaxations over m log2(n)^(2/3)."""
    case = one.result["cases"].get(BMSSP)
    if case is None:
        return None
    n, m = int(one.result["n"]), int(one.result["m"])
    relaxations = float(case["counters"]["edges_relaxed"])
    return relaxations / float(max(m, 1) * math.log2(max(n, 2)) ** (2 / 3))
