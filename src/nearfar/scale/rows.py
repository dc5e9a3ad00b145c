"""Distances from many sources on a cluster: the client's side."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import ClusterError, OptionError, keyword, quoted
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.options import Device, Devices, check_above_zero
from nearfar.scale.cluster import check_workers, connected
from nearfar.scale.work import Given, Job, Made, measure, open_graph, solve_block
from nearfar.solve.arrays import distinct_sources, repeat_rows
from nearfar.solve.rows.files import FileSink
from nearfar.solve.rows.reductions import ReducingSink, Reduction
from nearfar.solve.steps.request import (
    as_graph,
    check_block,
    check_stats,
    make_request,
    vertices_or_all,
)

_CHUNK = 1 << 28  # bytes of a block of rows, at most
_SAVE = 2.0  # seconds between two writes of the manifest
_AHEAD = 3  # blocks queued at the cluster per thread


@dataclass
class _Plan:
    """Content of a file, as recorded in its manifest."""

    graph: Graph
    rows: NDArray[np.int64]
    columns: NDArray[np.int64] | None
    limit: Any
    block: int
    engine: str = "on a cluster"

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.graph.n_vertices if self.columns is None else len(self.columns)


def distances(
    client: Any,
    graph: GraphLike | str | os.PathLike[str],
    sources: Iterable[Any] | None = None,
    *,
    targets: Iterable[Any] | None = None,
    reduce: str | tuple[str, Sequence[float]] | None = None,
    out: str | os.PathLike[str] | None = None,
    method: str = "auto",
    device: Device = "auto",
    devices: Devices = None,
    threads: int | None = None,
    limit: float | None = None,
    block: int | None = None,
    seconds: float = 5.0,
    resources: dict[str, float] | None = None,
    stats: dict[str, Any] | None = None,
    progress: Callable[[float, float], None] | None = None,
    **options: Any,
) -> Any:
    """Compute exact distances from many sources on the workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client or str
        Client, or the scheduler's address.
    graph : graph_like or path
        Graph that is sent to each worker once, or the path of a file that each worker opens (native
        files are memory-mapped). ``.nfp`` files contain a prepared graph.
    sources, targets, reduce, limit, method, device, devices
        As for :func:`nearfar.distances`. A worker with a GPU solves one block at a time on it.
    out : path or None
        Zarr folder such as ``"rows.zarr"`` on a file system that all workers share. The same call
        after an interruption keeps the finished blocks.
    threads : int or None
        CPU threads per block. None means 1, or all threads of a worker with a GPU.
    block : int or None
        Rows per block; None chooses blocks that take about ``seconds``.
    seconds : float
        Intended time per block, which is lost if a worker is killed.
    resources : dict or None
        Dask worker resources that a block needs, such as ``{"GPU": 1}``.
    stats : dict or None
        Dict to be filled with ``seconds``, ``blocks``, ``kept`` (blocks of an earlier run),
        ``rows_per_block`` and ``engines``.
    progress : callable or None
        Function called with the number of finished rows and of all rows.
    **options
        Options of the variant.

    Returns
    -------
    zarr.Array, or the arrays of ``reduce``

    Raises
    ------
    ClusterError
        If no cluster responds, no worker has ``resources``, or all workers that held the graph are
        gone; if a worker lacks nearfar or has another version, or cannot access the file or
        ``out``. Finished blocks are kept.
    OptionError
        If neither or both of ``out`` and ``reduce`` are given, for a suffix other than ``.zarr``,
        or if ``out`` contains another run or is being written by another run.
    VertexError, NegativeWeightError, NegativeCycleError, VariantUnavailable, DistanceOverflowError
        As for :func:`nearfar.distances`.

    Notes
    -----
    The rows have the same bits as on one machine. If a worker is killed, its blocks are solved by
    other workers.
    """
    if (out is None) == (reduce is None):
        raise OptionError(
            f"give {keyword('out', 'rows.zarr')} for the rows, or {keyword('reduce', ...)} for a "
            "few numbers per row"
        )
    if out is not None and not os.fspath(out).endswith(".zarr"):
        raise OptionError(f"{keyword('out')} is {quoted(os.fspath(out))}: a cluster writes .zarr")
    check_block("distances", block)
    check_above_zero(seconds=seconds)
    check_stats(stats, progress)
    reduction = None if reduce is None else Reduction.parse(reduce)
    path = os.path.abspath(graph) if isinstance(graph, (str, os.PathLike)) else None
    opened = open_graph(path) if path is not None else as_graph(graph)  # type: ignore[arg-type]
    rows = vertices_or_all(opened, sources, "source")
    columns = None if targets is None else vertices_or_all(opened, targets, "target")
    how: dict[str, Any] = {"method": method, "device": device, "threads": threads}
    checked = make_request(
        opened, "batch", rows, **{**how, "device": "cpu" if device == "auto" else device},
        limit=limit, targets=columns, predecessors=False,
    )  # fmt: skip
    how |= {"device": device, "limit": checked.limit, "reduce": reduce, **options}
    if devices is not None:
        how["devices"] = devices
    rows, places = (rows, None) if reduction is None else distinct_sources(rows)
    plan = _Plan(opened, rows, columns, checked.limit, block or 0)
    began = time.perf_counter()
    with connected(client) as cluster:
        given = Given(opened if path is None else path, opened.digest(), columns)
        run = _ClusterRun(cluster, plan, given, Job(how), resources)
        if reduction is not None:
            sink = ReducingSink(reduction, rows, columns, opened)
            result = run.reduced(sink, seconds, progress)
            result = result if places is None else repeat_rows(result, places)
        else:
            result = run.written(Path(os.path.abspath(os.fspath(out or ""))), seconds, progress)
    if stats is not None:
        stats.update(run.stats, seconds=time.perf_counter() - began)
    return result


class _ClusterRun:
    """Run of all blocks on the workers."""

    def __init__(
        self, client: Any, plan: _Plan, given: Given, job: Job, resources: dict[str, float] | None
    ) -> None:
        self.client, self.plan, self.resources = client, plan, resources
        self.workers = check_workers(client, resources)
        width = max(plan.shape[1] * plan.graph.weight_dtype.itemsize, 1)
        self.job = replace(
            job, shape=plan.shape, dtype=plan.graph.weight_dtype, memory=self.workers.memory // 2
        )
        self.most = max(1, min(_CHUNK, self.workers.memory // 8) // width)
        path = given.graph if isinstance(given.graph, str) else None
        # Each worker receives large objects once; workers that join later get them from others.
        self.given = client.scatter(given, broadcast=path is None, hash=False)
        self.stats: dict[str, Any] = {"blocks": 0, "kept": 0, "engines": {}}

    def _submit(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a task, which another worker repeats if its worker is killed."""
        return self.client.submit(
            work, self.given, self.job, *arguments, pure=False, resources=self.resources
        )

    def _size(self, seconds: float) -> int:
        """Return rows per block for the intended time, with several blocks per thread."""
        k = max(len(self.plan.rows), 1)
        with self._words():
            speed = float(self._submit(measure, self.plan.rows[: self.most]).result())
        even = -(-k // (4 * self.workers.threads))
        return int(max(1, min(speed * seconds, self.most, even)))

    def reduced(self, sink: ReducingSink, seconds: float, progress: Any) -> Any:
        """Solve all blocks and return the reduction of the rows."""
        self.plan.block = self.plan.block or self._size(seconds)
        for made in self._blocks({}, progress):
            sink.blocks[made.number] = [made.figures]
        return sink.finish()

    def written(self, path: Path, seconds: float, progress: Any) -> Any:
        """Solve all blocks, and return the Zarr array once its manifest lists every block."""
        notes = Path(f"{path}.blocks")
        if not self.plan.block and not path.exists():
            self.plan.block = self._size(seconds)
        sink = FileSink(os.fspath(path), self.plan)
        token = notes / f"run-{uuid.uuid4().hex}"
        try:
            self.plan.block = self.plan.block or 1  # from the manifest, if there is one
            named = sink.open(self.plan.shape, self.plan.graph.weight_dtype)
            notes.mkdir(exist_ok=True)
            for old in notes.glob("run-*"):  # tokens of clients that were killed
                old.unlink(missing_ok=True)
            token.touch()
            said = json.dumps([sink.identity, self.plan.block])
            request = hashlib.sha256(said.encode()).hexdigest()
            self.job = replace(
                self.job, request=request, path=os.fspath(path), token=os.fspath(token),
                block=self.plan.block,
            )  # fmt: skip
            saved = time.perf_counter()
            try:
                for made in self._blocks(named, progress):
                    sink.keep(made.number, made.checksum)
                    if time.perf_counter() > saved + _SAVE:
                        sink.save()
                        saved = time.perf_counter()
            finally:
                token.unlink(missing_ok=True)
                sink.save()
            shutil.rmtree(notes)
            return sink.finish()
        finally:
            sink.close()

    def _blocks(self, named: dict[int, int], progress: Any) -> Iterator[Made]:
        """Yield the result of each block when it finishes."""
        from distributed import as_completed

        count, block = len(self.plan.rows), self.plan.block
        waiting = deque(enumerate(range(0, max(count, 1), block)))
        self.stats |= {"blocks": len(waiting), "rows_per_block": block}
        flying: set[Any] = set()
        landed = as_completed(loop=self.client.loop)
        done = 0

        def send() -> None:
            number, first = waiting.popleft()
            part = self.plan.rows[first : first + block]
            future = self._submit(solve_block, number, part, named.get(number))
            flying.add(future)
            landed.add(future)

        try:
            while waiting or flying:
                while waiting and len(flying) < _AHEAD * self.workers.threads:
                    send()
                future = next(landed)
                flying.discard(future)
                with self._words():
                    made: Made = future.result()
                future.release()
                self.stats["kept"] += made.kept
                if not made.kept:
                    engines = self.stats["engines"]
                    engines[made.engine] = engines.get(made.engine, 0) + 1
                yield made
                done += 1
                if progress is not None:
                    progress(min(done * block, count), count)
        finally:
            if flying:
                self.client.cancel(list(flying))

    @contextlib.contextmanager
    def _words(self) -> Iterator[None]:
        """Convert Dask's errors to errors with one sentence."""
        from distributed import KilledWorker
        from distributed.comm import CommClosedError

        try:
            yield
        except KilledWorker as error:
            raise ClusterError(
                "workers ended while solving the same block (attempts: "
                f"{error.allowed_failures + 1}, last worker: {error.last_worker.address}): give "
                f"them more memory, or {keyword('block', ...)} fewer rows; finished blocks are kept"
            ) from error
        except (CancelledError, CommClosedError) as error:
            raise ClusterError(
                "the cluster has lost the graph or this client: repeat the call with workers that "
                "keep running; finished blocks are kept"
            ) from error
