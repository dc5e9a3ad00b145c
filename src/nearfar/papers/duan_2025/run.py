"""Run the experiment on BMSSP: one task per family and size, each with all methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from nearfar.lab.bench.cases import case
from nearfar.lab.experiments.claims import table_of_claims
from nearfar.lab.experiments.experiment import (
    Done,
    Experiment,
    Figure,
    Input,
    Settings,
    Table,
    Task,
)
from nearfar.lab.experiments.solving import from_one, hub, timed
from nearfar.papers.duan_2025.claims import claims_of
from nearfar.papers.duan_2025.graphs import FAMILIES, SIZES, graph_of
from nearfar.papers.duan_2025.tables import METHODS, figures_of, tables_of

#: Base-2 logarithm of the number of vertices above which the graph of constant degree is left out.
_CONSTANT_DEGREE_UP_TO = 20


class Duan2025(Experiment):
    """Experiment on times and operation counts by size; the paper reports no measurements."""

    name = "duan-2025"
    paper = "duan-2025"
    title = "Breaking the sorting barrier for directed SSSP (Duan, Mao, Mao, Shu, Yin 2025)"
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 1},
        "small": {"rounds": 5},
        "paper": {"rounds": 5, "per_method": 10.0},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """Return a task per family and size, smallest first; the methods need no GPU."""
        return [
            Task(
                f"{family}-{exponent:02}",
                {"family": family, "exponent": exponent, "seed": settings.seed, "part": "host"},
                2e-6 * 2**exponent,
            )
            for exponent in SIZES[settings.scale]
            for family in FAMILIES
        ]

    def make(self, task: Task, settings: Settings) -> Input | None:
        """Return the graph and the proven distances from its vertex of largest degree."""
        graph = graph_of(task.what)
        return from_one(graph, hub(graph))

    def run(
        self, task: Task, made: Input | None, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """Time every method on one graph."""
        assert made is not None
        wide = task.what["exponent"] > _CONSTANT_DEGREE_UP_TO
        cases = [
            case(label, identity, **options)
            for label, (identity, options) in METHODS.items()
            if not (wide and options.get("constant_degree"))
        ]
        return timed(made, cases, settings, progress)

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Return times and operations by family, and the claims."""
        return [*tables_of(done), table_of_claims(claims_of(done), f"{self.name}.md")]

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Return times over those of a binary heap."""
        return figures_of(done)


EXPERIMENT = Duan2025()
