"""Choice of a method for ``auto``: variants are ranked by their registered costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.choose.ranking import Choice, Explanation, best, explain, rank

__all__ = ["Choice", "Explanation", "best", "explain", "rank"]

_NAMES = {"ranking": ("Choice", "Explanation", "best", "explain", "rank")}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
