"""Prepared graphs: an elimination order with its shortcuts, built once for many queries.

Eliminating vertices in a nested-dissection order joins the neighbours of each by shortcuts. Where
separators are small, shortcuts are few, and a query is a walk to the root of the elimination
tree (Dibbelt, Strasser and Wagner 2016, "Customizable contraction hierarchies"; in matrix words, a
min-plus Cholesky factor).

There is a folder per part:

- ``order``: the elimination order (``elimination``; ``reduce.cpp``, ``dissect.cpp``) and the
  resulting tree (``tree``, ``symbolic.cpp``), without any shortcuts.
- ``metric``: weights of the arcs, on the host.
- ``cpu``: queries on the host, by walks, labels and sweeps; ``exact`` restores sums of floats.
- ``cuda``: queries on a device, each composed of a front, a bottom and a sink.
- ``files``: the file of a prepared graph.

``prepared`` has the class, which ``prepare`` builds; ``variants_cpu`` and
``variants_cuda`` register it, so that ``sssp``, ``distances`` and ``all_pairs`` take a prepared
graph as any other. ``guess``, ``outlook`` and ``first`` estimate the cost of preparing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from nearfar.prepared.prepared import Prepared

__all__ = ["is_prepared"]


def is_prepared(graph: object) -> TypeGuard[Prepared]:
    """Return whether a graph is prepared, without importing the modules that prepare."""
    module = sys.modules.get("nearfar.prepared.prepared")
    return module is not None and isinstance(graph, module.Prepared)
