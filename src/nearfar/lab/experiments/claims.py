"""What a paper's text states, beside what was measured: one line a statement.

A :class:`Claim` says where the paper says what, what was measured, on how many of the measured
graphs the same side is ahead, and how large the effect is beside the paper's. From these the
verdict follows, so that no sentence about agreement is ever typed by hand. An experiment puts the
claims of its paper into a table of its results (:func:`table_of_claims`); its page in
docs/reproduction adds the reasons (:func:`beside`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.lab.experiments.experiment import Column, Table
from nearfar.lab.experiments.render import cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "CONTRADICTED",
    "NOT_MEASURED",
    "NOT_REPRODUCED",
    "REPRODUCED",
    "SMALLER",
    "Claim",
    "OneOf",
    "Stated",
    "Why",
    "beside",
    "claim",
    "spread",
    "table_of_claims",
]

REPRODUCED, SMALLER = "reproduced", "same direction but smaller"
NOT_REPRODUCED, CONTRADICTED = "not reproduced", "contradicted"
NOT_MEASURED = "not measured"
#: Share of the cases in which the paper's side must be ahead, and of the paper's size that the
#: effect must have, for a claim to be reproduced.
_MOST, _HALF = 0.75, 0.5


@dataclass(frozen=True, slots=True)
class Stated:
    """The size of an effect as a paper states it: a factor over 1, or percent over 0.

    Attributes
    ----------
    low, high : float
        The ends of a range; the same number twice for one that is reached ("up to", "about").
    """

    low: float
    high: float

    def beside(self, sizes: Sequence[float]) -> tuple[float, float]:
        """The least and the greatest measured size over the paper's, end by end.

        A number that is reached stands beside the greatest size alone.
        """
        top = max(sizes) / self.high
        return (top, top) if self.low == self.high else (max(min(sizes), 0.0) / self.low, top)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A number that a paper's devices reach each, such as "up to 45.8% (Fermi), 1.07% (Kepler)"."""

    reached: tuple[float, ...]

    def beside(self, sizes: Sequence[float]) -> tuple[float, float]:
        """The greatest measured size over the nearest of them; 1 between two of them."""
        top = max(*sizes, 0.0)
        nearest = min(max(top, min(self.reached)), max(self.reached))
        return top / nearest, top / nearest


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a paper and its counterpart.

    Attributes
    ----------
    key : str
        By which a page finds the reason.
    where, said : str
        Section, table or figure; the statement in short, with the paper's number.
    here : str
        What was measured, in words and numbers.
    agree, of : int
        In how many of how many measured cases the same side is ahead.
    over : (float, float) or None
        The effect's size over the paper's at both ends; None where the paper states none.
    """

    key: str
    where: str
    said: str
    here: str
    agree: int
    of: int
    over: tuple[float, float] | None = None

    @property
    def same_side(self) -> bool:
        """Whether the paper's side is ahead in every case, or nothing was measured."""
        return self.agree == self.of

    @property
    def verdict(self) -> str:
        """What became of the claim, with the cases and the size beside the paper's.

        Contradicted if the other side is ahead in every case, not reproduced if the paper's is in
        less than three of four. Else reproduced, or of the same direction but smaller where the
        effect, at either end of a range, has less than half of the paper's size.
        """
        if not self.of:
            return NOT_MEASURED
        cases = "" if self.same_side else f" in {self.agree} of {self.of} cases"
        if not self.agree:
            return CONTRADICTED
        if self.agree < _MOST * self.of:
            return f"{NOT_REPRODUCED}: {self.agree} of {self.of} cases"
        if self.over is None:
            return f"{REPRODUCED}{cases}"
        least, most = min(self.over), max(self.over)
        if least < _HALF:
            return f"{SMALLER}{cases}: {cell(least)} of the paper's size"
        if most > 1 / _HALF:
            return f"{REPRODUCED}{cases}: {cell(most)} times the paper's size"
        return f"{REPRODUCED}{cases} within a factor of {cell(max(1 / least, most))}"


def claim(
    key: str,
    where: str,
    said: str,
    here: str,
    cases: Iterable[bool],
    stated: Stated | OneOf | float | None = None,
    sizes: Sequence[float] = (),
) -> Claim:
    """A claim from the cases in which the direction was looked at; ``here`` is dropped without any.

    Examples
    --------
    >>> claim("k", "5.1", "faster", "2 times", [True, True]).verdict
    'reproduced'
    >>> claim("k", "5.1", "up to 10 times faster", "2 times", [True, True], 10, [1.5, 2]).verdict
    "same direction but smaller: 0.200 of the paper's size"
    """
    found = list(cases)
    over = None
    if stated is not None and sizes:
        size = stated if isinstance(stated, (Stated, OneOf)) else Stated(stated, stated)
        over = size.beside(sizes)
    return Claim(key, where, said, here if found else "-", sum(found), len(found), over)


#: How verdicts come about, for tables and pages.
RULE = (
    "*Reproduced*: the side that the paper has ahead is so in at least three of four cases, and "
    "the effect has at least half of the size that the paper states, at both ends of a range; "
    "*same direction but smaller*: less than half; *not reproduced*: ahead in fewer cases; "
    "*contradicted*: in none."
)


def table_of_claims(claims: Iterable[Claim], page: str) -> Table:
    """The claims as a table with the key ``stated``."""
    rows = [[c.said, c.where, c.here, c.verdict] for c in claims]
    columns = [Column("the paper says"), Column("where"), Column("here"), Column("verdict")]
    text = (
        f"Every number that the paper's text states. {RULE} docs/reproduction/{page} has the "
        "reasons of the differences on one GPU and on a CPU, with the counters and experiments "
        "that they rest on."
    )
    return Table("stated", "What the paper states, and here", text, columns, rows)


def spread(values: Iterable[float | None], digits: int = 3) -> str:
    """Range of some numbers in words, ``1.20 to 3.40``; one where both ends look the same."""
    found = [value for value in values if value is not None and math.isfinite(value)]
    if not found:
        return NOT_MEASURED
    low, high = cell(min(found), digits), cell(max(found), digits)
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, slots=True)
class Why:
    """Reasons of a claim's outcomes: the page shows the one that the numbers choose."""

    differs: str
    agrees: str = ""


def beside(claims: Iterable[Claim], why: Mapping[str, Why], *, measured: bool = False) -> list[str]:
    """The paper's statements beside ours, each with its verdict and the reason that fits it.

    ``measured`` leaves out what was not measured.
    """
    lines = ["| the paper says | where | here | verdict, and why |", "|---|---|---|---|"]
    for one in claims:
        if one.of or not measured:
            reasons = why[one.key]
            reason = reasons.agrees if one.same_side else reasons.differs
            plain = one.verdict.startswith((REPRODUCED, NOT_MEASURED)) and one.same_side
            said = one.verdict if plain else f"**{one.verdict}**"
            told = f"{said}; {reason}" if reason and one.of else said
            lines.append(f"| {one.said} | {one.where} | {one.here} | {told} |")
    return [RULE, "", *lines]
