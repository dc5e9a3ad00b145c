"""Find the launch shape that a graph and this GPU like best, and remember it.

Ortega-Arranz et al. (2015, section 4.1 and Table 1) gain up to 23% by choosing the threads per
block of each of the three kernels and the split between L1 cache and shared memory. Their values
came from a model of three boards; here they are measured on the board at hand. The kernels run one
after another, so their shapes hardly interact and one is tuned at a time: relax, minimum, update,
then the carve-out, each starting from the best so far. A measurement is the device time of a whole
solve, by CUDA events; candidates take turns within a round, so that a clock that drifts favours
none, and medians are compared.
"""

from __future__ import annotations

import dataclasses
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda import launch_shapes
from nearfar.cuda.launch_shapes import DEFAULT, LaunchShape
from nearfar.errors import GraphError, OptionError, SolverError, VariantUnavailable, keyword, quoted
from nearfar.options import LaunchOptions
from nearfar.registry import Request, Variant, Workspace, variants
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from nearfar.graph.graph import Graph

__all__ = ["CARVEOUTS", "THREADS", "Measurement", "TuneResult", "tunable", "tune"]

#: Threads per block that are tried: those of the paper's Table 1 and more.
THREADS = (64, 96, 128, 192, 256, 384, 512, 768, 1024)
#: Shared-memory carve-outs in percent: the driver's choice, all L1, half, all shared.
CARVEOUTS = (-1, 0, 50, 100)
_MARGIN = 0.01  # a shape must be 1% faster than the best so far to replace it


@dataclass(frozen=True, slots=True)
class Measurement:
    """One launch shape: device seconds of each round, every round one solve per source."""

    shape: LaunchShape
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class TuneResult:
    """What was measured and what won.

    Attributes
    ----------
    method, device, graph_class : str
        The key under which the shape is stored.
    best : LaunchShape
    best_seconds, default_seconds : float
        Median device time of the best and of the default shape (256 threads everywhere), taken
        again side by side at the end.
    measurements : tuple of Measurement
        Everything that was tried, in order.
    path : Path or None
        The file it was stored in.
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
        """Share of the default's time that the best shape saves."""
        return 1.0 - self.best_seconds / self.default_seconds


def tunable() -> list[str]:
    """Methods whose launch shape can be tuned.

    Returns
    -------
    list of str
    """
    found = variants(device="cuda", problem="sssp")
    return sorted(v.idea for v in found if v.options is LaunchOptions)


def usual() -> list[str]:
    """Methods that are tuned where none is named: those whose registration says so."""
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
    """Measure launch shapes of a method on a graph and keep the best for graphs of its class.

    Parameters
    ----------
    graph : Graph
    method : str or None
        One of :func:`tunable`; None takes the first of ``usual()``.
    sources : sequence of int or None
        Vertices to solve from in every round; None draws three with out-edges, by a fixed seed.
    rounds : int
        Solves from every source per shape, at least 1, after one that is not counted.
    threads, carveouts : sequence of int
        What to try, as in :class:`nearfar.options.LaunchOptions`.
    store : bool
        Keep the result in the user's cache, where later runs with unset options find it.
    progress : callable or None
        Called with (measurements done, measurements planned).

    Returns
    -------
    TuneResult

    Raises
    ------
    VariantUnavailable
        Without a CUDA device, or where the method does not fit the graph.
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
            device.name,
            kind,
            method,
            best,
            seconds=best_seconds,
            default_seconds=default_seconds,
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
    """Three vertices with out-edges, the same in every run."""
    open_ends = np.flatnonzero(graph.degrees)
    if not len(open_ends):
        raise GraphError("the graph has no edges: there is nothing to measure")
    drawn = np.random.default_rng(1).choice(open_ends, size=min(3, len(open_ends)), replace=False)
    return [int(v) for v in drawn]


def _with(base: LaunchShape, field: str, values: Iterable[int]) -> list[LaunchShape]:
    """The base shape and those that differ from it in one field, each once."""
    shapes = [base, *(dataclasses.replace(base, **{field: int(value)}) for value in values)]
    return list(dict.fromkeys(shapes))


def _choose(best: LaunchShape, found: list[Measurement]) -> LaunchShape:
    """The fastest, unless what was best before is within the margin of it."""
    medians = {m.shape: m.median for m in found}
    fastest = min(medians, key=lambda shape: medians[shape])
    return fastest if medians[fastest] < medians[best] * (1 - _MARGIN) else best


class _Solver:
    """Solves with given shapes, checks that answers agree, times them on the device."""

    def __init__(self, variant: Variant, graph: Graph, sources: Sequence[int]) -> None:
        self.variant, self.graph, self.sources = variant, graph, sources
        self.expected: dict[int, Any] = {}

    def _run(self, shape: LaunchShape, source: int) -> Any:
        options = LaunchOptions(shape.relax, shape.minimum, shape.update, shape.carveout)
        return self.variant.run(self.graph, source, options, Workspace()).distances

    def _check(self, shape: LaunchShape) -> None:
        """One run a source that is not timed: warms up, and compares the answers."""
        for source in self.sources:
            distances = runtime.download(self._run(shape, source))
            expected = self.expected.setdefault(source, distances)
            if not np.array_equal(distances, expected):
                raise SolverError(f"{self.variant.id} gives other distances with {shape}")

    def compare(self, shapes: list[LaunchShape], rounds: int) -> list[Measurement]:
        """Measure shapes in turns."""
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
