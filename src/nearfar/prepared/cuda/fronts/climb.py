"""Climbs from vertices to all their ancestors, a warp each; see climb.cuh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.prepared.cuda.shapes import climb_form
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.prepared.cuda.query import Query

__all__ = ["add_climb", "climb_arguments"]


def climb_arguments(
    query: Query, arcs: tuple[Any, Any, Any], unit: int = 0, stop: Any = None
) -> dict[str, Any]:
    """Arguments of a climb along arcs without its jumps; the sources are set for each block."""
    node, head_depth, weight = arcs
    return {
        "node": node,
        "head_depth": head_depth,
        "weight": weight,
        "label": query.tree.label,
        "sources": None,
        "count": np.int32(0),
        "unit": np.int32(unit),
        "stop": stop,
        "labels": query.labels,
        "space": query.space,
        "pitch": np.int64(query.pitch),
        "height": np.int32(query.tree.height),
    }


def add_climb(query: Query, arguments: dict[str, Any]) -> None:
    """Add the climb, the first launch of a query."""
    tree = query.tree
    form, warps, shared = climb_form(tree.height, query.dtype.itemsize)
    program = runtime.program("prepared/cuda/fronts/climb.cuh", {**tree.macros, **form})
    given = {**arguments, "jump": tree.jump}
    query.add(program.kernel("climb"), -(-query.pitch // warps), 32 * warps, given, shared)
