"""Options of the one-launch form."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from nearfar.errors import OptionError
from nearfar.options import DeltaOptions


@dataclass(frozen=True, slots=True)
class OneLaunchOptions(DeltaOptions):
    """Options of the one-launch form; the defaults were measured and suit most graphs.

    Parameters
    ----------
    delta : float or None
        First step of the threshold in units of the weights. None means 32 * mean weight / mean
        degree, times 1/4 (sparse; 1/5 with packed distances) or 1/2 (dense),
        with twice the median where that is less than the mean weight, and at least 8 times the
        least weight. It learns from the solves of a graph.
    delta_growth : float or None
        Factor of the first step up to which delta grows while the near set is thin, at least 1.
        None begins with 12 and learns from the solves of a graph.
    target_near : int or None
        Entries of the near set towards which delta adapts; None means 32 per multiprocessor.
    local_limit : int or None
        Number of entries up to which blocks advance on their own; 0 never. None means 256 per
        multiprocessor, and no more than have 1024 edges.
    local_rounds : int
        Rounds that a block advances on its own.
    local_leave : int
        Length of a block's list above which it is returned to the whole device; a quarter of it
        while there are fewer entries than blocks.
    queue_factor : float
        Capacity of each queue over the number of vertices, at least 1.
    sort_rows : bool or None
        Sort the edges of each vertex by weight on the device, once per graph, so that an edge is
        scanned only when its sum is due. None sorts long rows once solves have together taken as
        long.
    distance_bits : int or None
        8 or 16: keep distances in this number of bits while solving; a solve whose distances do
        not fit is repeated. 0 means full distances. None packs those of large sparse graphs that
        should fit.
    shortcuts : bool or None
        Bypass vertices of few edges on weighted graphs, prepared once per graph. None does so up
        to a mean degree of 3 if that removes at least a quarter of the vertices.
    pull_share : int
        With sorted or sifted rows, on an undirected graph: open vertices scan their own edges once
        they have fewer than one in ``pull_share`` of all edges; 0 never.
    eager_growth : float
        Factor of delta from then on.
    """

    delta_growth: float | None = None
    target_near: int | None = None
    local_limit: int | None = None
    local_rounds: int = 1000
    local_leave: int = 512
    queue_factor: float = 1.5
    sort_rows: bool | None = None
    distance_bits: int | None = None
    shortcuts: bool | None = None
    pull_share: int = 16
    eager_growth: float = 1000.0

    def __post_init__(self) -> None:
        DeltaOptions.__post_init__(self)
        for name in (
            "delta_growth",
            "local_rounds",
            "local_leave",
            "queue_factor",
            "eager_growth",
        ):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise OptionError(f"{name} is {getattr(self, name)}: give at least 1")
        for name in ("target_near", "local_limit", "pull_share"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise OptionError(f"{name} is {value}: give 0 or more, or None")
        if self.distance_bits not in (None, 0, 8, 16):
            raise OptionError(f"distance_bits is {self.distance_bits}: give 0, 8, 16 or None")
        if self.sort_rows and self.distance_bits:
            raise OptionError("sort_rows and distance_bits cannot be combined: give one of them")

    @property
    def tuned(self) -> bool:
        """Whether options of the plain form were set, which is then the form to run."""
        return _tuned(self)


@functools.lru_cache(maxsize=64)
def _tuned(options: OneLaunchOptions) -> bool:
    kept = ("delta_growth", "sort_rows", "distance_bits", "pull_share", "eager_growth")
    return options != OneLaunchOptions(**{name: getattr(options, name) for name in kept})
