"""Statements of a paper's text and the measurements for them, one line per statement.

A :class:`Claim` has the statement and its place, the measurement, the number of measured graphs on
which the same side is ahead, and the size of the effect relative to the paper's. The verdict
follows from these, so that no sentence about agreement is written by hand. An experiment puts the
claims of its paper into a table of its results (:func:`table_of_claims`); its page in
docs/reproduction adds the reasons (:func:`beside`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nearfar.lab.experiments.experiment import Column, Table
from nearfar.lab.experiments.render import cell

REPRODUCED, SMALLER = "reproduced", "same direction but smaller"
NOT_REPRODUCED, CONTRADICTED = "not reproduced", "contradicted"
NOT_MEASURED = "not measured"
#: For a claim to be reproduced: share of the cases in which the paper's side must be ahead, and
#: share of the paper's effect that must be measured.
_MOST, _HALF = 0.75, 0.5


@dataclass(frozen=True, slots=True)
class Stated:
    """Size of an effect as a paper states it: a factor over 1, or percent over 0."""

    # low, high: ends of a range; the same number twice for a single one ("up to",
    # "about")
    low: float
    high: float

    def beside(self, sizes: Sequence[float]) -> tuple[float, float]:
        """Return the least and the greatest measured size, each over the paper's.

        Both are the greatest size over the paper's if the paper has a single number.
        """
        top = max(sizes) / self.high
        return (top, top) if self.low == self.high else (max(min(sizes), 0.0) / self.low, top)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Effect stated per device of a paper, such as "up to 45.8% (Fermi), 1.07% (Kepler)"."""

    reached: tuple[float, ...]

    def beside(self, sizes: Sequence[float]) -> tuple[float, float]:
        """Return the greatest measured size over the nearest stated one; 1 if it is between two."""
        top = max(*sizes, 0.0)
        nearest = min(max(top, min(self.reached)), max(self.reached))
        return top / nearest, top / nearest


@dataclass(frozen=True, slots=True)
class Claim:
    """Statement of a paper and the measurements for it."""

    key: str  # key of the reason on the page
    # where, said: section, table or figure; the statement in short, with the paper's number
    where: str
    said: str
    here: str  # the measurement in words and numbers
    # agree, of: number of measured cases with the paper's side ahead, and of all
    agree: int
    of: int
    # (float, float) or None; the effect's size over the paper's at both ends; None if the paper
    # states none
    over: tuple[float, float] | None = None

    @property
    def same_side(self) -> bool:
        """Whether the paper's side is ahead in every case, or nothing was measured."""
        return self.agree == self.of

    @property
    def verdict(self) -> str:
        """Outcome of the claim, with the cases and the size relative to the paper's.

        Contradicted if the other side is ahead in every case, not reproduced if the paper's is in
        less than three of four. Else reproduced, or of the same direction but smaller if the
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
    """Make a claim from the cases in which the direction was checked.

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


def ahead(
    key: str,
    where: str,
    said: str,
    ratios: Sequence[float],
    stated: Stated | OneOf | float | None = None,
    here: str = "{} times",
) -> Claim:
    """Make a claim that the paper's side is ahead: that each ratio is above 1."""
    shown = here.format(spread(ratios))
    return claim(key, where, said, shown, [ratio > 1 for ratio in ratios], stated, ratios)


#: Rule of the verdicts, for tables and pages.
RULE = (
    "*Reproduced*: the method that the paper has ahead is ahead in at least three of four cases, "
    "by at least half of the effect that the paper states, at both ends of a range; *same "
    "direction but smaller*: by less than half; *not reproduced*: ahead in fewer cases; "
    "*contradicted*: in none."
)


#: Link to :data:`RULE` for pages.
WHERE_RULE = "[The rule of the verdicts](../how-to/reproduce-the-papers.md#verdicts)."


def table_of_claims(claims: Iterable[Claim], page: str) -> Table:
    """Return the claims as a table with the key ``stated``."""
    rows = [[c.said, c.where, c.here, c.verdict] for c in claims]
    columns = [Column("the paper says"), Column("where"), Column("here"), Column("verdict")]
    text = (
        f"Every number that the paper's text states. {RULE} docs/reproduction/{page} has the "
        "reasons of the differences on one GPU and on a CPU, with the counters and experiments "
        "that they rest on."
    )
    return Table("stated", "Numbers of the paper, and ours", text, columns, rows)


