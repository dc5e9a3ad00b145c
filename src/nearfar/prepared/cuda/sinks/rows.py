"""Rows and tables of a prepared graph on one CUDA device, brought to where they belong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nearfar.prepared.cpu.exact import polish
from nearfar.prepared.cuda.bottoms.sweep import Sweep
from nearfar.prepared.cuda.bottoms.tiles import TileSweep, row_sweep
from nearfar.prepared.cuda.shapes import padded
from nearfar.prepared.cuda.sinks.exact import Restoration
from nearfar.system.devices import landing, runtime
from nearfar.system.devices.several import copy_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfar.prepared.prepared import Prepared

__all__ = ["DeviceRows", "RowForm"]


@dataclass(frozen=True, slots=True)
class RowForm:
    """What rows are wanted.

    Attributes
    ----------
    columns : int64 array or None
        Vertices of a table; None for whole rows.
    home : int or None
        The device that the rows go to; None for the host.
    advice : str
        What to do when memory is short.
    threads : int
        Of the host, for floats of which some are negative.
    """

    columns: Any
    home: int | None
    advice: str
    threads: int


class DeviceRows:
    """Blocks of rows on the current device, one after the other in the same scratch memory.

    Parameters
    ----------
    prepared : Prepared
    form : RowForm
    each : int
        Rows per block, at most.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """

    def __init__(self, prepared: Prepared, form: RowForm, each: int) -> None:
        cp = runtime.cupy()
        self.prepared, self.form = prepared, form
        dtype = prepared.answer_dtype
        exact = prepared.adds_floats
        # With negative weights the sums are restored on the host, which knows potentials.
        self.on_host = exact and prepared.n_negative > 0
        self.cut = exact and form.columns is not None
        self.whole = form.columns is None or exact
        sweep = row_sweep(prepared, each) if self.whole else Sweep(prepared, None, each)
        self.sweep = sweep
        labels = sweep.tree.label
        self.place = labels if self.whole else labels[runtime.upload(form.columns)]
        held = each * len(self.place) * dtype.itemsize * (1 + self.cut)
        if form.home == runtime.device().ordinal and not self.cut and not self.on_host:
            held = 0
        needed = sweep.scratch_bytes(each) + sweep.values_bytes(each)
        runtime.require_memory(needed + held, form.advice)
        self.restore = Restoration(prepared, each) if exact and not self.on_host else None
        self.values = cp.empty((sweep.n_kept, padded(each)), dtype=sweep.dtype)

    def __call__(self, sources: NDArray[Any], out: Any) -> None:
        """Make some rows.

        Parameters
        ----------
        sources : int64 array, shape (k,)
        out : array, shape (k, width)
            On the host or on the device of the form: complete when the current stream is done.
        """
        cp = runtime.cupy()
        home = self.form.home
        here = home == runtime.device().ordinal
        in_place = here and not self.cut and not self.on_host
        shape = (len(sources), len(self.place))
        rows = out if in_place else cp.empty(shape, dtype=self.prepared.answer_dtype)
        if isinstance(self.sweep, TileSweep) or self.whole:
            self.sweep.rows(self.values, rows)(sources)
        else:
            self.sweep.transposed(self.values, self.place, rows)(sources)
        if self.restore is not None:
            self.restore(sources, rows)
            if self.cut:
                rows = cp.ascontiguousarray(rows[:, runtime.upload(self.form.columns)])
        if self.on_host:
            found = runtime.download(rows)
            polish(self.prepared, sources, found, self.form.threads)
            found = found if self.form.columns is None else found[:, self.form.columns]
            if home is None:
                out[...] = found
                return
            rows = runtime.upload(found)
        if home is None:
            landing.download(rows, out, self.form.threads)
        elif not in_place:
            copy_to(out, home, rows)
