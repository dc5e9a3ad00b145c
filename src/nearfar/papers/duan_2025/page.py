"""The page of Duan et al. (2025), from benchmarks/results/duan-2025-cpu.json."""

from __future__ import annotations

from nearfar.lab.checkout import NOTICE
from nearfar.lab.experiments.claims import Why, beside
from nearfar.lab.experiments.kept import Kept
from nearfar.papers.duan_2025.claims import claims_of
from nearfar.papers.duan_2025.graphs import FAMILIES

_WHY = {
    "bound": Why("the constants hide small graphs", "counted by the solver itself"),
    "faster": Why(
        "the log of n is at most 24 here, and its cube root 2: a round of relaxing for the pivots "
        "and the moves between levels cost what the sorting saves"
    ),
    "practice": Why(
        "the ratio falls as graphs grow. Superseded keys are dropped when met instead of deleted, "
        "keys are single integers, and a level that hands out one vertex at a time is a heap",
        "as others measured",
    ),
    "fastest": Why("delta-stepping neither sorts nor recurses"),
}


def page() -> str:
    """Return the page."""
    cpu = Kept("duan-2025", "cpu")
    lines = [
        "# Breaking the sorting barrier: what the paper has, and what we measure",
        "",
        NOTICE,
        "",
        "Duan, Mao, Mao, Shu and Yin (2025) give the first deterministic algorithm for directed",
        "single-source shortest paths that needs less than sorting, O(m log^(2/3) n) comparisons",
        "and additions. `bmssp@cpu` is that algorithm (`src/nearfar/papers/duan_2025`).",
        "",
    ]
    if not cpu.there:
        return "\n".join([*lines, cpu.how(), ""])
    lines += ["## Verdict", "", *beside(claims_of(cpu.done), _WHY), ""]
    lines += [f"Wrong answers: {cpu.wrong()}.", "", *cpu.figure("ratios", "Time over a heap's")]
    for family in FAMILIES:
        lines += cpu.table(f"{family}-times", how=False)
        lines += cpu.table(f"{family}-counts", how=False)
    return "\n".join([*lines, cpu.how()]).rstrip() + "\n"
