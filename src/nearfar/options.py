"""Frozen dataclasses of options that families share, and their construction from keywords.

A variant names its options class in its registration. Users pass keywords to ``sssp``; this
module checks them against the dataclass, so that all families report misspelt or out-of-range
options in the same way.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from nearfar.errors import OptionError, did_you_mean, keyword, listed, quoted

Device = Literal["auto", "cpu", "cuda", "gpu"]
#: CUDA devices that share work: all, their numbers, or the current one.
Devices = Literal["all"] | list[int] | None


#: Arguments of other libraries' functions, and the corresponding keyword or call in nearfar.
_SYNONYMS = {
    "cutoff": keyword("limit"),
    "max_distance": keyword("limit"),
    "radius": keyword("limit"),
    "target": "targets=[...], or nearfar.shortest_path for one path",
    "directed": "Graph.from_edges(..., directed=False), which adds both directions",
    "sources": "nearfar.distances(graph, sources), or nearfar.nearest for the nearest of them",
    "indices": "nearfar.distances(graph, sources)",
    "unweighted": keyword("weight", None),
    "weights": keyword("weight"),
    "return_predecessors": keyword("predecessors"),
    "source": "sources=[...]",
    "algorithm": keyword("method"),
    "n_jobs": keyword("threads"),
    "num_threads": keyword("threads"),
}
#: Keywords of the functions that solve, suggested for misspelt options.
_KEYWORDS = (
    *("weight", "method", "device", "threads", "limit", "targets", "predecessors", "stats"),
    *("progress", "pairs", "reduce", "out", "memory", "block", "trace", "allow_unsafe"),
)


def canonical_device(device: str, among: tuple[str, ...] = ("auto", "cpu", "cuda")) -> str:
    """Return a device's name; ``"gpu"`` is ``"cuda"``.

    Raises
    ------
    OptionError
        For a device that is not in ``among``.
    """
    found = "cuda" if isinstance(device, str) and device == "gpu" else device
    if not isinstance(found, str) or found not in among:
        near = did_you_mean(str(device), (*among, "gpu"))
        wanted = f"{', '.join(map(repr, among[:-1]))} or {among[-1]!r}"
        raise OptionError(f"{keyword('device')} is {quoted(device)}: use {wanted}{near}")
    return found


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer of Python or NumPy, and not a truth value."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    if is_integer(value):
        return True
    return isinstance(value, (float, np.floating)) and math.isfinite(value)


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) or (is_integer(value) and value in (0, 1))


#: Kinds that an annotation accepts, and the expected kind for messages.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "bool": (_is_bool, "true or false"),
    "int": (is_integer, "an integer"),
    "float": (_is_finite, "a finite number"),
    "str": (lambda value: isinstance(value, str), "text"),
    "None": (lambda value: value is None, "none"),
}


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Options of a variant that has none."""


@dataclass(frozen=True, slots=True)
class DeltaOptions:
    """Options of the bucketed methods.

    Parameters
    ----------
    delta : float or None
        Width of a bucket in units of the weights, greater than 0. None lets the method choose from
        the graph and adapt while running.
    """

    delta: float | None = None

    def __post_init__(self) -> None:
        if self.delta is not None and not self.delta > 0:
            raise OptionError(f"delta is {self.delta}: give a number greater than 0, or None")


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """Launch shape of the methods that run as three kernels: relax, minimum, update.

    None means the values that ``nearfar tune`` stored for this device and class of graph; without
    stored values, 256 threads and the driver's choice of carve-out.

    Parameters
    ----------
    threads_relax, threads_minimum, threads_update : int or None
        Threads per block of each kernel: a multiple of 32, from 32 to 1024.
    carveout : int or None
        Percentage of the on-chip memory that shared memory prefers, 0 to 100; the rest is L1
        cache. -1 leaves it to the driver.
    """

    threads_relax: int | None = None
    threads_minimum: int | None = None
    threads_update: int | None = None
    carveout: int | None = None

    def __post_init__(self) -> None:
        for name in ("threads_relax", "threads_minimum", "threads_update"):
            value = getattr(self, name)
            if value is not None and (value % 32 or not 32 <= value <= 1024):
                raise OptionError(f"{name} is {value}: give a multiple of 32 from 32 to 1024")
        if self.carveout is not None and not -1 <= self.carveout <= 100:
            raise OptionError(f"carveout is {self.carveout}: give a percentage, 0 to 100, or -1")


