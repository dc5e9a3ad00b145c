"""Denormal float32 distances on a GPU, where CuPy's own kernels flush them to zero."""

from __future__ import annotations

import numpy as np

from nearfar.system.devices import runtime
from nearfar.system.devices.arrays import as_dtype, to_host
from tests.solve.test_denormals import (  # the same tests as on the emulated device
    TINY,
    test_matrices_of_scipy,
    test_predecessors_of_rows,
    test_reductions,
    test_wider_weights,
)

__all__ = [
    "test_matrices_of_scipy",
    "test_predecessors_of_rows",
    "test_reductions",
    "test_wider_weights",
]


def test_conversions_keep_denormals() -> None:
    values = (np.arange(-5, 5) * TINY).astype(np.float32)
    wide = as_dtype(runtime.upload(values), np.float64)
    np.testing.assert_array_equal(to_host(wide), values.astype(np.float64))
    np.testing.assert_array_equal(to_host(as_dtype(wide, np.float32)), values)
    several = np.tile(values, 1 << 19)
    found = as_dtype(runtime.upload(several), np.float64)
    np.testing.assert_array_equal(to_host(found), several.astype(np.float64))
