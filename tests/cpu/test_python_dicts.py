"""Distances as a dict: in the given order, with Python's own numbers, without leaked references."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

from nearfar import _cpu

NAMES = {
    "integers": lambda n: list(range(n)),
    "strings": lambda n: [f"vertex {i}" for i in range(n)],
    "tuples": lambda n: [(i, -i) for i in range(n)],
    "mixed": lambda n: [i if i % 3 else str(i) for i in range(n)],
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("n", [0, 1, 5, 6, 100, 40_000])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_order_and_values(kind: str, n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    names = NAMES[kind](n)
    values = rng.integers(0, 2**31 - 2, n).astype(dtype)
    order = rng.permutation(n)[: n - n // 3]
    found = _cpu.distance_dict(names, values, order, [])
    assert type(found) is dict
    assert list(found.items()) == [(names[i], values[i].item()) for i in order]
    assert {type(value) for value in found.values()} <= {type(values.dtype.type(0).item())}


def test_no_reference_is_lost_or_gained() -> None:
    names = [10**6 + i for i in range(5000)]
    before = [sys.getrefcount(name) for name in names]
    values = np.arange(5000, dtype=np.int64) + 10**9
    kept: list[Any] = []
    for _ in range(50):
        found = _cpu.distance_dict(names, values, np.arange(5000)[::-1].copy(), kept)
        found.clear()
    gc.collect()
    assert [sys.getrefcount(name) for name in names] == before


def test_numbers_that_are_kept_are_few() -> None:
    names = list(range(100_000))
    kept: list[Any] = ["old"]
    for shift in (10**6, 2 * 10**6):
        values = np.arange(100_000, dtype=np.int64) + shift
        _cpu.distance_dict(names, values, np.arange(100_000), kept)
        assert len(kept) <= 100_000 // 16_384
        assert all(shift <= number < shift + 100_000 for number in kept)


def test_what_does_not_fit_is_refused() -> None:
    one = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="one distance per vertex"):
        _cpu.distance_dict([1], np.zeros(2, np.int32), one, [])
    with pytest.raises(TypeError, match="int32, int64, float32 or float64"):
        _cpu.distance_dict([1], np.zeros(1, np.uint8), one, [])
    for wrong in (-1, 1):
        with pytest.raises(IndexError, match="no such vertex"):
            _cpu.distance_dict([1], np.zeros(1, np.int32), one + wrong, [])
    with pytest.raises(TypeError):
        _cpu.distance_dict([[]], np.zeros(1, np.int32), one, [])
