"""Search for the fastest launch shape for a graph on this GPU.

Ortega-Arranz et al. (2015, section 4.1 and Table 1) gain up to 23% by choosing the threads per
block of each of the three kernels and the split between L1 cache and shared memory. The paper
derives these values from a model of three boards; this module measures them on the current GPU. The
kernels run one after another, so their shapes hardly interact and are tuned in turn: relax,
minimum, update, then the carve-out, each starting from the best shape so far. A measurement is the
device time of a whole solve by CUDA events. Candidates alternate within a round, so that a drifting
clock affects all of them equally, and medians are compared.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nearfar.cuda import launch_shapes
from nearfar.cuda.launch_shapes import DEFAULT, LaunchShape
from nearfar.errors import GraphError, OptionError, SolverError, VariantUnavailable, keyword, quoted
from nearfar.graph.graph import Graph
from nearfar.options import LaunchOptions
from nearfar.registry import Request, Variant, Workspace, variants
from nearfar.system.devices import runtime

__all__ = ["CARVEOUTS", "THREADS", "Measurement", "TuneResult", "tunable", "tune"]

#: Threads per block to try: those of the paper's Table 1 and more.
THREADS = (64, 96, 128, 192, 256, 384, 512, 768, 1024)
#: Shared-memory carve-outs in percent: the driver's choice, all L1, half, all shared.
CARVEOUTS = (-1, 0, 50, 100)
_MARGIN = 0.01  # a shape must be 1% faster than the best so far to replace it


@dataclass(frozen=True, slots=True)
class Measurement:
    """Device seconds of one launch shape in each round, with one solve per source."""

    shape: LaunchShape
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class TuneResult:
    """Result of tuning a method's launch shape.

    Attributes
    ----------
    method, device, graph_class : str
        Key under which the shape is stored.
    best : LaunchShape
    best_seconds, default_seconds : float
        Median device time of the best and of the default shape (256 threads per block), measured
        again in alternation at the end.
    measurements : tuple of Measurement
        All measurements in order.
    path : Path or None
        File in which the shape is stored.
    """

    method: str
    device: str
    graph_class: str
    best: LaunchShape
    best_seconds: float
    default_seconds: float
    measurements: tuple[Measurement, ...]
    path: Path | None

    @property
    def gain(self) -> float:
        """Fraction of the default shape's time that the best shape saves."""
        return 1.0 - self.best_seconds / self.default_seconds


def tunable() -> list[str]:
    """Return the methods whose launch shape can be tuned.

    Returns
    -------
    list of str
    """
    found = variants(device="cuda", problem="sssp")
    return sorted(v.idea for v in found if v.options is LaunchOptions)


def usual() -> list[str]:
    """Return the methods registered to be tuned if none is named."""
    return sorted(v.idea for v in variants(device="cuda", problem="sssp") if v.tune)


