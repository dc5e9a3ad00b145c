"""Counts, sums and extremes of rows on the emulated device."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar import _cpu
from nearfar.cuda.distances.row_figures import row_figures
from nearfar.graph.dtypes import unreached_value
from nearfar.system.devices import runtime

pytestmark = pytest.mark.usefixtures("emulated_gpu")


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 300), (2, 9000), (40, 7), (0, 5), (4, 0)])
def test_figures_are_those_of_the_host(dtype, shape):
    rng = np.random.default_rng(1)
    rows = rng.integers(-1000, 10**9, shape).astype(dtype)
    rows[rng.random(shape) < 0.3] = unreached_value(np.dtype(dtype))
    rows[:1] = unreached_value(np.dtype(dtype))
    counts, sums, least, most = row_figures(runtime.cupy().asarray(rows))
    count, total = np.empty(shape[0], np.int64), np.empty(shape[0], np.float64)
    low, high = np.empty(shape[0], dtype), np.empty(shape[0], dtype)
    _cpu.row_figures(rows, count, low, high, total, 1)
    np.testing.assert_array_equal(counts, count)
    np.testing.assert_array_equal(least[count > 0], low[count > 0])
    np.testing.assert_array_equal(most[count > 0], high[count > 0])
    assert (most[count == 0] == -unreached_value(np.dtype(dtype))).all()
    if sums is None:
        assert np.dtype(dtype).kind == "f"
    else:
        np.testing.assert_array_equal(sums.astype(np.float64), total)


def test_few_rows_are_cut_into_slices(monkeypatch):
    """As many slices as fill the device; the last one is shorter."""
    monkeypatch.setattr("nearfar.cuda.distances.row_figures._LEAST_SLICE", 10)
    rows = np.arange(2 * 101, dtype=np.int32).reshape(2, 101)
    counts, sums, least, most = row_figures(runtime.cupy().asarray(rows))
    np.testing.assert_array_equal(counts, [101, 101])
    np.testing.assert_array_equal(sums, rows.sum(axis=1))
    np.testing.assert_array_equal(least, rows[:, 0])
    np.testing.assert_array_equal(most, rows[:, -1])
