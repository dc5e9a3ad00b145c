"""Options of the near-far family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nearfar.errors import OptionError, quoted
from nearfar.graph.graph import Graph
from nearfar.options import DeltaOptions
from nearfar.registry import Request

TRAVERSALS = ("thread", "cooperative_blocks", "cta_warp_scan", "load_balanced")
DUPLICATES = ("owners", "claim")


def _check(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise OptionError(f"{what} is {quoted(value)}: use one of {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Options of Workfront Sweep.

    Parameters
    ----------
    traversal : str
        Distribution of edges among threads: ``thread``, ``cooperative_blocks``, ``cta_warp_scan``
        or ``load_balanced``.
    duplicates : str
        ``owners``: queue freely, then keep the entry that a lookup table names as the vertex's
        owner (as in the paper). ``claim``: a vertex enters the queue only once per iteration, by
        an atomic.
    """

    traversal: str = "load_balanced"
    duplicates: str = "owners"

    def __post_init__(self) -> None:
        _check("traversal", self.traversal, TRAVERSALS)
        _check("duplicates", self.duplicates, DUPLICATES)


@dataclass(frozen=True, slots=True)
class NearFarOptions(DeltaOptions):
    """Options of Near-Far and its hybrid.

    Parameters
    ----------
    delta : float or None
        Step of the threshold in units of the weights. None means 32 * mean weight / mean degree.
    traversal, duplicates : str
        As for ``workfront_sweep@cuda``.
    """

    traversal: str = "load_balanced"
    duplicates: str = "claim"

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        _check("traversal", self.traversal, TRAVERSALS)
        _check("duplicates", self.duplicates, DUPLICATES)


@dataclass(frozen=True, slots=True)
class BucketOptions(NearFarOptions):
    """Options of Bucketing.

    Parameters
    ----------
    delta : float or None
        Width of a bucket in units of the weights. None means 32 * mean weight / mean degree.
    traversal, duplicates : str
        As for ``workfront_sweep@cuda``.
    buckets : int
        Buckets before the far pile, 2 to 15.
    """

    buckets: int = 10

    def __post_init__(self) -> None:
        NearFarOptions.__post_init__(self)
        if isinstance(self.buckets, bool) or self.buckets not in range(2, 16):
            raise OptionError(f"buckets is {quoted(self.buckets)}: give an integer from 2 to 15")


def counts_fit(graph: Graph, request: Request) -> Literal[True] | str:
    """Return True, or the reason why the counters of a near set may overflow one 64-bit atomic.

    With 32-bit offsets each has 32 bits. With 64-bit ones edges take 36 and leave 28 for vertices
    (``kEdgeBits`` of state.cuh).
    """
    if graph.index_dtype.itemsize == 4:
        return True
    if graph.n_vertices >= 2**28:
        return (
            f"{graph.n_vertices} vertices with 64-bit offsets: the near set's counters hold fewer "
            "than 2^28 (use near_far@cuda)"
        )
    if graph.n_edges >= 2**36:
        return f"{graph.n_edges} edges: the near set's counters hold fewer than 2^36"
    return True
