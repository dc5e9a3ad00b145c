"""Solving of requests for one or many sources: check, choose, run, widen, mask and finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.solve.k_nearest import Nearest
    from nearfar.solve.negative_cycles import NegativeCycle, potentials
    from nearfar.solve.rows.reductions import Reduction
    from nearfar.solve.rows.row_files import read_rows

__all__ = ["Nearest", "NegativeCycle", "Reduction", "potentials", "read_rows"]

_NAMES = {
    "k_nearest": ("Nearest",),
    "negative_cycles": ("NegativeCycle", "potentials"),
    "rows.reductions": ("Reduction",),
    "rows.row_files": ("read_rows",),
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
