"""Alternate contenders and summarise their samples in a row."""

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
    """Return seconds of every round; answers are compared outside the timed part.

    The first round warms up and does not count unless it is the only one. A contender stops after a
    round of more than ``patience`` seconds, or after three times that in total.
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
                raise SystemExit(f"{name} gave a different answer")
    return {name: times[1:] or times for name, times in samples.items()}


def line(what: str, base: str, samples: dict[str, list[float]], **more: Any) -> dict[str, Any]:
    """Return one result: medians, least times, ratios to the base, samples."""
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
