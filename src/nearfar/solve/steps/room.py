"""Memory of a run of many sources: the size of its blocks of rows, and their sink."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from nearfar.errors import OptionError, OutOfMemoryError, keyword, quoted, size_text
from nearfar.prepared import is_prepared
from nearfar.solve.rows.reductions import ReducingSink, Reduction, result_bytes
from nearfar.solve.rows.sinks import ArraySink, CsrSink, DeviceArraySink, Sink
from nearfar.solve.steps.run import Run
from nearfar.system.devices import runtime
from nearfar.system.memory import ALWAYS_FREE, free_memory

_REDUCED = 1 << 18  # rows per block if rows are not materialised
#: Options that make a matrix smaller, in Python and on the command line.
_LESS = (
    f"use {keyword('out', 'name.npy')} (or .zarr, .parquet), {keyword('reduce', ...)}, or fewer "
    "sources or targets"
)


def is_path(out: Any) -> bool:
    """Return whether ``out`` names a file."""
    return isinstance(out, (str, os.PathLike)) and out != "csr"


def packed_edges(run: Run, memory: int, folder: str | None) -> str | None:
    """Move edges that take more than half of the memory to a file; return its folder."""
    graph = run.graph
    size = graph.n_edges * (graph.index_dtype.itemsize + graph.weight_dtype.itemsize)
    held = run.plan.variant.device != "cpu" or is_prepared(graph)
    if held or size <= memory // 2 or (graph.has_view and graph.view.packed_bytes):
        return None
    folder = folder or tempfile.gettempdir()
    graph.view.pack(run.plan.request.threads, folder)
    return folder


def sink_of(
    run: Run, out: Any, reduce: Any, memory: int | None, block: int | None, predecessors: bool
) -> Sink:
    """Return the sink of the rows, after checking that everything fits in memory.

    This also sets the number of rows that the run solves at a time. The arguments are those of
    :func:`nearfar.distances`.
    """
    reduction = None if reduce is None else Reduction.parse(reduce)
    _check_out(run, out, reduction)
    stay = run.plan.on_device and (run.graph.on_device or runtime.is_device_array(out))
    own = out is None and reduction is None  # the run allocates the matrix
    if own and stay:
        extra = run.graph.vertex_dtype.itemsize if predecessors else 0
        runtime.require_memory(_matrix_bytes(run, extra), _LESS)
    held = _matrix_bytes(run, 8 if predecessors else 0) if own and not stay else 0
    kept, less = (0, "") if reduction is None else _result_memory(run, reduction)
    # Rows solved in place take no further memory, whatever their number.
    whole = own or runtime.is_device_array(out) or _in_place(out, run)
    scratch = run.plan.scratch_bytes()
    must_look = not whole and (reduction is None or not run.plan.on_device)
    if must_look:  # unless all rows are one block anyway
        must_look = 4 * _matrix_bytes(run, 0) + scratch > ALWAYS_FREE
    free = _room(run, held, (0 if stay else kept, less), scratch, memory, must_look=must_look)
    if whole:
        k = max(len(run.rows), 1)
        run.block = block or (k if _in_one_block(run, stay) else _share(run))
        in_parts = run.devices is not None or run.block < k
        return DeviceArraySink(out, in_parts) if stay else ArraySink(out, run.plan.request.threads)
    room = max((free - scratch) // 4, 1)
    if reduction is not None:
        _cut_reduced(run, room, (kept, less), block)
        threads = run.plan.request.threads
        return ReducingSink(reduction, run.rows, run.columns, run.graph, stay, threads)
    run.block = run.rows_at_once = block or max(1, min(_fitting(run, room), _share(run)))
    if isinstance(out, str) and out == "csr":
        return CsrSink()
    if is_path(out):
        from nearfar.solve.rows.files import FileSink

        return FileSink(os.fspath(out), run)
    return ArraySink(out)


def _check_out(run: Run, out: Any, reduction: Reduction | None) -> None:
    if out is None:
        return
    if reduction is not None:
        raise OptionError(f"{keyword('reduce')} cannot be combined with out: it returns new arrays")
    if is_path(out) and not os.path.basename(os.fspath(out)):
        raise OptionError(f"{keyword('out')} is {quoted(os.fspath(out))}: give the name of a file")
    if runtime.is_device_array(out) and not run.plan.on_device:
        raise OptionError(
            f"{keyword('out')} is on a device, but {run.engine} solves batches on the host: give "
            "a NumPy array, "
            f"or {keyword('device', 'cuda')} with a method for batches"
        )


def _matrix_bytes(run: Run, extra: int) -> int:
    """Return the bytes of all rows, with ``extra`` additional bytes per entry."""
    k, width = run.shape
    return k * width * (run.graph.weight_dtype.itemsize + extra)


def _result_memory(run: Run, reduction: Reduction) -> tuple[int, str]:
    """Return the bytes of a reduction's blocks and result, and the advice if they do not fit."""
    width, kept = run.shape[1], 2 * result_bytes(reduction, run.shape[0])
    less = f"the reduced rows take {size_text(kept)}: use fewer sources"
    if reduction.kind == "nearest":
        most = f"nearest:{width} (a row has no more columns)"
        less += f", or {most if reduction.k > width > 0 else 'a smaller k'}"
    return kept, less