def tune(
    graph: Graph,
    method: str | None = None,
    *,
    sources: Sequence[int] | None = None,
    rounds: int = 5,
    threads: Sequence[int] = THREADS,
    carveouts: Sequence[int] = CARVEOUTS,
    store: bool = True,
    progress: Callable[[float, float], None] | None = None,
) -> TuneResult:
    """Measure launch shapes of a method on a graph and store the best for graphs of its class.

    Parameters
    ----------
    graph : Graph
    method : str or None
        One of :func:`tunable`; None means the first of ``usual()``.
    sources : sequence of int or None
        Sources of every round; None draws three vertices with out-edges by a fixed seed.
    rounds : int
        Timed solves per source and shape, at least 1, after a warm-up.
    threads, carveouts : sequence of int
        Values to try, as in :class:`nearfar.options.LaunchOptions`.
    store : bool
        Store the result in the user's cache for later runs with unset options.
    progress : callable or None
        Called with (measurements done, measurements planned).

    Returns
    -------
    TuneResult

    Raises
    ------
    VariantUnavailable
        Without a CUDA device, or if the method does not support the graph.
    OptionError
        For a method that cannot be tuned.
    GraphError
        For a graph without edges.
    """
    method = usual()[0] if method is None else method
    variant = _variant(method)
    device = runtime.device()
    fits = variant.fits(graph, Request(device="cuda"))
    if fits is not True:
        raise VariantUnavailable(fits)
    if rounds < 1:
        raise OptionError(f"{keyword('rounds')} is {rounds}: give 1 or more")
    starts = _sources(graph) if sources is None else [graph.index_of(s, "source") for s in sources]
    solve = _Solver(variant, graph, starts)
    planned = 3 * len(threads) + len(carveouts) + 2
    measured: list[Measurement] = []
    best = DEFAULT
    for field, values in (
        ("relax", threads),
        ("minimum", threads),
        ("update", threads),
        ("carveout", carveouts),
    ):
        shapes = _with(best, field, values)
        found = solve.compare(shapes, rounds)
        measured += found
        best = _choose(best, found)
        if progress is not None:
            progress(len(measured), planned)
    final = solve.compare(list(dict.fromkeys([DEFAULT, best])), rounds)
    measured += final
    default_seconds, best_seconds = final[0].median, final[-1].median
    if best_seconds >= default_seconds:
        best, best_seconds = DEFAULT, default_seconds
    kind = launch_shapes.graph_class(graph)
    path = None
    if store:
        path = launch_shapes.store(
            device.name, kind, method, best, seconds=best_seconds, default_seconds=default_seconds
        )
    return TuneResult(
        method, device.name, kind, best, best_seconds, default_seconds, tuple(measured), path
    )


def _variant(method: str) -> Variant:
    for variant in variants(device="cuda", problem="sssp"):
        if variant.idea == method.removesuffix("@cuda") and variant.options is LaunchOptions:
            return variant
    raise OptionError(f"method {quoted(method)} cannot be tuned: use one of {', '.join(tunable())}")


def _sources(graph: Graph) -> list[int]:
    """Return three vertices with out-edges, by a fixed seed."""
    open_ends = np.flatnonzero(graph.degrees)
    if not len(open_ends):
        raise GraphError("the graph has no edges: there is nothing to measure")
    drawn = np.random.default_rng(1).choice(open_ends, size=min(3, len(open_ends)), replace=False)
    return [int(v) for v in drawn]


def _with(base: LaunchShape, field: str, values: Iterable[int]) -> list[LaunchShape]:
    """Return the base shape and those that differ from it in one field, without duplicates."""
    shapes = [base, *(dataclasses.replace(base, **{field: int(value)}) for value in values)]
    return list(dict.fromkeys(shapes))


def _choose(best: LaunchShape, found: list[Measurement]) -> LaunchShape:
    """Return the fastest shape, or the previous best if it is within the margin."""
    medians = {m.shape: m.median for m in found}
    fastest = min(medians, key=lambda shape: medians[shape])
    return fastest if medians[fastest] < medians[best] * (1 - _MARGIN) else best


class _Solver:
    """Solver that runs given shapes, checks the answers and measures device time."""

    def __init__(self, variant: Variant, graph: Graph, sources: Sequence[int]) -> None:
        self.variant, self.graph, self.sources = variant, graph, sources
        self.expected: dict[int, Any] = {}

    def _run(self, shape: LaunchShape, source: int) -> Any:
        options = LaunchOptions(shape.relax, shape.minimum, shape.update, shape.carveout)
        return self.variant.run(self.graph, source, options, Workspace()).distances

    def _check(self, shape: LaunchShape) -> None:
        """Run once per source without timing, to warm up and compare the answers."""
        for source in self.sources:
            distances = runtime.download(self._run(shape, source))
            expected = self.expected.setdefault(source, distances)
            if not np.array_equal(distances, expected):
                raise SolverError(f"{self.variant.id} gives different distances with {shape}")

    def compare(self, shapes: list[LaunchShape], rounds: int) -> list[Measurement]:
        """Measure shapes in alternation."""
        for shape in shapes:
            self._check(shape)
        samples: dict[LaunchShape, list[float]] = {shape: [] for shape in shapes}
        for _ in range(rounds):
            for shape in shapes:
                timer = runtime.Timer().start()
                for source in self.sources:
                    self._run(shape, source)
                samples[shape].append(timer.stop().seconds / len(self.sources))
        return [Measurement(shape, tuple(times)) for shape, times in samples.items()]
