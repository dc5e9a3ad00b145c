"""What a paper's text states, beside what was measured: one line a statement.

A :class:`Claim` says where the paper says what, what was measured, and on how many of the measured
graphs the same side is ahead. From that count the verdict follows, so that no sentence about
agreement is ever typed by hand. An experiment puts the claims of its paper into a table of its
results (:func:`table_of_claims`); its page in docs/reproduction adds the reasons (:func:`beside`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.lab.experiments.experiment import Column, Table
from nearfar.lab.experiments.render import cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "AGREES",
    "DIFFERS",
    "NOT_MEASURED",
    "Claim",
    "Why",
    "beside",
    "claim",
    "spread",
    "table_of_claims",
]

AGREES, DIFFERS, NOT_MEASURED = "as in the paper", "direction differs", "not measured"


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
    """

    key: str
    where: str
    said: str
    here: str
    agree: int
    of: int

    @property
    def verdict(self) -> str:
        """Whether the direction is the paper's: always, never, in some cases, or not measured."""
        if not self.of:
            return NOT_MEASURED
        if self.agree in (0, self.of):
            return AGREES if self.agree else DIFFERS
        return f"{AGREES} in {self.agree} of {self.of} cases"


def claim(key: str, where: str, said: str, here: str, cases: Iterable[bool]) -> Claim:
    """A claim from the cases in which the direction was looked at; ``here`` is dropped without any.

    Examples
    --------
    >>> claim("k", "5.1", "faster", "2 times", [True, True]).verdict
    'as in the paper'
    """
    found = list(cases)
    return Claim(key, where, said, here if found else "-", sum(found), len(found))


def table_of_claims(claims: Iterable[Claim], page: str) -> Table:
    """The claims as a table with the key ``stated``.

    Parameters
    ----------
    claims : iterable of Claim
    page : str
        Page of docs/reproduction that has the reasons.
    """
    rows = [[c.said, c.where, c.here, c.verdict] for c in claims]
    columns = [Column("the paper says"), Column("where"), Column("here"), Column("direction")]
    text = (
        "Every number that the paper's text states. The direction is which side is ahead, not "
        f"by how much. docs/reproduction/{page} has the reasons of the differences on one GPU and "
        "on a CPU, with the counters and experiments that they rest on."
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
    """The paper's statements beside ours, each with its direction and the reason that fits it.

    ``measured`` leaves out what was not measured.

    Raises
    ------
    KeyError
        For a claim whose reasons are not written.
    """
    lines = ["| the paper says | where | here | direction, and why |", "|---|---|---|---|"]
    for one in claims:
        if one.of or not measured:
            reasons = why[one.key]
            reason = reasons.agrees if one.verdict in (AGREES, NOT_MEASURED) else reasons.differs
            said = (
                f"**{one.verdict}**" if one.verdict not in (AGREES, NOT_MEASURED) else one.verdict
            )
            told = f"{said}: {reason}" if reason and one.of else said
            lines.append(f"| {one.said} | {one.where} | {one.here} | {told} |")
    return ["*Direction*: which side is ahead, not by how much.", "", *lines]