def check_limit(limit: Any, dtype: np.dtype[Any]) -> int | float | None:
    """Return the inclusive limit as a Python int (integer distances) or float, or None.

    The source has distance 0 and belongs to every answer, so limits are at least 0 even with
    negative weights.
    """
    if limit is None:
        return None
    if not isinstance(limit, (int, float, np.number)) or isinstance(limit, bool):
        raise OptionError(f"{keyword('limit')} is {quoted(limit)}: give a number")
    if isinstance(limit, np.integer):
        limit = int(limit)
    if isinstance(limit, int) and limit.bit_length() > 1000:  # too large for a float
        limit = math.inf if limit > 0 else -math.inf
    if math.isnan(limit):
        raise OptionError(f"{keyword('limit')} is NaN: give a number")
    if limit < 0:
        raise OptionError(
            f"{keyword('limit')} is {limit}: give at least 0, the distance of the source itself"
        )
    if limit == math.inf:
        return None
    if dtype.kind == "f":
        return float(limit)
    exact = limit if isinstance(limit, int) else math.floor(limit)
    return None if exact >= np.iinfo(np.int64).max else int(exact)


def check_above_zero(**values: Any) -> None:
    """Refuse values that are not finite numbers greater than 0, by name."""
    for name, value in values.items():
        if not (_is_finite(value) and value > 0):
            raise OptionError(f"{name} is {quoted(value)}: give a number greater than 0")


def file_name(given: Any) -> str:
    """Return the name of a file as text, or refuse another argument."""
    try:
        return os.fsdecode(given)
    except TypeError:
        raise OptionError(f"file is {quoted(given)}: give the name of a file") from None


@functools.cache
def _kinds(annotation: str) -> tuple[str, ...]:
    """Return the kinds in an annotation, or nothing if this module does not check one of them."""
    kinds = tuple(annotation.split(" | "))
    return kinds if _KINDS.keys() >= set(kinds) else ()


def check_kind(owner: str, name: str, value: Any, annotation: str) -> None:
    """Refuse a value whose kind does not match an option's annotation.

    Only annotations of bools, numbers and strings are checked; the owner of an option checks the
    others.
    """
    kinds = _kinds(annotation)
    for kind in kinds:
        if _KINDS[kind][0](value):
            return
    if kinds:
        wanted = ", or ".join(_KINDS[kind][1] for kind in kinds)
        raise OptionError(f"{owner}: {name} is {quoted(value)}: give {wanted}")


@functools.cache
def _defaults(cls: type[Any]) -> Any:
    """Return the options of a class if none are given; they are frozen."""
    return cls()


def build_options(
    cls: type[Any],
    given: Mapping[str, Any],
    variant: str,
    having: Callable[[str], list[str]] = lambda _: [],
) -> Any:
    """Build the options of a variant; ``having`` returns the ids of variants with an option."""
    if not given:
        return _defaults(cls)  # type: ignore[arg-type]  # classes can be hashed
    fields = {field.name: str(field.type) for field in dataclasses.fields(cls)}
    known = list(fields)
    for name in given:
        if name not in known:
            if name in _SYNONYMS:
                raise OptionError(f"no option {quoted(name)}: use {_SYNONYMS[name]}")
            has = f"it has: {', '.join(known)}" if known else "it has none"
            near = did_you_mean(name, [*known, *_KEYWORDS])
            if others := having(name):
                near = f"; {listed(others, 5)} {'has' if len(others) == 1 else 'have'} it"
            raise OptionError(f"{variant} has no option {quoted(name)}: {has}{near}")
        check_kind(variant, name, given[name], fields[name])
    return cls(**given)
