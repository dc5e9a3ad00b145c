"""Contenders that take turns, and the row that their samples make."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from nearfar.lab.bench.report import milliseconds

__all__ = ["line", "take_turns"]


def take_turns(
    contenders: dict[str, Callable[[], Any]],
    rounds: int,
    same: Callable[[Any, Any], bool],
    patience: float = float("inf"),
) -> dict[str, list[float]]:
    """Seconds of every round; answers are compared outside the timed part.

    The first round warms up. A contender that takes longer than ``patience`` seconds has no more
    than one round, and its first counts; one that has taken three times as long in all has no
    further one.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    first: Any = None
    for turn in range(rounds + 1):
        for name, run in contenders.items():
            spent = samples[name]
            if spent and (max(spent) > patience or sum(spent) > 3 * patience):
                continue
            began = time.perf_counter()
            answer = run()
            spent.append(time.perf_counter() - began)
            if turn:
                continue
            first = answer if first is None else first
            if not same(first, answer):
                raise SystemExit(f"{name} gave another answer")
    return {name: times[1:] or times for name, times in samples.items()}


def line(what: str, base: str, samples: dict[str, list[float]], **more: Any) -> dict[str, Any]:
    """One result: medians, least times, how many times the base each takes, samples."""
    medians = {name: statistics.median(times) for name, times in samples.items()}
    ratios = {name: value / medians[base] for name, value in medians.items() if name != base}
    text = ", ".join(
        f"{name} {milliseconds(value)} ms" + (f" ({ratios[name]:.2f})" if name in ratios else "")
        for name, value in medians.items()
    )
    print(f"{what}: {text}", flush=True)
    least = {name: min(times) for name, times in samples.items()}
    return {
        "what": what,
        **more,
        "median_seconds": medians,
        "least_seconds": least,
        "times_of_base": ratios,
        "base": base,
        "samples": samples,
    }
