"""Conversion of vertex names of any kind to arrays, and of names to indices.

NumPy converts ``[1, "a"]`` to two strings and a list of pairs to a 2-D array. This module preserves
1 as an integer, and a tuple as one name.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, quoted
from nearfar.graph.given import as_numpy
from nearfar.system.devices.arrays import is_device_array

#: Names, and the position of each entry of a column in them; None if every entry is listed.
Coded: TypeAlias = tuple[NDArray[Any], NDArray[np.int64] | None]

_NEAR = 4  # length of a table for integers, relative to their number
_NUMBERS = (bool, int, float, np.number, np.bool_)


def object_array(values: Sequence[Any]) -> NDArray[Any]:
    """Return a 1-D object array of the values."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def in_microseconds(array: NDArray[Any]) -> NDArray[Any]:
    """Return finer times in microseconds if they are whole: NumPy makes finer ones integers."""
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] in ("ns", "ps", "fs", "as"):
        coarser = array.astype(f"{array.dtype.kind}8[us]")
        if (coarser == array).all():
            return coarser
    return array


def _array_of(names: list[Any]) -> NDArray[Any]:
    """Return names of one type as an array, with NULs at the end of text, which NumPy drops."""
    array = np.array(names)
    return object_array(names) if array.dtype.kind in "SU" and array.tolist() != names else array


def as_names(values: Any) -> NDArray[Any]:
    """Return names as a 1-D array without changing their types."""
    if isinstance(values, np.ndarray) or is_device_array(values):
        return in_microseconds(as_numpy(values, "names"))
    # Arrow's own to_numpy refuses strings by default.
    if hasattr(values, "to_numpy") and not hasattr(values, "__arrow_c_array__"):
        return in_microseconds(np.asarray(values.to_numpy()))
    if hasattr(values, "__array__") or hasattr(values, "__dlpack__"):
        return in_microseconds(np.asarray(values))
    try:
        listed = list(values)
    except TypeError:
        raise GraphError(f"names are {quoted(values)}: give one per vertex or edge end") from None
    kinds = set(map(type, listed))
    if len(kinds) <= 1 and not kinds & {tuple, list} and all(
        issubclass(kind, (str, bytes, np.datetime64, *_NUMBERS)) for kind in kinds
    ):  # fmt: skip
        return in_microseconds(_array_of(listed))
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        return np.array(listed)
    return object_array(listed)


