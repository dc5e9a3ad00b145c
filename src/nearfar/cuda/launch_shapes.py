"""Launch shapes of the kernels relax, minimum and update: from options, tuning or the default.

``nearfar tune`` measures shapes and stores the best one per device, class of graph and method in a
JSON file in the user's cache. The default is the configuration of Martin et al. (2009) and of
Ortega-Arranz et al. (2015) before tuning: 256 threads per block, no carve-out preference.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nearfar.graph.graph import Graph
from nearfar.options import LaunchOptions
from nearfar.system import cache

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Threads per block of each kernel; carve-out in percent (-1: the driver's choice)."""

    relax: int = 256
    minimum: int = 256
    update: int = 256
    carveout: int = -1


DEFAULT = LaunchShape()


def graph_class(graph: Graph) -> str:
    """Return the class of a graph: powers of two near its size and mean degree, and its dtype.

    >>> from nearfar import Graph
    >>> graph_class(Graph.from_edges([0, 1], [1, 2], [5, 5]))
    'n=2^2 degree=2^-1 int64'
    """
    size = round(math.log2(max(graph.n_vertices, 1)))
    degree = round(math.log2(graph.mean_degree)) if graph.n_edges else 0
    return f"n=2^{size} degree=2^{degree} {graph.weight_dtype.name}"


def store_path() -> Path:
    """Return the path of the stored shapes in the user's cache folder."""
    return cache.folder() / "launch_shapes.json"


def _key(device: str, graph_kind: str, idea: str) -> str:
    return f"{device} | {graph_kind} | {idea}"


def stored(device: str, graph_kind: str, idea: str) -> LaunchShape | None:
    """Return the shape stored for a device name, a class of graph and a method, or None."""
    entry: Any = cache.load(store_path(), "shapes", _FORMAT).get(_key(device, graph_kind, idea))
    try:
        return LaunchShape(**{name: int(entry[name]) for name in LaunchShape.__slots__})
    except (TypeError, KeyError, ValueError):
        return None


def store(device: str, graph_kind: str, idea: str, shape: LaunchShape, **notes: Any) -> Path:
    """Store a shape with notes (times, date), and return the path of the file."""
    path = store_path()
    entry = {_key(device, graph_kind, idea): {**asdict(shape), **notes}}
    cache.update(path, "shapes", _FORMAT, lambda known: {**known, **entry}, "launch shapes")
    return path


def resolve(options: LaunchOptions, graph: Graph, idea: str, device: str) -> LaunchShape:
    """Return the launch shape, with each field from the options, the store or the default."""
    base = stored(device, graph_class(graph), idea) or DEFAULT
    return LaunchShape(
        relax=options.threads_relax or base.relax,
        minimum=options.threads_minimum or base.minimum,
        update=options.threads_update or base.update,
        carveout=base.carveout if options.carveout is None else options.carveout,
    )
