"""What a solve in one launch takes on an H100: the formula that several families' costs share.

Fitted to ``benchmarks/flagship.py``, ``near_far.py``, ``frontier_crauser.py`` and
``choose_quality_cuda.py``. Like the formulas for a core it need not be exact.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearfar.graph.facts import Facts

__all__ = ["chain", "one_launch"]


def chain(facts: Facts) -> float:
    """About how many dependent steps a solve has, at least."""
    return max(facts.hops, math.log2(facts.n + 2))


def one_launch(facts: Facts) -> float:
    """Seconds of the near set and far pile, or of levels, with the graph on the device.

    A long graph is a chain of steps, each bound by the latency of a few dependent reads.
    """
    return facts.m * 2.5e-11 + facts.n * 1e-10 + chain(facts) * 3e-6 + 1e-4
