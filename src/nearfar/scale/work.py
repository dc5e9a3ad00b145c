"""Work of a cluster's workers: solve a block of rows, write it, and record its completion.

A chunk is written atomically, followed by its note: a small file next to the data with the CRC-32
of the block and a digest of the request. A block whose note has the right digest and checksum is
finished, whichever worker or run wrote it, and is not solved again. Before writing a chunk, a
worker checks for the token of the client's run. If it is missing, the folder is not the client's,
or the client has ended and another run may own the folder.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import ClusterError, DistanceOverflowError, NearfarError, VariantUnavailable
from nearfar.formats import read
from nearfar.graph.graph import Graph
from nearfar.prepared.prepare import load
from nearfar.solve.many import distances
from nearfar.solve.rows.files import checksum
from nearfar.solve.rows.row_files import ZarrRows
from nearfar.system.devices import runtime
from nearfar.system.output import replacing

_LONG = 0.25  # seconds for a measurement of speed, at least

_opening = threading.Lock()
_solving = threading.Lock()  # a process with a GPU solves one block at a time


@dataclass(frozen=True)
class Given:
    """Inputs common to all blocks, sent once to each worker."""

    graph: Graph | str  # graph, or the file from which each worker reads it
    digest: str  # digest of the graph
    columns: NDArray[np.int64] | None  # vertex indices of the targets

    def opened(self) -> Graph:
        """Return the graph without names, which the client restores in the answer."""
        if isinstance(self.graph, Graph):
            return self.graph.without_names()
        with _opening:  # so that only one thread of a worker reads the file
            return _read(self.graph, self.digest).without_names()


@dataclass(frozen=True)
class Job:
    """Small settings common to the blocks of a run."""

    call: dict[str, Any]  # keywords of nearfar.distances other than sources and targets
    request: str = ""  # digest of the request
    path: str = ""  # Zarr folder; empty for a reduction
    token: str = ""  # file that exists during the client's run
    shape: tuple[int, int] = (0, 0)  # shape of all rows
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.int32))
    block: int = 1  # rows per block
    memory: int | None = None  # bytes that a block may take


@dataclass(frozen=True)
class Made:
    """Result of a block: its checksum or partial results, and whether it was already finished."""

    number: int
    checksum: int = 0
    figures: Any = None
    kept: bool = False
    seconds: float = 0.0
    engine: str = ""


def open_graph(path: str) -> Graph:
    """Read a graph, or a prepared graph from an ``.nfp`` file."""
    return load(path) if path.endswith(".nfp") else read(path)


@functools.lru_cache(maxsize=1)
def _read(path: str, digest: str) -> Graph:
    try:
        graph = open_graph(path)
    except (OSError, NearfarError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ClusterError(
            f"worker {_name()} cannot read {path}: {said}; use a file system that all machines "
            "share, or give the graph itself"
        ) from error
    if graph.digest() != digest:
        raise ClusterError(
            f"worker {_name()} reads a different graph from {path} than the client: provide the "
            "same file on all machines"
        )
    return graph


def _name() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _solved(given: Given, job: Job, rows: NDArray[np.int64]) -> tuple[Any, str]:
    """Return rows or their reduction, and the method; blocks on a GPU are solved one by one."""
    graph = given.opened()
    stats: dict[str, Any] = {}
    call = {**job.call, "memory": job.memory, "stats": stats}
    shared = call["device"] != "cpu" and runtime.available() is True
    with _solving if shared else contextlib.nullcontext():
        if call["threads"] is None:
            call["threads"] = _threads() if shared else 1
        try:
            answer = distances(graph, rows, targets=given.columns, **call)
        except VariantUnavailable as error:
            raise VariantUnavailable(f"worker {_name()}: {error}") from error
        return answer, str(stats["engine"])


def _threads() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def measure(given: Given, job: Job, rows: NDArray[np.int64]) -> float:
    """Measure rows per second of this worker, on rows that take at least a quarter of a second."""
    count = min(1, len(rows))
    while True:
        began = time.perf_counter()
        _solved(given, job, rows[:count])
        took = max(time.perf_counter() - began, 1e-6)
        if took >= _LONG or count == len(rows):
            return count / took
        count = min(len(rows), count * min(16, 1 + int(_LONG / took)))


def solve_block(
    given: Given, job: Job, number: int, rows: NDArray[np.int64], named: int | None
) -> Made:
    """Solve a block of rows and write it, unless it is already finished."""
    began = time.perf_counter()
    if not job.path:
        figures, engine = _solved(given, job, rows)
        return Made(number, 0, figures, False, time.perf_counter() - began, engine)
    data = ZarrRows(Path(job.path), job.shape, job.dtype, job.block)
    first, note = number * job.block, Path(f"{job.path}.blocks") / f"{number:08d}.json"
    _check_folder(job)
    data.join()
    noted = _noted(note, job.request)
    if noted is not None or named is not None:
        with contextlib.suppress(
            Exception
        ):  # libraries raise errors of many types for damaged chunks
            found = checksum(data.read(number, first, len(rows)))
            if found in (noted, named):
                return Made(number, found, None, True)
    answer, engine = _solved(given, job, rows)
    if answer.dtype != job.dtype:
        raise DistanceOverflowError(
            f"a distance does not fit {job.dtype}: convert the weights to {answer.dtype} first"
        )
    _check_folder(job)  # the client may have ended in the meantime
    data.write(number, first, answer)
    found = checksum(answer)
    with replacing(note) as place:
        place.write_text(json.dumps({"request": job.request, "checksum": found}))
    return Made(number, found, None, False, time.perf_counter() - began, engine)


def _noted(note: Path, request: str) -> int | None:
    """Return the checksum in the note of a block, if it is of this request, or None."""
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
        return int(said["checksum"]) if said["request"] == request else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _check_folder(job: Job) -> None:
    if not os.path.exists(job.token):
        raise ClusterError(
            f"worker {_name()} does not see the client's run in {job.path}: use a file system that "
            "all machines share"
        )
