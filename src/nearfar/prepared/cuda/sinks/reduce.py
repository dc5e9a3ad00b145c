"""Reductions on CUDA devices: whether they need whole rows, and their division among devices."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.graph.saturation import may_saturate
from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.shapes import padded
from nearfar.prepared.cuda.sinks.reduction import DeviceReduction, has_room
from nearfar.prepared.prepared import Prepared
from nearfar.registry import Answer, Partial, RowReduction
from nearfar.system.devices import runtime, several

_READY: Slot[DeviceReduction] = Slot("reduction that was used last on the device")


def reduces(prepared: Prepared, reduction: RowReduction, width: int) -> bool:
    """Return whether a reduction does not need whole rows.

    Floats with the sums of a search need them: these are restored in whole rows. So do floats in
    fixed point that may be too large for their dtype.
    """
    if prepared.n_negative or not width or prepared.adds_floats:
        return False
    # steps do not show that a float overflows
    if prepared.fixed is not None and may_saturate(prepared):
        return False
    return has_room(reduction, prepared)


def reduced(
    prepared: Prepared,
    reduction: RowReduction,
    columns: NDArray[np.int64] | None,
    limit: Any,
    most: int,
    each: Callable[[int], int],
    table: bool,
    sources: NDArray[np.int64],
    devices: Sequence[int],
) -> Answer:
    """Reduce the rows of some sources on devices that share them.

    Planning the launches takes the host as long as some hundred sources take the device, so the
    last plan is cached if it holds little memory. A call removes it from the cache while it runs,
    since a plan's arrays serve one call at a time.
    """

    def steps(
        part: NDArray[np.int64],
    ) -> Generator[None, None, tuple[Partial, dict[str, Any]] | None]:
        here = runtime.device().ordinal
        wanted = -(-len(part) // -(-len(part) // most))  # sources per sweep, equal sizes
        form = (reduction, limit, padded(wanted))
        made = _READY.take(prepared, here) if columns is None else None
        if made is None or made.form != form or not made.query.restore():
            made = DeviceReduction(prepared, reduction, columns, limit, each(wanted), table)
            made.form = form
        found = yield from made.steps(part)
        if made.on_the_way:  # small once its distances are released
            made.query.release()
            _READY.put(prepared, made, here)
        return found

    share = -(-len(sources) // len(devices))
    parts = [sources[low : low + share] for low in range(0, len(sources), share)]
    shares, failed = several.in_turns(parts, devices, steps)
    found = [one for one in shares if one is not None]
    if len(found) < len(parts):
        return Answer(None)
    stats: dict[str, Any] = {"sweeps": sum(counted["sweeps"] for _, counted in found)}
    if len(devices) > 1:
        stats["devices"] = list(devices)
    else:
        stats["device_seconds"] = sum(counted["device_seconds"] for _, counted in found)
    if failed:
        stats["failed_devices"] = {at: str(error) for at, error in failed.items()}
    return Answer(None, stats, partials=[partial for partial, _ in found])
