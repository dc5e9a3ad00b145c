"""Answers as pandas, polars and xarray tables, with missing values for unreached vertices.

An integer answer marks an unreached vertex by the maximum of its dtype, which would distort sums
and means. A table has a missing value instead: NaN or NA in pandas, null in polars, NaN in
xarray.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, did_you_mean, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.libraries import needed
from nearfar.graph.names import object_array

#: Libraries whose tables can hold an answer.
LABELLED = ("pandas", "polars", "xarray")


def labelling_library(name: str | None, among: tuple[str, ...] = LABELLED[:2]) -> ModuleType:
    """Return the named library of tables, or the first that is installed."""
    if name is not None and name not in among:
        near = did_you_mean(str(name), among)
        raise OptionError(f"library is {quoted(name)}: give {' or '.join(map(repr, among))}{near}")
    for one in among if name is None else (name,):
        try:
            return importlib.import_module(one)
        except ImportError:
            continue
    module: ModuleType = needed(name or among[0], "this table")
    return module


def with_unreached(distances: NDArray[Any], unreached: float) -> NDArray[Any]:
    """Return the distances with the caller's value for unreached vertices."""
    missing = distances == unreached_value(distances.dtype)
    if distances.dtype.kind == "f" or _fits(unreached, distances.dtype):
        found = distances.copy()
    else:
        found = distances.astype(np.float64)
        kept = ~missing
        with np.errstate(invalid="ignore"):
            exact = found[kept].astype(distances.dtype) == distances[kept]
        if not exact.all():
            raise OptionError(
                f"distance {distances[kept][~exact][0]} is an integer that float64 cannot "
                f"hold: give unreached=-1, which keeps {distances.dtype}"
            )
    found[missing] = unreached
    return found


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    bounds = np.iinfo(dtype)
    return isinstance(value, (int, np.integer)) and bool(bounds.min <= value <= bounds.max)


def _column(
    library: ModuleType, values: NDArray[Any], missing: NDArray[np.bool_] | None = None
) -> Any:
    """Return a column with missing values and the same kind of numbers."""
    missing = np.zeros(len(values), dtype=np.bool_) if missing is None else missing
    if library.__name__ == "polars":
        try:
            found = library.Series(values if values.dtype != object else values.tolist())
            return found.set(library.Series(missing), None) if missing.any() else found
        except (TypeError, OverflowError, library.exceptions.PolarsError):
            kinds: dict[type, str] = {}
            for name in values.tolist():
                kinds.setdefault(type(name), quoted(name))
            some = " and ".join(list(kinds.values())[:3])
            raise OptionError(
                f"no polars column holds vertex names such as {some}: use pandas, or "
                "graph.without_names()"
            ) from None
    if values.dtype.kind == "f":
        found = values.copy()
        found[missing] = np.nan
        return found
    if values.dtype.kind == "i":
        named = str(values.dtype).capitalize()  # such as Int32, which supports missing values
        return library.arrays.IntegerArray(values.astype(named.lower()), missing.copy())
    column = values.astype(object)
    column[missing] = None
    return column


def paths_frame(
    graph: Graph,
    distances: NDArray[Any],
    before: NDArray[Any],
    library: str | None,
    reached_only: bool,
) -> Any:
    """Build the table of :meth:`nearfar.Paths.to_frame`; ``before`` has the predecessors."""
    module = labelling_library(library)
    reached = distances != unreached_value(distances.dtype)
    places = np.flatnonzero(reached) if reached_only else np.arange(graph.n_vertices)
    first = before[places]
    columns = {
        "vertex": _column(module, graph.name_of(places)),
        "distance": _column(module, distances[places], ~reached[places]),
        "predecessor": _column(module, graph.name_of(np.maximum(first, 0)), first < 0),
        "reached": reached[places],
    }
    return module.DataFrame(columns)


