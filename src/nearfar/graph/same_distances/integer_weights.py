"""Graphs whose weights are integers, stored in another dtype than int32.

Sums of integers are exact in every dtype up to a bound that depends on it, so a search in int32
finds the same distances as one in int64, float32 or float64, with less memory to read. A path whose
sum is beyond the bound is at least as long in floats, which round monotonically. So the distances
agree unless one of them is beyond it, which shows afterwards.
"""

from __future__ import annotations

import numpy as np

from nearfar.errors import GraphError
from nearfar.graph.graph import AS_TYPE, Graph
from nearfar.graph.saturation import FARTHEST
from nearfar.graph.slots import Slot

INT32 = np.dtype(np.int32)
#: Greatest distance up to which a search in int32 has the same result as one in another dtype.
AGREES_UP_TO = {
    np.dtype(np.int64): FARTHEST[INT32],
    np.dtype(np.float32): 2**24,
    np.dtype(np.float64): FARTHEST[INT32],
}
#: Number of edges from which searches in int32 save more than the conversions take.
MANY_EDGES = 1 << 12
_IN_INT32: Slot[Graph | None] = Slot("integer weights in int32")


def in_int32(graph: Graph) -> Graph | None:
    """Return a graph of another dtype in int32, if all weights are small integers; cached."""
    return _IN_INT32.of(graph, lambda: _converted(graph))


def keep_dtype(graph: Graph) -> None:
    """Search a graph with the given weights from now on: distances are beyond the bound."""
    _IN_INT32.put(graph, None)
    AS_TYPE.take(graph, INT32)


def _converted(graph: Graph) -> Graph | None:
    if graph.n_negative or graph.has_equal_weights:
        return None
    if graph.max_weight > AGREES_UP_TO[graph.weight_dtype]:
        return None
    sample = graph.weight_sample()
    if not np.array_equal(sample, np.floor(sample)):
        return None
    try:
        return graph.astype(INT32)
    except (GraphError, MemoryError):
        return None
