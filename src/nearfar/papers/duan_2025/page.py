"""Page of Duan et al. (2025), from benchmarks/results/duan-2025-cpu.json."""

from __future__ import annotations

from nearfar.lab.checkout import NOTICE
from nearfar.lab.experiments.claims import beside, spread, verdicts
from nearfar.lab.experiments.kept import Kept
from nearfar.papers.duan_2025.claims import beside_others, claims_of
from nearfar.papers.duan_2025.graphs import FAMILIES

_SMALLER = (
    "the ratio decreases with the size of the graph. Superseded keys are dropped when popped "
    "instead of deleted, keys are single integers, and a level that returns one vertex at a time "
    "is a heap"
)
_WHY = {"bound": "the constants hide small graphs", "practice": _SMALLER}


def page() -> str:
    """Return the page."""
    cpu = Kept("duan-2025", "cpu")
    lines = [
        "# Duan et al. (2025): breaking the sorting barrier",
        "",
        NOTICE,
        "",
        "Duan, Mao, Mao, Shu and Yin (2025) give the first deterministic algorithm for directed",
        "single-source shortest paths that is faster than sorting the vertices by distance:",
        "O(m log^(2/3) n) comparisons and additions. `bmssp@cpu` implements it",
        "(`src/nearfar/papers/duan_2025`).",
        "",
    ]
    if not cpu.there:
        return "\n".join([*lines, cpu.how(), ""])
    lines += verdicts([(cpu.place(), claims_of(cpu.done))])
    lines += [*beside(claims_of(cpu.done), _WHY), ""]
    times, won, of = beside_others(cpu.done)
    lines += [
        f"The paper measures no times. `bmssp@cpu` takes {spread(times)} times as long as",
        f"Dijkstra's algorithm with a binary heap and is the fastest on {won} of {of} graphs. The",
        "binary logarithm of n is at most 24 on these graphs and its cube root about 3, so",
        "finding pivots and moving vertices between levels takes more time than the",
        "sorting that is avoided.",
        "",
    ]
    lines += [
        f"Wrong answers: {cpu.wrong()}.",
        "",
        *cpu.figure("ratios", "Time relative to a heap"),
    ]
    first, *others = FAMILIES
    lines += cpu.table(f"{first}-times")
    lines += [
        f"Times of {' and '.join(others)}, and counts of operations: `{cpu.command} -o DIR`.",
        "",
        cpu.how(),
    ]
    return "\n".join(lines).rstrip() + "\n"
