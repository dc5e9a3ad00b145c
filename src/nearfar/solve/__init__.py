"""Solve a request in steps: check, choose, run, widen, mask and finish, for one source or many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.solve.k_nearest import Nearest
    from nearfar.solve.negative_cycles import NegativeCycle, potentials
    from nearfar.solve.rows.reductions import Reduction
    from nearfar.solve.rows.row_files import read_rows

__all__ = ["Nearest", "NegativeCycle", "Reduction", "potentials", "read_rows"]

_WHERE = {
    "Nearest": "k_nearest",
    "NegativeCycle": "negative_cycles",
    "Reduction": "rows.reductions",
    "potentials": "negative_cycles",
    "read_rows": "rows.row_files",
}

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
