"""Figures of rows of distances on the device; see row_figures.cuh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import C_NAMES
from nearfar.system.devices import runtime

_BLOCKS = 2048  # number of blocks that fills a device; fewer rows are divided into slices
_LEAST_SLICE = 4096  # entries
_MOST_ROWS = 32_768  # limit of the grid's y dimension


def row_figures(
    rows: Any,
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None, NDArray[Any], NDArray[Any]]:
    """Return the number of reached entries of each row, and their sum, minimum and maximum.

    One launch computes the figures of slices of the rows, and the host combines them. CuPy's
    reductions are not used, since the first call in a process would compile them.
    """
    cp = runtime.cupy()
    rows = cp.ascontiguousarray(rows)
    dtype, (count, width) = np.dtype(rows.dtype), rows.shape
    whole = dtype.kind == "i"
    slices = max(1, min(_BLOCKS // max(count, 1), width // _LEAST_SLICE))
    # One array, since each copy to the host waits: counts, sums, least and most.
    kinds = [np.dtype(np.int64)] * (1 + whole) + [dtype, dtype]
    ends = np.cumsum([0] + [count * slices * kind.itemsize for kind in kinds])
    found = cp.empty(int(ends[-1]), np.uint8)

    def parts(array: Any) -> list[Any]:
        return [
            array[begin:end].view(kind).reshape(count, slices)
            for begin, end, kind in zip(ends, ends[1:], kinds, strict=False)
        ]

    macros: dict[str, str | int] = {"INDEX_T": "int", "OFFSET_T": "int", "WEIGHTED": 1}
    macros |= {"WEIGHT_T": C_NAMES[dtype.name], "WHOLE": int(whole)}
    if count:
        kernel = runtime.program("cuda/distances/row_figures.cuh", macros).kernel("row_figures")
        counts, *sums, least, most = parts(found)
        arguments = {"rows": rows, "count": np.int64(count), "width": np.int64(width)}
        arguments |= {"counts": counts, "sums": sums[0] if whole else None}
        arguments |= {"least": least, "most": most}
        kernel((slices, min(count, _MOST_ROWS)), 256, arguments)
    counts, *sums, least, most = parts(runtime.download(found))
    total = sums[0].sum(axis=1) if whole else None
    return counts.sum(axis=1), total, least.min(axis=1), most.max(axis=1)
