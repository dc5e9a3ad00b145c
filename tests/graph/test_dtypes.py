"""Special values of the dtypes of distances."""

from __future__ import annotations

import numpy as np
import pytest

from nearfar.graph.dtypes import limit_in_dtype, unreached_value


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_a_limit_is_rounded_up_without_a_warning(dtype: str) -> None:
    kind = np.dtype(dtype)
    for limit in (None, 0, 5.5, 1e39, 1e300, 2**62):
        found = limit_in_dtype(limit, kind)
        assert found.dtype == kind
        assert found.item() >= min(unreached_value(kind).item(), np.inf if limit is None else limit)
    assert np.isinf(limit_in_dtype(1e39, np.dtype(np.float32)))
