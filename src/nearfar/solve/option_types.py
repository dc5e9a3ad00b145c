"""Options of all methods for type checkers; written by ``python -m docs.generators``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from nearfar.options import Devices

__all__ = ["MethodOptions", "SearchOptions"]


class _Shared(TypedDict, total=False):
    """Options of methods for one source."""

    ahead_rounds: int | None
    alpha: float
    arity: int
    balls: bool | None
    beta: float
    block_threads: int | None
    buckets: int
    carveout: int | None
    child_edges: int
    constant_degree: bool
    criterion: Literal["out", "in_out"]
    delta: float | None
    delta_growth: float | None
    distance_bits: int | None
    duplicates: str
    eager_growth: float
    level_bits: int | None
    local_leave: int
    local_limit: int | None
    local_rounds: int | None
    parts: int | None
    pivot_rounds: int | None
    pull_share: int
    queue_factor: float
    shortcuts: bool | None
    sort_rows: bool | None
    sums: Literal["fixed", "search"]
    sweep: bool | int | None
    target_near: int | None
    thin_limit: int | None
    threads_minimum: int | None
    threads_relax: int | None
    threads_update: int | None
    transpose: bool | None
    traversal: str


class SearchOptions(_Shared, total=False):
    """Options of the functions for one source."""

    devices: Devices | int


class MethodOptions(_Shared, total=False):
    """Options of the functions for many sources."""

    exact: bool
    force: bool
    inner: Literal["lanes", "worker_per_source"]
    lanes: int
    lists: bool | None
    queue: Literal["heap", "buckets"] | None
    slot_bits: int | None
    width: int | None
