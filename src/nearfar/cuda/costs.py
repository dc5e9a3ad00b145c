"""Time of a one-launch solve on an H200, shared by the costs of several families.

The formula is fitted to random, Kronecker, grid, Martin's and road graphs with a thousand to eleven
million vertices. Most solves are within a third of it; repeated solves of skewed graphs take as
little as a third of it. Like the formulas for a CPU core it need not be exact.
"""

from __future__ import annotations

import math

from nearfar.graph.facts import Facts


def chain(facts: Facts) -> float:
    """Estimate a lower bound on the number of dependent steps of a solve."""
    return max(facts.hops, math.log2(facts.n + 2))


def one_launch(facts: Facts) -> float:
    """Estimate a solve by near-far or breadth-first search, with the graph on the device.

    With many hops the time is that of a chain of steps, each limited by the latency of a few
    dependent reads.
    """
    return facts.m * 1.2e-11 + facts.n * 1.5e-10 + chain(facts) * 1.1e-6 + 5e-5