def _room(
    run: Run,
    held: int,
    reduced: tuple[int, str],
    scratch: int,
    memory: int | None,
    *,
    must_look: bool,
) -> int:
    """Return the main memory that is free for the run in bytes, after checking that it suffices.

    The run needs memory for its matrix, for ``reduced`` results and for scratch. Reading the amount
    of free memory takes as long as a small run, so small runs skip it unless their blocks depend on
    it.
    """
    kept, less = reduced
    needed = held + kept + scratch
    free = int(memory) if memory is not None else ALWAYS_FREE
    if memory is None and (needed > ALWAYS_FREE or must_look):
        free = free_memory()
    if needed <= free:
        return free
    if kept > scratch:
        raise OutOfMemoryError(needed, free, less)
    if held >= scratch:
        size = size_text(_matrix_bytes(run, 0))
        raise OutOfMemoryError(needed, free, f"the matrix takes {size}: {_LESS}")
    more = "fewer threads" if memory is None else f"fewer threads, or a greater {keyword('memory')}"
    takes = f"{run.plan.variant.id} needs {size_text(scratch)} in addition to its rows"
    raise OutOfMemoryError(needed, free, f"{takes}: use {more}")


def _in_place(out: Any, run: Run) -> bool:
    """Return whether rows can be solved in ``out``, an array that is not mapped to a file."""
    return (
        type(out) is np.ndarray
        and out.flags.c_contiguous
        and out.dtype == run.graph.weight_dtype
        and not isinstance(out.base, np.memmap)
    )


def _in_one_block(run: Run, on_device: bool) -> bool:
    """Return whether all rows are one block, on one device or shared by the variant."""
    return run.devices is None or run.shares_itself(on_device)


def _share(run: Run) -> int:
    """Return the number of rows per device if they are divided equally."""
    return -(-max(len(run.rows), 1) // len(run.devices or (0,)))


def _fitting(run: Run, room: int) -> int:
    """Return the number of rows per block that fits in memory.

    Progress and resumable files advance by blocks, so a block should take seconds and have rows for
    all cores.
    """
    row = run.shape[1] * run.graph.weight_dtype.itemsize
    held_at_most = min(max(2**28, 64 * run.plan.request.threads * row), 2**30)
    return int(min(room, held_at_most) // max(row, 1))


def _cut_reduced(run: Run, room: int, kept: tuple[int, str], block: int | None) -> None:
    """Set the number of rows solved at a time, and the number reduced at a time."""
    share, fitting = _share(run), _fitting(run, room)
    if run.plan.on_device:
        runtime.require_memory(*kept)
        # The device holds the rows of a block, a widened copy, and the scratch of the reduction.
        row = run.shape[1] * run.graph.weight_dtype.itemsize
        fitting = int(runtime.memory()[0] // 4 // max(row, 1))
        if not run.plan.variant.reduces:
            k = len(run.rows)
            whole = _in_one_block(run, True) and fitting >= k
            share = k if whole else _even(k, max(fitting, 1), run.devices)
    run.block = run.rows_at_once = block or max(1, min(fitting, share))
    if run.plan.variant.reduces:
        # Only a few numbers per row, unless whole rows must be materialised.
        run.block = block or max(1, -(-share // max(1, -(-share // _REDUCED))))


def _even(k: int, most: int, devices: Sequence[int] | None) -> int:
    """Return rows per block such that all devices get equally many blocks of equal size."""
    count = 1 if devices is None else len(devices)
    blocks = max(1, -(-k // most))
    return -(-k // (-(-blocks // count) * count))
