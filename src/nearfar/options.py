"""Small frozen dataclasses of options that families share, and how keywords become them.

A variant names its options class in its registration. Users pass keywords to ``sssp``; they are
checked against the dataclass here, so that every family reports a misspelt or out-of-range option
alike.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nearfar.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DeltaOptions", "LaunchOptions", "NoOptions", "build_options"]


_NUMBERS = {"int", "float", "None"}


@dataclass(frozen=True, slots=True)
class NoOptions:
    """For a variant that takes none."""


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

    None takes what ``nearfar tune`` stored for this device and class of graph, else 256 threads and
    the driver's own carve-out.

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


def build_options(cls: type[Any], given: Mapping[str, Any], variant: str) -> Any:
    """Make the options object of a variant from keywords.

    Raises
    ------
    OptionError
        For a name that the variant does not know; the message lists those that it does. For text
        where it takes a number.
    """
    fields = {field.name: str(field.type) for field in dataclasses.fields(cls)}
    known = list(fields)
    for name in given:
        if name not in known:
            has = f"it has: {', '.join(known)}" if known else "it has none"
            raise OptionError(f"{variant} has no option {name!r}: {has}{did_you_mean(name, known)}")
        if isinstance(given[name], str) and set(fields[name].split(" | ")) <= _NUMBERS:
            raise OptionError(f"{variant}: {name} is {given[name]!r}: give a number")
    return cls(**given)