def spread(values: Iterable[float | None], digits: int = 3) -> str:
    """Return the range of some numbers as text, ``1.20 to 3.40``; one if both look the same."""
    found = [value for value in values if value is not None and math.isfinite(value)]
    if not found:
        return NOT_MEASURED
    low, high = cell(min(found), digits), cell(max(found), digits)
    return low if low == high else f"{low} to {high}"


#: Verdicts in the order of a page.
_ORDER = (REPRODUCED, SMALLER, NOT_REPRODUCED, CONTRADICTED, NOT_MEASURED)


def _kind(one: Claim) -> str:
    """Return the verdict's words without cases and size."""
    return next(word for word in _ORDER if one.verdict.startswith(word))


def verdicts(runs: Iterable[tuple[str, Iterable[Claim]]]) -> list[str]:
    """Return the section that counts the verdicts of each run, named by where it ran.

    A run without measured claims is left out.
    """
    lines = ["## Verdict", ""]
    for place, claims in runs:
        some = [one for one in claims if one.of]
        counts = {kind: [one for one in some if _kind(one) == kind] for kind in _ORDER}
        told = [
            f"{len(found)} {kind}{_sizes(found) if kind == REPRODUCED else ''}"
            for kind, found in counts.items()
            if found
        ]
        if told:
            many = f"{len(some)} statement{'s' * (len(some) > 1)} of the paper"
            text = f"**On {place}**, of {many}: {', '.join(told)}."
            if counts[CONTRADICTED]:
                text += f" {CONTRADICTED.capitalize()}: {_list(counts[CONTRADICTED])}."
            lines += [text, ""]
    return [*lines, WHERE_RULE, ""]


def _list(claims: Iterable[Claim]) -> str:
    """Return statements one after the other, with their places in the paper."""
    return "; ".join(f"{one.said} ({_place(one)})" for one in claims)


def _sentence(one: Claim) -> str:
    """Return a statement with its place in the paper, as the start of a sentence."""
    return f"{one.said[:1].upper()}{one.said[1:]} ({_place(one)})"


def _place(one: Claim) -> str:
    """Return the place of the statement in the paper."""
    return f"§{one.where}" if re.match(r"\d|[IVX]+\b", one.where) else one.where


def _sizes(reproduced: Iterable[Claim]) -> str:
    """Return the numbers of reproduced effects near the paper's size and above it."""
    sized = [one.over for one in reproduced if one.over is not None]
    near = [max(1 / min(over), max(over)) for over in sized if max(over) <= 1 / _HALF]
    told = [f"{len(near)} within a factor of {cell(max(near))}"] if near else []
    if len(near) < len(sized):
        told.append(f"{len(sized) - len(near)} with more than twice the paper's effect")
    return f" ({', '.join(told)})" if told else ""


def beside(
    claims: Iterable[Claim],
    why: Mapping[str, str],
    *,
    differing: bool = False,
    given: Iterable[str] = (),
) -> list[str]:
    """Return one list item per statement, grouped by verdict, with reasons for differences.

    ``differing`` omits statements that were reproduced or not measured. A reason that several
    statements share, or that is ``given`` earlier on the page, is not repeated.
    """
    claims, lines, given = list(claims), [], set(given)
    for kind in _ORDER[differing:-1]:
        group = [one for one in claims if _kind(one) == kind]
        lines += [f"**{kind.capitalize()}**", ""] if group else []
        for one in group:
            detail = one.verdict.removeprefix(kind).lstrip(": ")
            text = f"- {_sentence(one)}. Measured: {one.here}"
            text += f" ({detail})." if detail else "."
            reason = why[one.key]
            if reason and kind != REPRODUCED:
                text += " Reason: as above." if reason in given else f" Reason: {reason}."
                given.add(reason)
            lines.append(text)
        lines += [""] if group else []
    left = [one for one in claims if not one.of]
    if left and not differing:
        lines += [f"**{NOT_MEASURED.capitalize()}**: {_list(left)}.", ""]
    return lines[:-1]
