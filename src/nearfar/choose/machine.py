"""Speed of this machine relative to the machines on which the cost models were fitted.

Costs are seconds on the default machines: two cores of an AMD EPYC, and an H200 over PCI Express.
``nearfar tune`` measures the current machine and stores one factor per variant and the speed of
transfers in ``machine.json`` in the cache folder; later estimates are scaled by them. The file has
one entry per processor and per GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nearfar.errors import VariantUnavailable
from nearfar.system import cache
from nearfar.system.devices import runtime
from nearfar.system.host import processor_name
from nearfar.system.threads import default_threads

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Machine:
    """Speeds of one processor or one GPU."""

    # ratio of measured to modelled seconds by variant id; 1 for variants that were not measured
    factors: dict[str, float] = field(default_factory=dict)
    transfer: float = 0.0  # bytes per second between host memory and the device; 0 for a processor
    # seconds of a call that launches one kernel and reads its counters; 0 for a processor
    launch: float = 0.0
    gain: float = 0.0  # speedup of two workers over one; 0 for a GPU
    measured: str = ""  # date of the measurement; empty for the defaults

    def factor(self, identity: str) -> float:
        """Return the factor by which a variant's modelled seconds are multiplied."""
        return self.factors.get(identity, 1.0)


#: Defaults: the machines on which the models were fitted.
CPU = Machine(gain=1.5)
H200 = Machine(transfer=12e9, launch=1e-4)


#: Number of changes to the file by this process; each invalidates choices.
generation = 0


def profile_path() -> Path:
    """Return the path of the file of measured speeds: ``machine.json`` in the cache folder."""
    return cache.folder() / "machine.json"


@functools.cache
def processor() -> str:
    """Return the name of the processor, with its number of cores."""
    return f"cpu: {processor_name()}, {default_threads()} cores"


def graphics() -> str:
    """Return the name of the GPU."""
    return f"cuda: {runtime.device().name}"


def stored() -> dict[str, Any]:
    """Return all entries of the file."""
    return cache.load(profile_path(), "machines", _FORMAT)


def machine(device: str) -> Machine:
    """Return the speeds of the processor (``"cpu"``) or GPU (``"cuda"``) of this machine.

    Without a GPU the speeds for ``"cuda"`` are the defaults, those of an H200.
    """
    default = H200 if device == "cuda" else CPU
    entries = stored()
    if not entries:
        return default
    try:
        entry = entries[graphics() if device == "cuda" else processor()]
        return Machine(
            factors={str(name): float(value) for name, value in entry["factors"].items()},
            transfer=float(entry["transfer"]),
            launch=float(entry["launch"]),
            gain=float(entry["gain"]),
            measured=str(entry["measured"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, VariantUnavailable):
        return default


def _change(change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change the entries of the file."""
    global generation
    generation += 1
    cache.update(profile_path(), "machines", _FORMAT, change, "machine speeds")


def store(name: str, found: Machine) -> Path:
    """Store the speeds of a processor or GPU, and return the path of the file."""
    _change(lambda known: {**known, name: asdict(found)})
    return profile_path()


def reset() -> bool:
    """Delete the measured speeds, so that the defaults apply; return whether there were any."""
    had = bool(stored())
    if had:
        _change(lambda _: {})
    return had
