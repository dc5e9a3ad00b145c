"""Whether a prepared graph fits a CUDA device, before anything of it is brought there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.graph.slots import Slot
from nearfar.prepared.cuda.shapes import UNIT
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

__all__ = ["factor_bytes", "require_factor"]

_FITS: Slot[bool] = Slot("fits the device")
_LABEL = 64  # bytes per label of the tree, whatever the weights


def factor_bytes(prepared: Prepared) -> int:
    """Bytes that rows take on a CUDA device, besides the rows: at least, and not much less.

    Parameters
    ----------
    prepared : Prepared

    Returns
    -------
    int
        Tree, arcs up and down, and the distances of one block of sources.
    """
    metric, figures = prepared.metric, prepared.preparation.figures
    size = metric.dtype.itemsize
    arcs = metric.n_swept * (4 + size) * (1 + metric.sides)
    values = UNIT * size * (prepared.n_vertices + figures.height)
    return prepared.n_vertices * _LABEL + arcs + values


def require_factor(prepared: Prepared) -> None:
    """Refuse what does not fit the current device, before anything is allocated.

    Parameters
    ----------
    prepared : Prepared

    Raises
    ------
    OutOfMemoryError
        With the bytes that tree and arcs take.
    """
    here = runtime.device().ordinal
    if _FITS.filled(prepared, here):
        return
    runtime.require_memory(
        factor_bytes(prepared),
        f"a tree of {prepared.n_vertices:,} labels with {prepared.metric.n_swept:,} arcs: use "
        "device='cpu', or a GPU with more memory",
    )
    _FITS.put(prepared, True, here)
