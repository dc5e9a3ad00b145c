"""Statements of section 6 of the paper on Johnson's all pairs, compared with measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.lab.experiments.claims import Claim, ahead, claim, spread
from nearfar.lab.experiments.experiment import Done

#: Number of edges below which the paper sees no significant advantage.
FEW_EDGES = 150_000
_SIGNIFICANT = 1.1
_SEQUENTIAL, _FORMS = "sequential", ("flag", "queue", "prefix")


def over(result: dict[str, Any], label: str, base: str = _SEQUENTIAL) -> float:
    """Return the speed-up of a form over another for all pairs."""
    cases = result["cases"]
    return float(cases[base]["all_pairs_seconds"] / cases[label]["all_pairs_seconds"])


def iterations_of(result: dict[str, Any], form: str) -> float:
    """Return the mean number of iterations per source."""
    found = result["cases"][form]
    return float(found["counters"]["iterations"] / found["sources"])


def iteration_seconds(result: dict[str, Any], form: str) -> float:
    """Return the seconds of one iteration of a form."""
    return float(result["cases"][form]["seconds_per_source"]) / iterations_of(result, form)


def claims_of(done: Sequence[Done]) -> list[Claim]:
    """Return all claims, on the graphs that have the paper's three forms."""
    some = [one.result for one in done if set(_FORMS) <= set(one.result["cases"])]
    some.sort(key=lambda r: r["m"])
    few = [over(r, "queue") for r in some if r["m"] < FEW_EDGES]
    many = [over(r, "queue") for r in some if r["m"] >= FEW_EDGES]
    every = few + many
    flag = [over(r, "queue", "flag") for r in some]
    prefix = [over(r, "prefix", "queue") for r in some]
    slowest = [over(r, "prefix") < min(over(r, "flag"), over(r, "queue")) for r in some]
    apart = [abs(value - 1) for value in flag]
    half = len(apart) // 2
    closer = [max(apart[half:]) < max(apart[:half])] if half else []
    return [
        claim(
            "few edges",
            "6, Figure 3",
            "no significant advantage of the GPU until about 150,000 edges",
            f"queue {spread(few)} times the sequential method's speed below it",
            [value < _SIGNIFICANT for value in few],
        ),
        ahead(
            "many edges",
            "6, Figure 3",
            "the GPU has the lower execution time on larger graphs",
            many,
            here="queue {} times the sequential method's speed",
        ),
        ahead(
            "best",
            "6, Figure 4",
            "the queue form speeds Johnson's algorithm up by more than 4.5 times",
            every,
            4.5,
            "queue {} times",
        ),
        ahead(
            "queue over flag",
            "6, Figure 4",
            "queue has a higher speed-up than flag on all graphs",
            flag,
            here="queue {} times flag's speed",
        ),
        claim(
            "prefix",
            "6, Figure 4",
            "prefix, expected to be faster, has less speed-up than both others",
            f"prefix {spread(prefix)} times queue's speed",
            slowest,
        ),
        claim(
            "closer",
            "7",
            "the difference between queue and flag gets smaller as the graphs grow",
            f"by at most {spread([100 * max(apart[:half])]) if half else '-'}% on the smaller half "
            f"of the graphs, {spread([100 * max(apart[half:])]) if half else '-'}% on the larger",
            closer,
        ),
    ]
