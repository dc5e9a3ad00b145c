"""Statements of Martin et al. (2009), sections 4.3 and 6, compared with measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.lab.experiments.claims import Claim, claim, spread
from nearfar.lab.experiments.experiment import Done
from nearfar.lab.experiments.render import cell

#: Relative difference of times below which two curves overlap.
OVERLAP = 0.1
_WHOLLY = ("U-GPU", "U-GPU+2min", "F-GPU")
_HYBRIDS = ("U-H1", "U-H2", "U-H3")


class Runs:
    """Ratios of methods per graph; a method may be missing on any graph."""

    def __init__(self, done: Sequence[Done]) -> None:
        self.done = done

    def of(self, kind: str, *labels: str) -> list[dict[str, Any]]:
        """Return results of the graphs of a kind (``list``, ``matrix``) that have all methods."""
        found = [d.result for d in self.done if d.what["kind"] == kind]
        return [r for r in found if all(label in r["cases"] for label in labels)]

    def ratios(self, kind: str, slow: str, fast: str) -> list[float]:
        """Return the speed-up of ``fast`` over ``slow``, per graph."""
        return [_seconds(r, slow) / _seconds(r, fast) for r in self.of(kind, slow, fast)]

    def counts(self, kind: str, counter: str, *labels: str) -> list[list[float]]:
        """Return a counter of each method, on every graph that has all of them."""
        found = []
        for result in self.of(kind, *labels):
            counters = [result["cases"][label]["counters"] for label in labels]
            if all(counter in one for one in counters):
                found.append([float(one[counter]) for one in counters])
        return found

    def over(self, kind: str, counter: str, top: str, bottom: str) -> list[float]:
        """Return a counter of one method over that of another, per graph."""
        return [a / b for a, b in self.counts(kind, counter, top, bottom) if b]

    def largest(self, kind: str, slow: str, fast: str) -> str:
        """Return as text the ratio on the largest graphs with both methods, and the full range."""
        some = self.of(kind, slow, fast)
        if not some:
            return "-"
        top = max(r["n"] for r in some)
        there = [_seconds(r, slow) / _seconds(r, fast) for r in some if r["n"] == top]
        every = self.ratios(kind, slow, fast)
        return f"{cell(_mean(there))} at {top:,} vertices, {spread(every)} over {_graphs(every)}"


def _seconds(result: dict[str, Any], label: str) -> float:
    return float(result["cases"][label]["median_seconds"])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _graphs(found: Sequence[Any]) -> str:
    return f"{len(found)} graph" + ("s" if len(found) != 1 else "")


def claims_of(done: Sequence[Done]) -> list[Claim]:
    """Return all claims, including those on methods that were not measured."""
    runs = Runs(done)
    return [*_lists(runs), *_matrices(runs), *_race(done)]


def _faster(
    runs: Runs,
    key: str,
    said: str,
    kind: str,
    slow: str,
    fast: str,
    here: str | None = None,
    factor: float | None = None,
) -> Claim:
    """Return a claim that one method is faster than another on graphs of a kind."""
    ratios = runs.ratios(kind, slow, fast)
    told = f"{spread(ratios)} times faster" if here is None else here
    return claim(key, "6", said, told, [ratio > 1 for ratio in ratios], factor, ratios)


def _overlap(runs: Runs, key: str, said: str, one: str, other: str) -> Claim:
    ratios = runs.ratios("list", one, other)
    told = f"{spread(ratios)} of its speed"
    return claim(key, "6", said, told, [abs(ratio - 1) < OVERLAP for ratio in ratios])


def _lists(runs: Runs) -> list[Claim]:
    return [
        *_beside_fh(runs),
        _plus(runs),
        _iterations(runs),
        _hybrids(runs),
        _overlap(runs, "2min", "U-GPU and U-GPU+2min overlap", "U-GPU", "U-GPU+2min"),
        _faster(
            runs, "F over U", "F-GPU is quite faster than U-GPU on lists", "list", "U-GPU", "F-GPU"
        ),
        _faster(
            runs,
            "F over U, host",
            "processing the frontier is faster on the CPU too: F-CPU against U-CPU",
            "list",
            "U-CPU",
            "F-CPU",
        ),
        _overlap(
            runs,
            "atomics, lists",
            "F-GPU without atomics behaves as F-GPU on lists",
            "F-GPU",
            "F-GPU-no-atomic",
        ),
        _host_forms(runs),
    ]


def _beside_fh(runs: Runs) -> list[Claim]:
    said = {
        "F-GPU": ("F-GPU on lists reaches a factor around 60X w.r.t. FH", 60),
        "U-GPU-PLUS": ("U-GPU-PLUS obtains a factor near 10X w.r.t. FH", 10),
    }
    return [
        _faster(runs, form, text, "list", "FH", form, runs.largest("list", "FH", form), factor)
        for form, (text, factor) in said.items()
    ]


def _plus(runs: Runs) -> Claim:
    return _faster(
        runs,
        "plus",
        "U-GPU-PLUS is slightly faster than U-GPU",
        "list",
        "U-GPU",
        "U-GPU-PLUS",
        f"{spread(runs.ratios('list', 'U-GPU', 'U-GPU-PLUS'))} of U-GPU's speed",
    )


def _iterations(runs: Runs) -> Claim:
    held = runs.of("list", "F-GPU")
    top = max((r["n"] for r in held), default=0)
    steps = [
        r["cases"]["F-GPU"]["counters"]["iterations"]
        for r in held
        if r["n"] == top and "iterations" in r["cases"]["F-GPU"]["counters"]
    ]
    return claim(
        "iterations",
        "6",
        "around 45 iterations are enough to solve the largest lists",
        f"{spread(steps)} at {top:,} vertices",
        [s <= 45 * (1 + OVERLAP) for s in steps],
    )


def _hybrids(runs: Runs) -> Claim:
    wholly = [
        (max(_seconds(r, x) for x in _WHOLLY), min(_seconds(r, x) for x in _HYBRIDS))
        for r in runs.of("list", *_WHOLLY, *_HYBRIDS)
    ]
    each = [f"{spread(runs.ratios('list', x, 'U-GPU'))} ({x})" for x in _HYBRIDS]
    return claim(
        "hybrids",
        "6",
        "wholly on the GPU is more efficient than U-H1, U-H2, U-H3",
        f"U-GPU is {', '.join(each)} times faster",
        [gpu < hybrid for gpu, hybrid in wholly],
    )


def _host_forms(runs: Runs) -> Claim:
    host = [spread(runs.ratios("list", "FH", x)) for x in ("F-CPU", "U-CPU")]
    return claim(
        "CPU",
        "6",
        "some CPU forms too run faster than FH on lists",
        f"F-CPU {host[0]} times FH's speed, U-CPU {host[1]}",
        [_seconds(r, "F-CPU") < _seconds(r, "FH") for r in runs.of("list", "FH", "F-CPU")],
    )


def _matrices(runs: Runs) -> list[Claim]:
    some = runs.of("matrix", "FH", "U-GPU", "F-GPU")
    first = [
        all(_seconds(r, "U-GPU") <= case["median_seconds"] for case in r["cases"].values())
        for r in some
    ]
    beside = runs.ratios("matrix", "U-GPU", "F-GPU")
    host = [spread(runs.ratios("matrix", "FH", x)) for x in ("F-CPU", "U-CPU")]
    loops = [
        min(_seconds(r, "F-CPU"), _seconds(r, "U-CPU")) < _seconds(r, "FH")
        for r in runs.of("matrix", "FH", "F-CPU", "U-CPU")
    ]
    heap = runs.ratios("matrix", "FH", "U-GPU")
    return [
        claim(
            "matrices, first",
            "6",
            "U-GPU is the fastest on matrices",
            f"F-GPU is {spread(beside)} times as fast as U-GPU, which is {spread(heap)} times as "
            "fast as FH",
            first,
        ),
        _faster(
            runs,
            "matrices",
            "U-GPU on matrices achieves a factor of 32X w.r.t. FH",
            "matrix",
            "FH",
            "U-GPU",
            runs.largest("matrix", "FH", "U-GPU"),
            32,
        ),
        claim(
            "CPU, matrices",
            "6",
            "some CPU forms run faster than FH, on matrices too",
            f"F-CPU {host[0]} times FH's speed, U-CPU {host[1]}",
            loops,
        ),
        _faster(
            runs,
            "F under U, host",
            "solutions by relax_F are slower on matrices than those by relax_U: F-CPU and U-CPU",
            "matrix",
            "F-CPU",
            "U-CPU",
            f"U-CPU runs at {spread(runs.ratios('matrix', 'F-CPU', 'U-CPU'))} of F-CPU's speed",
        ),
        _faster(
            runs,
            "atomics, matrices",
            "F-GPU without atomics is usually faster than F-GPU on matrices",
            "matrix",
            "F-GPU",
            "F-GPU-no-atomic",
            f"{spread(runs.ratios('matrix', 'F-GPU', 'F-GPU-no-atomic'))} of its speed",
        ),
    ]


def _race(done: Sequence[Done]) -> list[Claim]:
    races = [race for d in done if d.what["kind"] == "race" for race in d.result["races"]]

    def wrong(label: str) -> list[float]:
        shown = [(race["cases"][label], race["runs"]) for race in races if label in race["cases"]]
        return [100.0 * case["wrong_runs"] / runs for case, runs in shown]

    harish = wrong("two cost arrays [10]")
    safe = [*wrong("F-GPU"), *wrong("U-GPU")]
    return [
        claim(
            "race",
            "4.3",
            "with two cost arrays [10] the sink ends with a value that changes from run to run",
            f"wrong in {spread(harish)}% of the runs on the graph with and without directions",
            [share > 0 for share in harish],
        ),
        claim(
            "race, safe",
            "4.3",
            "atomics, or looking at predecessors, solve the bug",
            f"F-GPU and U-GPU wrong in {spread(safe)}% of the runs",
            [share == 0 for share in safe],
        ),
    ]
