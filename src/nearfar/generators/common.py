"""Shared steps of the families: checks of arguments, weights, and a Graph from edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, keyword, quoted
from nearfar.generators.random import Stream
from nearfar.graph.dtypes import weight_dtype_of
from nearfar.graph.graph import Graph

_MAX_VERTICES = 2**40


def check_int(name: str, value: object, low: int, high: int = _MAX_VERTICES) -> int:
    """Return the value as an int in ``low .. high``, or raise OptionError."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise OptionError(f"{keyword(name)} is {quoted(value)}: give an integer")
    if not low <= value <= high:
        raise OptionError(f"{keyword(name)} is {value}: give {low} .. {high}")
    return int(value)


def check_fraction(name: str, value: object) -> float:
    """Return the value as a float in ``[0, 1]``, or raise OptionError."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise OptionError(f"{keyword(name)} is {quoted(value)}: give a number")
    number = float(value)
    if not 0.0 <= number <= 1.0:
        raise OptionError(f"{keyword(name)} is {number}: give 0 .. 1")
    return number


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return the value if it is one of the choices, or raise OptionError."""
    if value not in choices:
        raise OptionError(f"{keyword(name)} is {quoted(value)}: give one of {', '.join(choices)}")
    return value


def weight_type(weight_dtype: object) -> np.dtype[Any] | None:
    """Return the requested dtype, None for an unweighted graph, or raise OptionError."""
    if weight_dtype is None or weight_dtype == "none":
        return None
    dtype = weight_dtype_of(weight_dtype)
    if dtype is None:
        raise OptionError(
            f"{keyword('weight_dtype')} is {quoted(weight_dtype)}: give int32, int64, float32, "
            "float64 or None"
        )
    return dtype


def check_range(dtype: np.dtype[Any] | None, low: float, high: float) -> None:
    """Raise OptionError unless ``low .. high`` is a non-negative range of that dtype."""
    if dtype is None:
        return
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise OptionError(f"{keyword(name)} is {quoted(value)}: give a number")
        if not math.isfinite(value):
            raise OptionError(f"{keyword(name)} is {value}: give a finite number")
        if dtype.kind == "i" and value != int(value):
            raise OptionError(f"{keyword(name)} is {value}: {dtype} weights need integers")
        if dtype.kind == "i" and not np.iinfo(dtype).min < value < np.iinfo(dtype).max:
            raise OptionError(f"{keyword(name)} is {value}: it does not fit {dtype}")
    if low > high:
        raise OptionError(
            f"{keyword('low')} is {low} and high is {high}: low must not be above high"
        )
    if low < 0:
        raise OptionError(f"{keyword('low')} is {low}: this family has non-negative weights")


def random_weights(
    stream: Stream, count: int, dtype: np.dtype[Any] | None, low: float, high: float
) -> NDArray[Any] | None:
    """Return uniform weights, or None.

    Integer dtypes draw from the integers ``low .. high``, both included; float dtypes draw reals of
    ``[low, high)``: a multiple of 2**-53 (2**-24 for float32) times the width, plus low, each
    operation rounded once, so the same on every machine.
    """
    check_range(dtype, low, high)
    if dtype is None:
        return None
    if dtype.kind == "i":
        return stream.integers(int(low), int(high), count, dtype)
    out = stream.unit(count, dtype)
    out *= dtype.type(high - low)
    out += dtype.type(low)
    return out


def to_dtype(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return integer values in the weight dtype, or raise OptionError if they do not fit."""
    if dtype.kind == "i" and len(values):
        info, least, most = np.iinfo(dtype), int(values.min()), int(values.max())
        if least <= info.min or most >= info.max:
            raise OptionError(f"weights reach {least} .. {most}: use weight_dtype int64 or float64")
    return values.astype(dtype, copy=False)


def index_dtype(n_vertices: int) -> np.dtype[Any]:
    """Return int32 while vertex ids fit it, else int64."""
    return np.dtype(np.int32 if n_vertices < 2**31 - 1 else np.int64)


def build(
    sources: NDArray[Any],
    targets: NDArray[Any],
    weights: NDArray[Any] | None,
    n_vertices: int,
    *,
    directed: bool,
    family: str,
    coordinates: NDArray[np.float64] | None = None,
    **attributes: Any,
) -> Graph:
    """Build the Graph; an undirected edge is listed once, in either direction."""
    if coordinates is not None:
        attributes = {"geographic": False, **attributes}
    graph: Graph = Graph.from_edges(
        sources,
        targets,
        weights,
        n_vertices=n_vertices,
        directed=directed,
        coordinates=coordinates,
        attributes={"generator": family, **attributes},
    )
    return graph


def with_distinct_others(
    family: str,
    vertices: int,
    degree: int,
    *,
    called: str,
    own_is_source: bool,
    weight_dtype: str | None,
    low: float,
    high: float,
    seed: int,
) -> Graph:
    """Join every vertex with ``degree`` (named ``called``) distinct other ones, drawn at random.

    ``own_is_source`` says whether a vertex is the source of its edges or their target.
    """
    n, k = check_int("vertices", vertices, 1), check_int(called, degree, 0)
    if k > n - 1:
        raise OptionError(f"{called} is {k}: {n} vertices allow at most {n - 1}")
    dtype, index = weight_type(weight_dtype), index_dtype(n)
    ends = "targets" if own_is_source else "predecessors"
    others = Stream(seed, f"{family}.{ends}").distinct_others(n, k, n, index).reshape(-1)
    own = np.repeat(np.arange(n, dtype=index), k)
    weights = random_weights(Stream(seed, f"{family}.weights"), n * k, dtype, low, high)
    sources, targets = (own, others) if own_is_source else (others, own)
    return build(sources, targets, weights, n, directed=True, family=family, seed=seed)


def first_of_parallel(
    sources: NDArray[Any], targets: NDArray[Any], n_vertices: int, *, directed: bool
) -> NDArray[np.intp]:
    """Return the edges of a simple graph: no self-loops, and the first of parallel edges.

    Undirected edges are parallel in either direction. O(m log m).
    """
    low, high = sources, targets
    if not directed:
        low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    keys = low.astype(np.int64) * n_vertices + high
    _, first = np.unique(keys, return_index=True)
    first.sort()
    kept: NDArray[np.intp] = first[sources[first] != targets[first]]
    return kept
