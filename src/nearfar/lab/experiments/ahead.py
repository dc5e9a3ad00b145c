"""Build inputs of tasks ahead of time in worker processes, so that the main process measures.

Generating a graph of a hundred million edges and proving its distances takes one core far longer
than a GPU needs to solve it a hundred times. Workers therefore make the inputs of several tasks at
once and write them to a folder. They pause while a task is measured, so that they disturb no
timing, unless ``overlap`` is set: times of a GPU hardly depend on the load of other cores. Then
each worker has its own core and the measuring process has the others.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nearfar.errors import OptionError
from nearfar.graph.graph import Graph, join_transposes
from nearfar.lab.experiments.experiment import Experiment, Input, Settings, Task

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized


class Ahead:
    """Inputs of an experiment's tasks, built by worker processes ahead of their use."""

    def __init__(
        self,
        experiment: Experiment,
        settings: Settings,
        tasks: Sequence[Task],
        workers: int,
        folder: Path | None = None,
        *,
        overlap: bool = False,
    ) -> None:
        self.experiment = experiment
        self.settings = settings
        self._tasks = list(tasks)
        self._workers = workers
        self._parent = folder
        self._overlap = overlap
        self._folder: Path | None = None
        self._pool: ProcessPoolExecutor | None = None
        self._cores: set[int] = set()  # cores of this process before some were given to workers
        self._waiting: dict[str, Future[bool]] = {}

    def __enter__(self) -> Self:
        if self._workers > 1 and len(self._tasks) > 1:
            self._folder = Path(tempfile.mkdtemp(prefix="nearfar-inputs-", dir=self._parent))
            # A forked child would hold this process's CUDA context and threads.
            context = multiprocessing.get_context("spawn")
            count = min(self._workers, len(self._tasks))
            pinned: tuple[Any, ...] = ()
            if self._overlap and hasattr(os, "sched_setaffinity"):
                self._cores = os.sched_getaffinity(0)
                own, theirs = shared_out(self._cores, count)
                pinned = (_keep_to_one_core, (context.Value("i", 0), theirs))
                _keep_to(own)
            self._pool = ProcessPoolExecutor(count, context, *pinned)
        return self

    def __exit__(self, *_: object) -> None:
        if self._cores:
            _keep_to(self._cores)
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def take(self, task: Task) -> Input | None:
        """Return the input of a task; workers build those of later tasks at the same time."""
        if self._pool is None or self._folder is None:
            return self.experiment.make(task, self.settings)
        if self._overlap or task.key not in self._waiting:
            begin = self._tasks.index(task)
            for one in self._tasks[begin : begin + self._workers]:
                if one.key not in self._waiting:
                    place = self._folder / one.key
                    self._waiting[one.key] = self._pool.submit(
                        _make, self.experiment, one, self.settings, place
                    )
        if not self._overlap:
            wait(self._waiting.values())
        try:
            there = self._waiting.pop(task.key).result()
        except BrokenProcessPool:
            raise OptionError(
                f"a process that builds graphs ended before {task.key} was finished, perhaps "
                f"because memory ran out: give fewer workers than {self._workers}, and go on"
            ) from None
        return load(self._folder / task.key) if there else None


def shared_out(cores: Collection[int], workers: int) -> tuple[set[int], list[int]]:
    """Return the cores of the measuring process, and those of the workers, one each.

    Each worker has its own core if there are enough. The measuring process has at least one, which
    it shares only if there is no other.
    """
    ordered = sorted(cores)
    kept = max(1, len(ordered) - workers)
    return set(ordered[:kept]), ordered[kept:] or ordered


def _keep_to(cores: Collection[int]) -> None:
    """Restrict all threads of this process to these cores."""
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # the thread may have ended
            os.sched_setaffinity(int(thread), cores)


def _keep_to_one_core(begun: Synchronized[int], cores: Sequence[int]) -> None:
    """Restrict this worker and its threads to one core, the next of these."""
    with begun.get_lock():
        number, begun.value = begun.value, begun.value + 1
    os.sched_setaffinity(0, {cores[number % len(cores)]})


def _make(experiment: Experiment, task: Task, settings: Settings, place: Path) -> bool:
    """Build an input in a worker and write it; return False if the task has none."""
    made = experiment.make(task, settings)
    if made is not None:
        keep(made, place)
    return made is not None


def keep(made: Input, place: Path) -> None:
    """Write an input to a folder of its own: graph, transpose if cached, proven distances."""
    from nearfar.formats import write

    place.mkdir()
    write(made.graph, place / "graph.nfg")
    if made.graph.directed and made.graph.has_transpose:
        write(made.graph.transpose(), place / "transpose.nfg")
    if made.truth:
        np.save(place / "truth.npy", np.stack(list(made.truth.values())))
    facts = {"sources": made.sources, "proven": list(made.truth)}
    (place / "facts.json").write_text(json.dumps(facts))


def load(place: Path) -> Input:
    """Read an input written by :func:`keep` and delete it; arrays stay mapped while in use."""
    from nearfar.formats import read

    graph: Graph = read(place / "graph.nfg")
    if (place / "transpose.nfg").exists():
        join_transposes(graph, read(place / "transpose.nfg"))
    facts = json.loads((place / "facts.json").read_text())
    truth: dict[int, Any] = {}
    if facts["proven"]:
        truth = dict(zip(facts["proven"], np.load(place / "truth.npy"), strict=True))
    shutil.rmtree(place, ignore_errors=True)
    return Input(graph, facts["sources"], truth)