def nearest_frame(
    graph: Any, distances: NDArray[Any], sources: NDArray[Any], library: str | None
) -> Any:
    """Build the table of :meth:`nearfar.solve.Nearest.to_frame`."""
    module = labelling_library(library)
    named: Graph = getattr(graph, "original", graph)
    if len(distances) != named.n_vertices:
        raise OptionError(
            f"the graph has {named.n_vertices} vertices, but the answer has {len(distances)}: give "
            "the graph that was searched"
        )
    reached = distances != unreached_value(distances.dtype)
    places, ranks = np.arange(len(distances)), {}
    if distances.ndim > 1:
        places, rank = np.nonzero(reached)
        ranks = {"place": rank + 1}
        distances, sources, reached = distances[reached], sources[reached], reached[reached]
    columns = {"vertex": _column(module, named.name_of(places)), **ranks}
    columns["distance"] = _column(module, distances, ~reached)
    columns["source"] = _column(module, sources, ~reached)
    return module.DataFrame(columns)


def vertex_frame(graph: Graph, columns: dict[str, Any], library: str | None) -> Any:
    """Build the table of :func:`nearfar.measures.table`."""
    module = labelling_library(library)
    found = {"vertex": _column(module, graph.name_of(np.arange(graph.n_vertices)))}
    if graph.coordinates is not None:
        found |= {"x": graph.coordinates[:, 0], "y": graph.coordinates[:, 1]}
    for name, values in columns.items():
        array = np.asarray(values)
        if array.shape != (graph.n_vertices,):
            raise OptionError(
                f"{name} has shape {array.shape}: give one value per vertex, ({graph.n_vertices},)"
            )
        found[name] = array
    return module.DataFrame(found)


def labelled_pairs(library: str, pairs: Any, distances: NDArray[Any]) -> Any:
    """Return a table with one row per pair: source, target, distance."""
    module = labelling_library(library, LABELLED)
    missing = distances == unreached_value(distances.dtype)
    sources, targets = [s for s, _ in pairs], [t for _, t in pairs]
    if library == "xarray":
        return module.DataArray(
            with_unreached(distances, np.nan),
            dims="pair",
            coords={"source": ("pair", _labels(sources)), "target": ("pair", _labels(targets))},
            name="distance",
        )
    columns = {"source": _labels(sources), "target": _labels(targets)}
    if library == "polars":
        columns = {name: _column(module, ends) for name, ends in columns.items()}
    return module.DataFrame({**columns, "distance": _column(module, distances, missing)})


def labelled_matrix(library: str, sources: Any, targets: Any, distances: NDArray[Any]) -> Any:
    """Return a table of distances with one named row per source and one column per target."""
    module = labelling_library(library, LABELLED)
    rows, columns = _labels(sources), _labels(targets)
    if library == "xarray":
        return module.DataArray(
            with_unreached(distances, np.nan),
            dims=("source", "target"),
            coords={"source": rows, "target": columns},
            name="distance",
        )
    missing = distances == unreached_value(distances.dtype)
    if library == "pandas":
        index = module.Index(rows, name="source", tupleize_cols=False)
        heads = module.Index(columns, name="target", tupleize_cols=False)
        if distances.dtype.kind == "f":
            return module.DataFrame(_column(module, distances, missing), index, heads)
        made = {i: _column(module, distances[:, i], missing[:, i]) for i in range(len(columns))}
        frame = module.DataFrame(made, index)
        frame.columns = heads
        return frame
    names = ["source", *map(str, columns.tolist())]
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise OptionError(
            f"two columns would have the name {quoted(twice)}: use out='pandas', or other targets"
        )
    series = [
        _column(module, np.ascontiguousarray(distances[:, i]), missing[:, i])
        for i in range(len(columns))
    ]
    return module.DataFrame([_column(module, rows), *series], schema=names)


def _labels(names: Any) -> NDArray[Any]:
    """Return names as a 1-D array; tuples and mixed kinds become objects."""
    if isinstance(names, np.ndarray):
        return names
    listed = list(names)
    if listed and all(isinstance(name, (int, np.integer)) for name in listed):
        return np.array(listed)
    return object_array(listed)
