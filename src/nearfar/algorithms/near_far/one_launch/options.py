"""Options of the one-launch variant."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from nearfar.errors import OptionError
from nearfar.options import DeltaOptions


@dataclass(frozen=True, slots=True)
class OneLaunchOptions(DeltaOptions):
    """Options of ``near_far@cuda`` and ``near_far_per_source@cuda``.

    Parameters
    ----------
    delta : float or None
        First step of the threshold in units of the weights. None means 32 * mean weight / mean
        degree times 1/4 (sparse graphs; 1/5 with packed distances) or 1/2 (dense graphs), but at
        least 8 times the least weight; twice the median replaces a larger mean weight. The value
        adapts over the solves of a graph.
    delta_growth : float or None
        Multiple of the first step up to which delta grows while the near set is thin and does not
        grow by itself, at least 1. None is 12, but a first solve also tries wider and narrower
        steps and keeps those that cover more distance per time; later solves begin with their mean.
    target_near : int or None
        Size of the near set that delta aims at; None means 32 entries per multiprocessor.
    local_limit : int or None
        Number of entries up to which blocks advance on their own, or 0 for never. None means 256
        per multiprocessor, or fewer if these have more than 1024 edges.
    local_rounds : int or None
        Rounds for which a block advances on its own. None begins with 1000 and adapts over the
        solves of a graph.
    local_leave : int
        Length above which the list of a block is returned to the whole device; a quarter of this
        while there are fewer entries than blocks.
    queue_factor : float
        Capacity of each queue over the number of vertices, at least 1.
    sort_rows : bool or None
        Whether to sort the edges of each vertex by weight on the device, once per graph, so that an
        edge is scanned only when its sum is due. None sorts long rows once solves have taken as
        long in total as the sort.
    distance_bits : int or None
        Bits per distance during the solve, 8 or 16; a solve whose distances do not fit is repeated.
        0 means full distances. None packs the distances of large sparse graphs if they are expected
        to fit.
    shortcuts : bool or None
        Whether to bypass vertices of few edges in weighted graphs, prepared once per graph. None
        does so up to a mean degree of 3 if that removes at least a quarter of the vertices.
    pull_share : int
        With sorted or sifted rows of an undirected graph: open vertices scan their own edges once
        they have fewer than 1 / ``pull_share`` of all edges; 0 means never.
    eager_growth : float
        Multiple of delta that is used from then on.
    """

    delta_growth: float | None = None
    target_near: int | None = None
    local_limit: int | None = None
    local_rounds: int | None = None
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
        """Whether options of the plain form were set, so that this form runs."""
        return _tuned(self)


@functools.lru_cache(maxsize=64)
def _tuned(options: OneLaunchOptions) -> bool:
    kept = ("delta_growth", "sort_rows", "distance_bits", "pull_share", "eager_growth")
    return options != OneLaunchOptions(**{name: getattr(options, name) for name in kept})
