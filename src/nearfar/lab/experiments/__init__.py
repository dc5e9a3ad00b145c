"""Run and store experiments of papers, with tables and figures of this machine's measurements.

``nearfar experiment NAME -o DIR`` and :func:`run` do the same. An experiment is a list of
independent tasks; each result is written at once, so that a run that was stopped can be resumed.

What DIR holds
--------------
``manifest.json``
    Schema, experiment, settings (scale, device, rounds, sources, graphs, seed) and one entry of
    ``environments`` for each time the command ran: date, commit, processor, GPU, versions.
``samples/KEY.json``
    One finished task: ``key``, ``what`` (its parameters), ``environment`` (index into the
    manifest's list), ``seconds`` it took in all, and ``result`` with every sample.
``results.json``
    Everything, self-describing: ``title``, ``paper``, ``settings``, ``environments``, ``remarks``
    (sentences), ``missing`` and ``skipped`` tasks, ``tables``, ``figures`` and ``tasks``. A table
    has ``key``, ``title``, ``caption``, ``columns`` (``name``, ``unit``, ``digits``) and ``rows``
    (texts, numbers, null). A figure has ``key``, ``title``, ``caption``, ``panels`` with the
    plotted data, and ``files``: names below ``figures/``, PNG first, then SVG; empty without
    matplotlib.
``tables/KEY.md``, ``figures/KEY.png|svg``, ``index.md``
    The same for readers.

Adding an experiment
--------------------
A folder of :mod:`nearfar.papers`. Its docstring describes the paper's measurements and the
departures from them; the files are ``graphs``, ``run``, ``claims``, ``tables``, ``figures`` and
``page``. ``run`` has a subclass of :class:`~nearfar.lab.experiments.experiment.Experiment` and, at
its end, ``EXPERIMENT = TheClass()``; ``page`` has ``page()``, the text of the page in
docs/reproduction. The command line, the tests and the docs find both.

- ``tasks(settings)`` lists the measurements with stable keys; ``make`` makes the graph of a task,
  possibly in another process; ``run`` measures on it and returns plain data; ``tables`` and
  ``figures`` use the finished tasks. All scales, including ``tiny`` for tests, use the same code.
- Time with :func:`nearfar.lab.bench.cases.time_cases`: it warms up, alternates methods,
  keeps all samples, compares every answer with a proven one outside the timed region, and takes
  counters in a separate run. A ``result`` with ``cases: {label: {"wrong_runs": ...,
  "unsafe": ...}}`` anywhere inside makes the command fail when a safe method was wrong.
- TEPS are the edges that Dijkstra touches, divided by the time: ``edges_of_dijkstra`` of a result.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearfar.errors import OptionError, by_name
from nearfar.options import canonical_device
from nearfar.system.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nearfar.lab.experiments.experiment import Experiment
    from nearfar.lab.experiments.runner import Outcome

__all__ = ["experiments", "find", "run"]


def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, sorted.

    Returns
    -------
    dict of str to Experiment
    """
    found: dict[str, Experiment] = {}
    papers = importlib.import_module("nearfar.papers")
    for info in pkgutil.iter_modules(papers.__path__):
        paper = importlib.import_module(f"nearfar.papers.{info.name}")
        if any(module.name == "run" for module in pkgutil.iter_modules(paper.__path__)):
            one = importlib.import_module(f"nearfar.papers.{info.name}.run").EXPERIMENT
            found[one.name] = one
    return dict(sorted(found.items()))


def find(name: str) -> Experiment:
    """Return the experiment of that name.

    Parameters
    ----------
    name : str

    Returns
    -------
    Experiment

    Raises
    ------
    OptionError
        For an unknown name; the message offers the nearest.
    """
    return by_name(experiments(), name, "experiment")


def device_of(device: str) -> str:
    """Return ``cpu`` or ``cuda`` for a device by name; ``auto`` is the GPU if there is one."""
    from nearfar.system.devices import runtime

    device = canonical_device(device)
    if device == "auto":
        return "cuda" if runtime.available() is True else "cpu"
    return device


def run(
    name: str,
    *,
    out: str | Path,
    scale: str = "small",
    device: str = "auto",
    rounds: int | None = None,
    sources: int | None = None,
    graphs: int | None = None,
    seed: int | None = None,
    per_method: float | None = None,
    only: Sequence[str] = (),
    budget: float | None = None,
    restart: bool = False,
    workers: int = 1,
    overlap: bool = False,
    progress: bool | None = None,
) -> Outcome:
    """Run a paper's experiments, or resume a run that was stopped.

    Parameters
    ----------
    name : str
        A key of :func:`experiments`.
    out : path
        Folder for results; the package's docstring lists its files.
    scale : {"small", "paper", "beyond"}
        ``small`` takes minutes on two cores; ``paper`` has the paper's sizes.
    device : {"auto", "cpu", "cuda"}
        ``cuda`` measures the methods of both the GPU and the CPU; tasks of the host, ``*-host``,
        need no GPU.
    rounds, sources, graphs, seed : int or None
        Overrides of the scale: timed solves per source, sources per graph, graphs per size,
        first seed.
    per_method : float or None
        Seconds; a method whose solves of a graph took longer in total starts no further solve.
    only : sequence of str
        Shell patterns of task keys, measured in this order; the others are left for later.
    budget : float or None
        Seconds; no task starts later.
    restart : bool
        Delete the folder's results first.
    workers : int
        Processes that make the graphs of the next tasks, and idle while a task is timed.
    overlap : bool
        Whether these processes also run while a task is timed, each on its own core, with the task
        on the others; for methods of a GPU.
    progress : bool or None
        None shows a bar on a terminal; True reports elsewhere too; False is silent.

    Returns
    -------
    Outcome
        Results, and the names of tasks with wrong answers, of which there should be none.

    Raises
    ------
    OptionError
        For unknown names or values, or a folder that holds another run or that a run writes to.
    VariantUnavailable
        For ``device="cuda"`` without a GPU, unless all tasks are those of the host.
    """
    from nearfar.lab.experiments.runner import execute

    experiment = find(name)
    if workers < 1:
        raise OptionError(f"workers is {workers}: give 1 or more")
    given: dict[str, Any] = {"rounds": rounds, "sources": sources, "graphs": graphs, "seed": seed}
    given |= {"per_method": per_method}
    settings = experiment.settings(scale, device_of(device), **given)
    with Progress(name, enabled=progress is not False, always=progress is True) as bar:
        return execute(
            experiment,
            settings,
            Path(out),
            only=only,
            budget=budget,
            restart=restart,
            workers=workers,
            overlap=overlap,
            progress=lambda done, total, task: bar.stage(task, done, total),
        )
