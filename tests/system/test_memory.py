"""Arrays on huge pages are arrays like any other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import nearfar
from nearfar.generators import generate
from nearfar.system.memory import empty_on_huge_pages


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("shape", [0, 5, 3_000_001, (3, 700_001)])
def test_shape_dtype_and_place(dtype: type, shape: int | tuple[int, ...]) -> None:
    found = empty_on_huge_pages(shape, dtype)
    assert found.dtype == dtype
    assert found.shape == (shape if isinstance(shape, tuple) else (shape,))
    assert found.flags.writeable
    assert found.flags.c_contiguous
    if found.nbytes >= 1 << 21:
        assert found.ctypes.data % (1 << 21) == 0
    found[...] = 7
    assert (found == 7).all()


def test_they_outlive_what_made_them_and_are_not_shared() -> None:
    first, second = (empty_on_huge_pages(1 << 20, np.int64) for _ in range(2))
    first[:] = 1
    second[:] = 2
    part = first[5:]
    del first
    assert (part == 1).all()
    assert (pickle.loads(pickle.dumps(second)) == 2).all()


def test_more_than_there_is_says_so() -> None:
    with pytest.raises((MemoryError, ValueError)):
        empty_on_huge_pages(1 << 60, np.int64)


def test_a_large_answer_is_kept_after_the_next_solve() -> None:
    graph = generate("uniform_random", vertices=600_000, degree=3)
    paths = [nearfar.sssp(graph, source) for source in (0, 1, 0)]
    assert np.array_equal(paths[0].distances, paths[2].distances)
    nearfar.verify(graph, paths[1])
