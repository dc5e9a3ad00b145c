"""Rows and tables of a prepared graph on one CUDA device, copied to their destination.

Rows of floats with the sums of a search are restored on the device; see left_to_right.cuh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.cuda.device_graph import device_graph
from nearfar.prepared.cpu.exact import polish
from nearfar.prepared.cuda.bottoms.cells import Sweep
from nearfar.prepared.cuda.bottoms.leaves import row_sweep
from nearfar.prepared.cuda.bottoms.table import Table
from nearfar.prepared.cuda.query import Query
from nearfar.prepared.prepared import Prepared
from nearfar.system.devices import landing, runtime
from nearfar.system.devices.several import copy_to

_THREADS = 256
_SHARE = 4  # scratch takes at most one over this of the free memory


class Restoration:
    """Pass that replaces sums over shortcuts by those of a search, in place.

    One block per row. O(n + m) per row if few paths are equally long up to rounding, in as many
    rounds as a shortest path has edges.
    """

    def __init__(self, prepared: Prepared, most: int) -> None:
        self.graph = device_graph(prepared)
        dtype, n = prepared.weight_dtype, prepared.n_vertices
        macros = {**self.graph.macros, "THREADS": _THREADS}
        self.kernel = runtime.program("prepared/cuda/sinks/left_to_right.cuh", macros).kernel(
            "restore_sums"
        )
        each = n * (dtype.itemsize + 8)  # scratch of a block
        free, _ = runtime.memory()
        wanted = min(most, self.kernel.resident_blocks(_THREADS))
        self.blocks = max(1, min(wanted, free // (_SHARE * each)))
        runtime.require_memory(self.blocks * each)
        cp = runtime.cupy()
        self.spaces = cp.empty((self.blocks, n), dtype=dtype)
        self.queues = cp.empty((self.blocks, 2, n), dtype=np.int32)
        # Rounding errors are nearly always smaller; if one is larger, the slack is widened.
        self.slack = dtype.type(np.finfo(dtype).eps * (2**8 if dtype.itemsize == 4 else 2**16))

    def __call__(self, sources: Any, rows: Any) -> None:
        """Restore the sums of some rows in place."""
        count, n = rows.shape
        arguments = {
            "n": np.int32(n),
            "offsets": self.graph.offsets,
            "edges": self.graph.edges,
            "sources": runtime.upload(sources),
            "rows": rows,
            "count": np.int32(count),
            "spaces": self.spaces,
            "queues": self.queues,
            "slack": self.slack,
        }
        self.kernel(min(self.blocks, count), _THREADS, arguments)


@dataclass(frozen=True, slots=True)
class RowForm:
    """Form of the requested rows."""

    columns: Any  # int64 array or None; vertices of a table; None for whole rows
    home: int | None  # device of the rows; None for the host
    advice: str  # advice for an error when memory is short
    threads: int  # host threads, for floats with negative weights


class DeviceRows:
    """Blocks of rows on the current device, computed in sequence by one query."""

    def __init__(self, prepared: Prepared, form: RowForm, each: int, table: bool = False) -> None:
        self.prepared, self.form, self.dtype = prepared, form, prepared.answer_dtype
        exact = prepared.adds_floats
        # Restoring sums with negative weights needs potentials, which only the host computes.
        self.on_host = exact and prepared.n_negative > 0
        self.cut = exact and form.columns is not None
        self.here = form.home == runtime.device().ordinal
        self.in_place = self.here and not (self.cut or self.on_host or table)
        whole = form.columns is None or exact
        self.width = prepared.n_vertices if whole else len(form.columns)
        copies = 0 if self.in_place else 1 + (self.cut or table)
        beside = copies * each * self.width * self.dtype.itemsize
        memory: dict[str, Any] = {"advice": form.advice, "beside": beside}
        if table:
            self.query: Query = Table(prepared, form.columns, each, **memory)
        elif whole:
            self.query = row_sweep(prepared, each).rows(each, **memory)
        else:
            sweep = Sweep(prepared, None, each)
            labels = sweep.tree.label[runtime.upload(form.columns)]
            self.query = sweep.rows(each, labels, **memory)
        self.restore = Restoration(prepared, each) if exact and not self.on_host else None

    def __call__(self, sources: NDArray[Any], out: Any) -> None:
        """Write the rows of some sources to ``out``."""
        cp, home, columns = runtime.cupy(), self.form.home, self.form.columns
        rows = out if self.in_place else cp.empty((len(sources), self.width), dtype=self.dtype)
        self.query(sources, rows)
        if self.query.back is not None:
            if self.here:
                rows.take(self.query.back, axis=0, out=out)
                return
            rows = rows[self.query.back]
        if self.restore is not None:
            self.restore(sources, rows)
            if self.cut:
                rows = cp.ascontiguousarray(rows[:, runtime.upload(columns)])
        if self.on_host:
            found = runtime.download(rows)
            polish(self.prepared, sources, found, self.form.threads)
            found = found if columns is None else found[:, columns]
            if home is None:
                out[...] = found
                return
            rows = runtime.upload(found)
        if home is None:
            landing.download(rows, out, self.form.threads)
        elif not self.in_place:
            copy_to(out, home, rows)
