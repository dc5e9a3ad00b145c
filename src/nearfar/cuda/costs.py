"""Formula for the time of a one-launch solve on an H200, shared by several families' costs.

It is fitted to random, Kronecker, grid, Martin's and road graphs of a thousand to eleven million
vertices. Most solves are within a third of it; repeated solves of skewed graphs take down to a
third. Like the formulas for a core it need not be exact.
"""

from __future__ import annotations

import math

from nearfar.graph.facts import Facts


def chain(facts: Facts) -> float:
    """Estimate a lower bound of the dependent steps of a solve."""
    return max(facts.hops, math.log2(facts.n + 2))


def one_launch(facts: Facts) -> float:
    """Estimate a solve by near set and far pile, or by levels, with the graph on the device.

    A long graph is a chain of steps, each bound by the latency of a few dependent reads.
    """
    return facts.m * 1.2e-11 + facts.n * 1.5e-10 + chain(facts) * 1.1e-6 + 5e-5
