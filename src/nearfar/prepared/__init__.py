"""Prepared graphs: an elimination order with its shortcuts, made once and asked many times.

Eliminating vertices in a nested-dissection order joins the neighbours of each by shortcuts; where
separators are small there are few, and every query becomes a walk to the root of the elimination
tree (Dibbelt, Strasser and Wagner 2016, "Customizable contraction hierarchies"; in matrix words, a
min-plus Cholesky factor).

``order`` finds in which order to eliminate (``reduce.cpp``, ``dissect.cpp``), ``tree`` what that
makes of the graph, before any shortcut is built (``symbolic.cpp``); both are the ``preparation``.
``metric`` gives the arcs their weights (``customize``), and ``prepared`` holds it all: made by
``prepare``, asked point queries by ``pairs`` (``walk``, ``unpack``) and ``labels``; ``exact`` is
for the sums of floats. ``cpu`` registers variants (``sweep``), so that ``sssp``, ``distances`` and
``all_pairs`` take a prepared graph as any other; ``stored`` and ``file`` keep it on disk.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

__all__ = ["is_prepared"]


def is_prepared(graph: object) -> TypeGuard[Prepared]:
    """Whether it is a prepared graph; a search on another one need not import what makes one."""
    module = sys.modules.get("nearfar.prepared.prepared")
    return module is not None and isinstance(graph, module.Prepared)
