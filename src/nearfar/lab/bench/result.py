"""Samples of a measurement and their medians, spread, and ratios within one run."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    """Timing: seconds per solve, the mean of ``calls`` consecutive solves (1 unless short)."""

    round: int
    source: int
    seconds: float
    calls: int


def _number(value: float) -> float | None:
    """Return a number for JSON, which has no NaN."""
    return None if math.isnan(value) else value


@dataclass(slots=True)
class Result:
    """Measurements of one contender on one graph."""

    # contender, name, version, threads: label in tables, adapter, version of the library, workers
    contender: str
    name: str
    version: str
    threads: int
    engine: str = ""  # variant that ran, for this library
    # seconds for building the contender's graph object, once; not part of any sample
    prepare_seconds: float = math.nan
    first_seconds: float = math.nan  # first solve, including all initialisation
    samples: list[Sample] = field(default_factory=list)  # empty if the contender was left out
    # `equal` (bit for bit), `close` (floats within tolerance), `wrong`, or `not shown` by programs
    # that keep their distances
    answer: str = ""
    skipped: str = ""  # reason why the contender was left out; empty if it was measured

    @property
    def seconds(self) -> list[float]:
        """All samples."""
        return [s.seconds for s in self.samples]

    @property
    def median(self) -> float:
        """Median seconds per solve; NaN when left out."""
        return statistics.median(self.seconds) if self.samples else math.nan

    @property
    def minimum(self) -> float:
        """Least seconds per solve; NaN when left out."""
        return min(self.seconds) if self.samples else math.nan

    @property
    def spread(self) -> float:
        """Interquartile range over the median: 0 if all samples agree."""
        if len(self.samples) < 2:
            return math.nan
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / self.median

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain: dict[str, Any] = {
            "contender": self.contender,
            "name": self.name,
            "version": self.version,
            "threads": self.threads,
        }
        if self.engine:
            plain["engine"] = self.engine
        if self.skipped:
            return plain | {"skipped": self.skipped}
        return plain | {
            "answer": self.answer,
            "median_seconds": self.median,
            "minimum_seconds": self.minimum,
            "spread": _number(self.spread),
            "first_seconds": _number(self.first_seconds),
            "prepare_seconds": _number(self.prepare_seconds),
            "samples": [[s.round, s.source, s.seconds, s.calls] for s in self.samples],
        }


@dataclass(slots=True)
class Run:
    """Results of all contenders on one graph."""

    graph: str
    summary: str
    n_vertices: int
    n_edges: int
    weight_dtype: str
    origin: str
    sources: list[int]
    rounds: int
    results: list[Result]

    def find(self, contender: str) -> Result | None:
        """Return the result with this label, if it was measured."""
        found = (r for r in self.results if r.contender == contender and r.samples)
        return next(found, None)

    def ratio(self, result: Result, base: str = "scipy") -> float:
        """Return the speedup over ``base``, a ratio of medians of this run; NaN without either."""
        other = self.find(base)
        return other.median / result.median if other and result.samples else math.nan

    def beside_peers(self) -> list[dict[str, Any]]:
        """Return the ratios to the best peer that had as many threads as this library or fewer."""
        peers = [r for r in self.results if r.samples and r.name != "nearfar"]
        found = []
        for own in self.results:
            others = [r for r in peers if r.threads <= own.threads]
            if own.name != "nearfar" or not own.samples or not others:
                continue
            best = min(others, key=lambda r: r.median)
            found.append(
                {
                    "contender": own.contender,
                    "threads": own.threads,
                    "best_peer": best.contender,
                    "best_peer_over_ours": best.median / own.median,
                }
            )
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        results = []
        for result in self.results:
            ratio = self.ratio(result)
            extra = {} if math.isnan(ratio) else {"times_scipy": ratio}
            results.append(result.as_dict() | extra)
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return plain | {"results": results, "beside_peers": self.beside_peers()}
