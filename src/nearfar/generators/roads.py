"""Shared steps of the road families: travel times, one-way streets, the largest component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.generators import common
from nearfar.graph.graph import Graph

SPEEDS = (30.0, 50.0, 70.0, 110.0)  # km/h: street, wider street, arterial, motorway


@dataclass(frozen=True, slots=True)
class Streets:
    """Segments of streets between points, before directions and weights."""

    # sources, targets: shape (k,); the ends of each segment
    sources: NDArray[Any]
    targets: NDArray[Any]
    street: NDArray[Any]  # shape (k,); the street that it is part of
    speeds: NDArray[np.float64]  # shape (streets,); in km/h
    # closed, backward: shape (streets,); whether a street is open in one direction only, and
    # whether that one leads from its targets to its sources
    closed: NDArray[np.bool_]
    backward: NDArray[np.bool_]
    points: NDArray[np.float64]  # shape (n, 2); of each place, in metres


def network(
    streets: Streets,
    family: str,
    weight: str,
    dtype: np.dtype[Any] | None,
    *,
    directed: bool,
    strongly_connected: bool,
    seed: int,
) -> Graph:
    """Weigh the segments, list their open directions, keep the largest part.

    ``weight`` is ``"time"`` or ``"length"``: milliseconds or centimetres for integers, seconds or
    metres for floats.
    """
    sources, targets = streets.sources, streets.targets
    street, points = streets.street, streets.points
    gap = points[sources] - points[targets]
    gap *= gap
    lengths = np.sqrt(gap[:, 0] + gap[:, 1])
    values, unit = lengths, "m"
    if weight == "time":
        values, unit = lengths / streets.speeds[street] * 3.6, "s"
    weights: NDArray[Any] | None = None
    if dtype is not None and dtype.kind == "i":
        scale, unit = (100.0, "cm") if weight == "length" else (1000.0, "ms")
        weights = np.maximum(np.rint(values * scale), 1.0).astype(dtype)
    elif dtype is not None:
        weights = values.astype(dtype)

    if directed:  # list each open direction of each street
        forth = ~(streets.closed & streets.backward)[street]
        back = ~(streets.closed & ~streets.backward)[street]
        sources, targets = (
            np.concatenate([sources[forth], targets[back]]),
            np.concatenate([targets[forth], sources[back]]),
        )
        if weights is not None:
            weights = np.concatenate([weights[forth], weights[back]])
    if strongly_connected:
        keep = _largest_part(sources, targets, len(points), directed=directed)
        renamed = np.cumsum(keep) - 1
        inside = keep[sources] & keep[targets]
        sources, targets = renamed[sources[inside]], renamed[targets[inside]]
        weights = None if weights is None else weights[inside]
        points = points[keep]
    return common.build(
        sources,
        targets,
        weights,
        len(points),
        directed=directed,
        family=family,
        coordinates=points,
        unit="edges" if dtype is None else unit,
        seed=seed,
    )


def _largest_part(
    sources: NDArray[Any], targets: NDArray[Any], n: int, *, directed: bool
) -> NDArray[np.bool_]:
    """Mark the vertices of the largest strongly connected part."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(sources), np.int8)
    matrix = coo_array((ones, (sources, targets)), shape=(n, n)).tocsr()
    # An undirected street is listed once, so directions of its graph mean nothing.
    _, label = connected_components(matrix, connection="strong" if directed else "weak")
    kept: NDArray[np.bool_] = label == np.argmax(np.bincount(label))
    return kept
