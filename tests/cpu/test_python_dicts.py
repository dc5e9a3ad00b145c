"""Distances as a dict: the values of a copied table are exchanged, and every key keeps its own."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

from nearfar import _cpu

FAR = np.iinfo(np.int32).max

KEYS = {
    "integers": lambda n: list(range(n)),
    "strings": lambda n: [f"vertex {i}" for i in range(n)],
    "tuples": lambda n: [(i, -i) for i in range(n)],
    "mixed": lambda n: [i if i % 3 else str(i) for i in range(n)],
}


class Record:
    """The dict of an instance keeps its values apart from its keys, which instances share."""

    def __init__(self) -> None:
        self.a, self.b, self.c = 1, 2, 3


def expected(like: dict[Any, int], values: np.ndarray, far: float) -> list[tuple[Any, Any]]:
    return [(key, v) for key, v in zip(like, values.tolist(), strict=True) if v != far]


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("n", [0, 1, 5, 6, 100, 40_000])
@pytest.mark.parametrize("unreached", [0.0, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_values_in_place(kind: str, n: int, unreached: float, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    like = {key: i for i, key in enumerate(KEYS[kind](n))}
    values = rng.integers(0, 2**31 - 2, n).astype(dtype)
    far = float("inf") if values.dtype.kind == "f" else np.iinfo(dtype).max
    values[rng.random(n) < unreached] = far
    kept: list[Any] = []
    found = _cpu.distance_dict(like, values, kept)
    assert type(found) is dict
    assert list(found.items()) == expected(like, values, far)
    assert [found[key] for key in found] == list(found.values())
    assert list(like.values()) == list(range(n))


def test_order_of_a_dict_with_deleted_items() -> None:
    like = {i: i for i in range(1000)}
    for i in range(0, 1000, 5):
        del like[i]
    values = np.arange(800, dtype=np.int32) * 7
    assert list(_cpu.distance_dict(like, values, []).items()) == expected(like, values, FAR)


def test_keys_shared_by_instances() -> None:
    records = [Record(), Record()]
    values = np.array([7, FAR - 1, 0], dtype=np.int32)
    for record in records:
        got = _cpu.distance_dict(record.__dict__, values, [])
        assert got == {"a": 7, "b": FAR - 1, "c": 0}
        assert record.__dict__ == {"a": 1, "b": 2, "c": 3}


def test_values_are_written_in_place_where_the_layout_is_known() -> None:
    """The layout is tried once, on small dicts; CPython 3.11 has it, a later one may not."""
    known = _cpu.dict_values_in_place({1: 1})
    assert known or sys.version_info >= (3, 12)
    assert all(
        _cpu.dict_values_in_place(like) == known
        for like in ({}, {"a": 1}, {i: i for i in range(70_000)}, {(1, 2): 3, "b": 4})
    )
    assert not _cpu.dict_values_in_place(Record().__dict__)


def test_no_reference_is_lost_or_gained() -> None:
    places = [10**6 + i for i in range(5000)]
    like = dict(zip(range(5000), places, strict=True))
    before = [sys.getrefcount(place) for place in places]
    values = np.arange(5000, dtype=np.int64) + 10**9
    kept: list[Any] = []
    for _ in range(50):
        found = _cpu.distance_dict(like, values, kept)
        found.clear()
    gc.collect()
    assert [sys.getrefcount(place) for place in places] == before


def test_numbers_that_are_kept_are_few() -> None:
    like = {i: i for i in range(100_000)}
    kept: list[Any] = ["old"]
    for shift in (10**6, 2 * 10**6):
        values = np.arange(100_000, dtype=np.int64) + shift
        _cpu.distance_dict(like, values, kept)
        assert len(kept) <= 100_000 // 16_384
        assert all(shift <= number < shift + 100_000 for number in kept)


def test_wrong_length_and_dtype_are_refused() -> None:
    with pytest.raises(ValueError, match="expected one distance per vertex, got 2 for 1"):
        _cpu.distance_dict({1: 1}, np.zeros(2, np.int32), [])
    with pytest.raises(TypeError, match="wrong dtype"):
        _cpu.distance_dict({1: 1}, np.zeros(1, np.uint8), [])
