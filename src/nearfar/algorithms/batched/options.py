"""Options of the variants for many sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nearfar.errors import OptionError, quoted
from nearfar.graph.graph import Graph
from nearfar.options import DeltaOptions

#: Below this number of vertices the queue is short and a heap costs less than a ring of buckets.
BUCKETS_FROM = 512


@dataclass(frozen=True, slots=True)
class LaneOptions:
    """Options of ``lanes@cpu``.

    Parameters
    ----------
    width : {8, 16, 32, 64} or None
        Sources per sweep, rounded to a number that the type of the lanes supports. None means two
        cache lines per vertex: 64 lanes of 16 bits, 32 of 32 bits or 16 of 64 bits.
    delta : float or None
        Width of a bucket in units of the weights, greater than 0; None means a quarter of the mean
        weight.
    """

    width: int | None = None
    delta: float | None = None

    def __post_init__(self) -> None:
        if self.width not in (None, 8, 16, 32, 64):
            raise OptionError(f"width is {quoted(self.width)}: give 8, 16, 32 or 64, or None")
        if self.delta is not None and not self.delta > 0:
            raise OptionError(f"delta is {self.delta}: give a number greater than 0, or None")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of ``worker_per_source@cpu``.

    Parameters
    ----------
    queue : {"heap", "buckets"} or None
        A 4-ary heap (Dijkstra's method) or a ring of buckets (sequential delta-stepping). None
        means buckets from 512 vertices on.
    """

    queue: Literal["heap", "buckets"] | None = None

    def __post_init__(self) -> None:
        if self.queue not in (None, "heap", "buckets"):
            raise OptionError(f"queue is {quoted(self.queue)}: use 'heap', 'buckets' or None")

    def buckets(self, graph: Graph) -> bool:
        """Return whether searches of this graph order their vertices in buckets."""
        if self.queue is not None:
            return self.queue == "buckets"
        return graph.n_vertices >= BUCKETS_FROM


@dataclass(frozen=True, slots=True)
class BlockOptions(DeltaOptions):
    """Options of ``block_per_source@cuda`` and ``block_per_source_global@cuda``.

    Parameters
    ----------
    delta : float or None
        Step of the threshold in units of the weights; None means the mean weight in the shared
        layout (4 times it below 4 edges per vertex) and 16 times it in the global one.
    slot_bits : {16, 32, 64} or None
        Bits per distance in shared memory. None tries 16 for integers if more blocks then fit; rows
        that do not fit are repeated. Floats always have the bits of the weights.
    block_threads : {128, 256, 512, 1024} or None
        Threads per block; None fills the multiprocessor with as many blocks as their memory allows.
    lists : bool or None
        Whether a warp lists the vertices of its words before relaxing them, in 8 bytes of shared
        memory per thread. None means True for int32 weights and at least 20,000 vertices.
    """

    slot_bits: int | None = None
    block_threads: int | None = None
    lists: bool | None = None

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        if self.slot_bits not in (None, 16, 32, 64):
            raise OptionError(f"slot_bits is {quoted(self.slot_bits)}: give 16, 32 or 64, or None")
        if self.block_threads not in (None, 128, 256, 512, 1024):
            raise OptionError(
                f"block_threads is {quoted(self.block_threads)}: give 128, 256, 512 or 1024, or "
                "None"
            )