def are_names(ends: Any) -> bool:
    """Return whether the ends of edges are names and not indices.

    All numbers count as indices, so that invalid ones are refused later.
    """
    dtype = getattr(ends, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "OUSM" and len(np.shape(ends)) == 1
    if not isinstance(ends, (list, tuple)):  # of pandas, polars or Arrow, or tensors
        return hasattr(ends, "to_numpy") and as_names(ends[:1]).dtype.kind in "OUSM"
    return any(
        issubclass(kind, (str, bytes, tuple)) or not issubclass(kind, (*_NUMBERS, list))
        for kind in set(map(type, ends))
    )


def distinct(values: Any) -> Coded:
    """Return the distinct names of a column of text, or the names of other sequences.

    The libraries of data frames find the distinct texts of a column an order of magnitude faster
    than a loop over its entries. Missing entries are at -1.
    """
    kind = str(getattr(values, "type", getattr(values, "dtype", "")))
    if hasattr(values, "dictionary_encode") and "string" in kind:  # Arrow
        found = values.dictionary_encode()
        if hasattr(found, "combine_chunks"):
            found = found.unify_dictionaries().combine_chunks()
        codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return object_array(found.dictionary.to_pylist()), codes.astype(np.int64)
    if hasattr(values, "to_physical") and kind.startswith(("String", "Categorical", "Enum")):
        polars = importlib.import_module("polars")
        names = values.drop_nulls().unique(maintain_order=True).cast(polars.String)
        codes = values.cast(polars.Enum(names)).to_physical().cast(polars.Int64).fill_null(-1)
        return object_array(names.to_list()), codes.to_numpy()
    if hasattr(values, "factorize") and getattr(values.dtype, "kind", "") == "O":  # pandas
        with contextlib.suppress(TypeError):  # of names that cannot be hashed, refused later
            codes, names = values.array.factorize()
            return np.asarray(names), codes.astype(np.int64)
    if isinstance(values, (list, tuple)) and set(map(type, values)) == {str}:
        names, codes = _hashed(values)
        return _array_of(names), codes
    listed = as_names(values)
    if listed.ndim != 1:
        raise GraphError(f"names have {listed.ndim} dimensions: give one per vertex or edge end")
    return listed, None


def missing_in(part: Coded) -> NDArray[np.bool_]:
    """Return which entries of a column are missing."""
    values, codes = part
    return missing_entries(values) if codes is None else codes < 0


def numbered_columns(
    parts: Sequence[Coded], names: NDArray[Any] | range | None = None
) -> tuple[list[NDArray[np.int64]], NDArray[Any]]:
    """Return the indices of ends that :func:`distinct` returned, and the names of all vertices."""
    for part in parts:
        _refuse_missing(part)
    found, present = numbered([values for values, _ in parts], names)
    both = zip(found, parts, strict=True)
    return [at if codes is None else at[codes] for at, (_, codes) in both], present


def numbered(
    ends: Sequence[NDArray[Any]], names: NDArray[Any] | range | None = None
) -> tuple[list[NDArray[np.int64]], NDArray[Any]]:
    """Return the indices of the ends, and the names of all vertices."""
    for part in ends:
        _refuse_missing((part, None))
    if names is not None:
        return [_looked_up(part, names) for part in ends], np.asarray(names)
    if len({part.dtype.kind for part in ends}) == 1 and ends[0].dtype.kind != "O":
        both = np.concatenate(list(ends))
    else:
        both = object_array([name for part in ends for name in part.tolist()])
    if both.dtype.kind in "OUS":
        present, codes = _by_hash(both)
    elif both.dtype.kind == "i":
        present, codes = _integers(both)
    else:
        present, codes = np.unique(both, return_inverse=True)
    if present.dtype == object and all(type(name) is int for name in present.tolist()):
        present = np.array(present.tolist(), dtype=None if len(present) else np.int64)
    cuts = np.cumsum([len(part) for part in ends])[:-1]
    return [part.astype(np.int64) for part in np.split(codes, cuts)], present


def _integers(names: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct integers, sorted, and the position of each one in them."""
    from nearfar import _cpu

    low, high = (int(names.min()), int(names.max())) if len(names) else (0, 0)
    if high - low < _NEAR * len(names):  # a table is faster than hashing
        places = names.astype(np.int64) - low
        seen = np.zeros(high - low + 1, dtype=bool)
        seen[places] = True
        found = np.flatnonzero(seen) + low
        return found.astype(names.dtype), (np.cumsum(seen) - 1)[places]
    codes, _, found = _cpu.renumber(names.astype(np.int64, copy=False), np.empty(0, np.int64))
    order = np.argsort(found)
    return found[order].astype(names.dtype), np.argsort(order)[codes]


def _hashed(names: Sequence[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct names in order of appearance, and the position of each name in them."""
    place: dict[Any, int] = {}
    try:
        codes = np.array([place.setdefault(name, len(place)) for name in names], np.int64)
    except TypeError as error:
        raise GraphError(f"invalid vertex name: {error}") from None
    return list(place), codes


def _by_hash(names: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct names, sorted if they are of one kind that sorts, and their indices."""
    found, codes = _hashed(names.tolist())
    if len(set(map(type, found))) == 1:
        with contextlib.suppress(TypeError):
            order = sorted(range(len(found)), key=found.__getitem__)
            found = [found[i] for i in order]
            codes = np.argsort(order)[codes]
    present = object_array(found) if names.dtype == object else np.array(found, names.dtype)
    return present, codes


def positions(names: list[Any]) -> dict[Any, int]:
    """Return the index of each name; -1 for a name of several vertices."""
    found = {name: i for i, name in enumerate(names)}
    if len(found) < len(names):
        for i, name in enumerate(names):
            if found[name] != i:
                found[name] = -1
    return found


def _looked_up(ends: NDArray[Any], names: NDArray[Any] | range) -> NDArray[np.int64]:
    """Return the index of each end; raise unless it is the name of exactly one vertex."""
    table = np.asarray(names)
    if ends.dtype.kind == "i" and table.dtype.kind == "i" and len(table):
        order = np.argsort(table, kind="stable")
        ordered = table[order]
        first = np.searchsorted(ordered, ends)
        wrong = ordered[np.minimum(first, len(table) - 1)] != ends
        if wrong.any():
            _refuse_unknown(int(ends[int(np.argmax(wrong))]))
        repeated = np.append(ordered[1:] == ordered[:-1], False)[first]
        if repeated.any():
            _refuse_repeated(int(ends[int(np.argmax(repeated))]))
        return order[first].astype(np.int64, copy=False)
    place, listed = positions(table.tolist()), ends.tolist()
    try:
        found = np.array([place[name] for name in listed], dtype=np.int64)
    except KeyError as error:
        _refuse_unknown(error.args[0])
    if (found < 0).any():
        _refuse_repeated(listed[int(np.argmin(found))])
    return found


def _refuse_unknown(name: Any) -> NoReturn:
    """Raise for an end that is not the name of a vertex."""
    way = ""
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
        way = ": with vertex_names the ends are names; for indices pass names=False"
    raise GraphError(f"{quoted(name)} is not among vertex_names{way}")


def _refuse_repeated(name: Any) -> NoReturn:
    """Raise for an end that is the name of several vertices."""
    raise GraphError(
        f"{quoted(name)} is the end of an edge and the name of several vertices: make names "
        "distinct, or give indices with names=False"
    )


def _refuse_missing(part: Coded) -> None:
    """Raise for an end without a name."""
    missing = missing_in(part)
    if missing.any():
        raise GraphError(f"the end of edge {int(np.argmax(missing))} is missing: give a name")


def missing_entries(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which entries are NaN, NaT, None or pandas.NA."""
    missing: NDArray[np.bool_] = np.zeros(len(values), dtype=bool)
    if values.dtype.kind in "fmM":
        missing = values != values
    elif values.dtype == object:
        listed = values.tolist()
        if not set(map(type, listed)) <= {str, tuple, int}:
            missing = np.array([_is_missing(item) for item in listed], dtype=bool)
    return missing


def _is_missing(name: Any) -> bool:
    if name is None:
        return True
    if isinstance(name, (str, tuple, int)):
        return False
    try:
        return bool(name != name)
    except (TypeError, ValueError):  # pandas.NA has no truth value
        return True
