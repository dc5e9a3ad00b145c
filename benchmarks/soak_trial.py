"""One call of the soak test with its expected result, and random arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar import Graph
from nearfar.errors import DistanceOverflowError, NegativeCycleError
from nearfar.registry import Variant, find, variants
from soak_graphs import Case
from soak_oracle import Edges, Rows, TooLarge, differs, length_of

Judge = Callable[[Any], str | None]
_PROGRAMS = 2  # maximum number of combinations of options per variant on a GPU


@dataclass
class Trial:
    """One call and its expected result.

    ``error`` names exceptions of which one must be raised instead of an answer; ``rows`` is the
    number of compared rows of distances; ``stats`` is filled by the call if possible; ``refusals``
    are errors that are also accepted, since the package refuses some requests beforehand.
    """

    words: str
    call: Callable[[], Any]
    judge: Judge
    rows: int = 1
    engine: str = ""
    error: tuple[type[Exception], ...] = ()
    stats: dict[str, Any] = field(default_factory=dict)
    refusals: tuple[type[Exception], ...] = ()


@dataclass
class Soak:
    """Case with data shared by its interfaces: random numbers, the device, a folder for files."""

    case: Case
    device: Any
    folder: Path
    rng: np.random.Generator

    @property
    def graph(self) -> Graph:
        """Graph of the case."""
        return self.case.graph

    @property
    def truth(self) -> Rows:
        """Rows of the oracle."""
        return self.case.truth

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.case.edges.n

    def one_of(self, values: Any) -> Any:
        """Return one of several values at random."""
        return values[int(self.rng.integers(0, len(values)))]

    def chance(self, share: float) -> bool:
        """Return True with the given probability."""
        return bool(self.rng.random() < share)

    def row(self) -> int:
        """Return the number of a random row of the oracle."""
        return int(self.rng.integers(0, len(self.truth.sources)))

    def some_rows(self, most: int = 40) -> NDArray[np.int64]:
        """Return numbers of random rows, unordered, with repetitions; many for a GPU."""
        if self.device == "cuda":
            most *= int(self.one_of([1, 1, 5]))
        k = int(self.rng.integers(1, most + 1))
        return self.rng.integers(0, len(self.truth.sources), k)

    def vertices(self, most: int = 6) -> NDArray[np.int64]:
        """Return random vertices."""
        return self.rng.integers(0, self.n, int(self.rng.integers(1, most + 1)))

    def limit(self, rows: Any, apart: bool = False) -> float | None:
        """Return a limit that cuts some of these rows, or None; ``apart`` from sums of floats."""
        values = self.truth.values[rows][self.truth.reached[rows]]
        if not len(values) or self.truth.cycle[rows].any():
            return None
        if self.truth.edges.kind.kind == "i":
            return max(int(self.one_of(values)), 0)
        if not apart:
            return max(float(self.one_of(values)), 0.0)
        values = np.unique(np.append(values[values >= 0], 2 * np.abs(values).max() + 1))
        gaps = np.flatnonzero(np.diff(values) > 1e-3 * values[1:])
        return float(values[self.one_of(gaps) :][:2].mean()) if len(gaps) else None

    def variants(self, problem: str) -> list[Variant]:
        """Return the variants of this device, without matrices for large graphs."""
        found = variants(device=self.device, problem=problem)
        return found if self.n <= 400 else [v for v in found if "matrix" not in v.id]

    def threads(self) -> int:
        """Return a random number of workers."""
        return int(self.one_of([1, 1, 2, 3]))


# ---- what a trial must give ---------------------------------------------------------------------


def cycles(truth: Rows, rows: Any) -> tuple[type[Exception], ...]:
    """Return the error that must be raised if a source reaches a negative cycle."""
    return (NegativeCycleError,) if truth.cycle[rows].any() else ()


def wanted(
    make: Callable[[], NDArray[Any]],
) -> tuple[NDArray[Any] | None, tuple[type[Exception], ...]]:
    """Return an array, or the error for a distance that does not fit 64 bits."""
    try:
        return make(), ()
    except TooLarge:
        return None, (DistanceOverflowError,)


def rounding(stats: dict[str, Any], edges: Edges) -> float:
    """Return the allowed relative difference of an answer: none for a search or for integers."""
    engine = stats.get("engine")
    if edges.kind.kind == "i" or not engine:
        return 0.0
    fixed_point = any(f.name == "sums" for f in dataclasses.fields(find(engine)[0].options))
    return 2.0**-23 + edges.n * float(np.finfo(edges.kind).eps) if fixed_point else 0.0


def array_judge(
    want: NDArray[Any] | None, dtype: bool = True, near: Callable[[], float] = float
) -> Judge:
    """Return a check against an array, up to a relative difference known after the call."""

    def judge(found: Any) -> str | None:
        assert want is not None
        return differs(found, want, dtype, near())

    return judge


def options_of(soak: Soak, variant: Variant) -> dict[str, Any]:
    """Return random options of a variant, in half of the calls its defaults."""
    if soak.chance(0.5):
        return {}
    # Buckets far narrower than the weights are allowed, but take proportionally longer.
    mean = max(float(soak.graph.mean_weight) if soak.graph.n_edges else 1.0, 1e-30)
    deltas = [None, mean / 16, mean / 2, mean, 3 * mean, 1000 * mean]
    known: dict[str, list[Any]] = {
        "delta": deltas,
        "delta_growth": [None, 1.5, 4.0],
        "target_near": [None, 1, 64],
        "local_limit": [None, 0, 16, 1024],
        "local_rounds": [1, 30, 1000],
        "local_leave": [1, 64, 512],
        "queue_factor": [1.0, 1.5, 3.0],
        "distance_bits": [None, 0, 8, 16],
        "pull_share": [2, 16],
        "width": [None, 8, 16, 32, 64],
        "alpha": [0.5, 14.0, 1000.0],
        "beta": [0.5, 24.0, 1000.0],
        "transpose": [False, True],
        "thin_limit": [None, 0, 16],
        "ahead_rounds": [1, 64],
        "sweep": [None, False, True],
        "slot_bits": [None, 16, 32, 64],
        "block_threads": [128, 256, 512],
        "lists": [None, False, True],
        "arity": [2, 4, 8],
        "queue": [None, "heap", "buckets"],
        "criterion": ["out", "in_out"],
        "threads_relax": [None, 32, 96, 256],
        "threads_minimum": [None, 32, 256],
        "threads_update": [None, 64, 256],
        "buckets": [2, 5, 15],
        "child_edges": [1, 8, 100],
        "inner": ["lanes", "worker_per_source"],
        "traversal": ["thread", "cooperative_blocks", "cta_warp_scan", "load_balanced"],
        "duplicates": ["owners", "claim"],
    }
    names = [f.name for f in dataclasses.fields(variant.options) if f.name in known]
    if soak.device == "cpu":
        return {name: soak.one_of(known[name]) for name in names if soak.chance(0.6)}
    # Most combinations are separate programs that take seconds to compile, so there are few.
    few = int(soak.one_of(range(_PROGRAMS)))
    rng = np.random.default_rng([few, *variant.id.encode()])
    picked = {name: known[name][int(rng.integers(len(known[name])))] for name in names}
    if "delta" in picked:  # an argument of the kernels, which needs no compilation
        picked["delta"] = soak.one_of(deltas)
    return {name: picked[name] for name in names if rng.random() < 0.6}


def words(door: str, **given: Any) -> str:
    """Return a call as text."""
    shown = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    return f"{door}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


def path_judge(
    least: dict[Any, Any], source: int, target: int, far: Any, near: float = 0.0
) -> Judge:
    """Return a check of a path's own and stated length, up to a relative difference."""

    def alike(length: Any) -> bool:
        return bool(np.isclose(length, far, rtol=near, atol=0) if near else length == far)

    def judge(found: Any) -> str | None:
        path, length = found
        own = length_of(least, path)
        if path[0] != source or path[-1] != target or own is None or not alike(own):
            return f"path {path} has length {own}, not {far}"
        return None if alike(length) else f"length {length} instead of {far}"

    return judge


def same(want: Any) -> Judge:
    def judge(found: Any) -> str | None:
        return None if found == want else f"{str(found)[:200]} instead of {str(want)[:200]}"

    return judge
