"""Experiments: independent tasks, and the tables and figures made from their results."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from numpy.typing import NDArray

from nearfar.errors import OptionError
from nearfar.graph.graph import Graph

_KEY = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that determine the numbers of a run, written to the manifest."""

    # {"tiny", "small", "paper", "beyond"}; `tiny` is for tests: its numbers are meaningless
    scale: str
    # {"cpu", "cuda"}; `cuda` measures the GPU methods and the CPU ones that the paper compares with
    # them, which need no GPU if they are separate tasks; `cpu` only the methods of the CPU
    device: str
    rounds: int = 3  # timed solves from each source
    sources: int = 1  # sources drawn per graph
    graphs: int = 1  # graphs of each size, with seeds `seed`, `seed + 1`, ...
    patience: float = 1.0  # seconds; a solve that takes longer is timed once
    seed: int = 1  # seed of the first graph
    # seconds; a method whose solves of a graph took longer in total starts no further solve
    per_method: float | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Measurement that can be run, stored and repeated separately."""

    key: str  # stable name of the task and its file: lower case, digits, dots, dashes
    what: dict[str, Any]  # inputs of the experiment's `run`, as plain data
    cost: float = 1.0  # proportional to the expected seconds; for estimates of the remaining time

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(f"task key {self.key!r} cannot be a file name everywhere")

    @property
    def on_host(self) -> bool:
        """Whether the task measures only methods of the host, which need no GPU."""
        return self.what.get("part") == "host"


@dataclass(slots=True)
class Input:
    """Input of a task."""

    graph: Graph  # with its transpose cached, if methods of the experiment need that
    sources: list[int] = field(default_factory=list)  # vertices to solve from
    # proven distances by source; empty if the experiment checks answers itself
    truth: dict[int, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """Finished task: its key, its description, and the plain data that ``run`` returned."""

    key: str
    what: dict[str, Any]
    result: dict[str, Any]


def whole(done: Sequence[Done]) -> list[Done]:
    """Combine the tasks that are parts of one graph's measurement.

    A task with ``part`` in its ``what`` measured some methods of the graph that the task without
    ``part`` describes: those of the host need no GPU, so that they can be measured separately.
    """
    groups: dict[str, list[Done]] = {}
    for one in done:
        graph = {name: value for name, value in one.what.items() if name != "part"}
        groups.setdefault(json.dumps(graph, sort_keys=True), []).append(one)
    return [_together(parts) for parts in groups.values()]


def _together(parts: list[Done]) -> Done:
    """Merge a task's parts; the part without a name determines everything except tables."""
    first = min(parts, key=lambda one: "part" in one.what)
    if len(parts) == 1:
        return first
    result = dict(first.result)
    for table in ("cases", "left_out", "memory"):
        if any(table in one.result for one in parts):
            result[table] = {k: v for one in parts for k, v in one.result.get(table, {}).items()}
    return Done(first.key, {k: v for k, v in first.what.items() if k != "part"}, result)


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table; ``unit`` may be empty, ``digits`` are the significant ones shown."""

    name: str
    unit: str = ""
    digits: int = 3


@dataclass(slots=True)
class Table:
    """Table of numbers with units."""

    key: str  # file name without suffix
    # title, caption: one line; and notes for the reader: method of measurement, the paper's figures
    title: str
    caption: str
    columns: list[Column]
    rows: list[list[Any]]  # a string, a number, a bool, or None (shown as a dash) for each column

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(slots=True)
class Series:
    """Line, or set of bars, of a panel.

    ``low`` and ``high`` bound the spread; ``right`` puts a line on the panel's right axis.
    """

    label: str
    x: Sequence[Any]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    style: dict[str, Any] = field(default_factory=dict)
    right: bool = False


@dataclass(slots=True)
class Panel:
    """Pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: list[Series]
    kind: str = "lines"  # {"lines", "bars"}; bars need texts as `x`, the same in every series
    x_log: bool = False
    y_log: bool = False
    # list of (str, float); labelled vertical lines, such as the delta that a heuristic chose
    marks: list[tuple[str, float]] = field(default_factory=list)
    right_label: str = ""  # label of the right axis, if a series uses it


@dataclass(slots=True)
class Figure:
    """Figure as data; :mod:`nearfar.lab.experiments.render` draws it."""

    key: str
    title: str
    caption: str
    panels: list[Panel]
    columns: int = 2

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


class Experiment(ABC):
    """Experiments of one paper.

    A subclass sets the class attributes and writes the five methods; its module ends with
    ``EXPERIMENT = TheClass()``.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    title: ClassVar[str]
    #: Supported scales; any other is refused.
    scales: ClassVar[tuple[str, ...]] = ("tiny", "small", "paper")
    #: Overrides of the defaults of :class:`Settings` by scale.
    defaults: ClassVar[dict[str, dict[str, Any]]] = {}

    def settings(self, scale: str, device: str, **given: Any) -> Settings:
        """Return the settings, with this experiment's defaults where ``given`` has None."""
        if scale not in self.scales:
            shown = ", ".join(s for s in self.scales if s != "tiny")
            raise OptionError(f"{self.name} has no scale {scale!r}: use {shown}")
        chosen = self.defaults.get(scale, {}) | {k: v for k, v in given.items() if v is not None}
        for key in ("rounds", "sources", "graphs"):
            if chosen.get(key, 1) < 1:
                raise OptionError(f"{key} is {chosen[key]}: give 1 or more")
        limit = chosen.get("per_method")
        if limit is not None and not limit > 0:
            raise OptionError(f"per_method is {limit}: give seconds above 0")
        return Settings(scale, device, **chosen)

    @abstractmethod
    def tasks(self, settings: Settings) -> list[Task]:
        """Return the measurements, cheapest first where the order does not matter."""

    def make(self, task: Task, settings: Settings) -> Input | None:
        """Return the input of a task, or None; may be called in another process."""
        return None

    @abstractmethod
    def run(
        self, task: Task, made: Input | None, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Measure one task on what :meth:`make` made.

        Returns plain data with all samples. ``progress`` takes 0 to 1.
        """

    def kept(self, key: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a task's result to store in the repository: all, unless large."""
        return result

    @abstractmethod
    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Return the tables of finished tasks; others may be missing."""

    @abstractmethod
    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Return the figures of finished tasks; others may be missing."""
