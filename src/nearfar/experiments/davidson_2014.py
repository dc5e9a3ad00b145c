"""Davidson, Baxter, Garland, Owens (2014): work-efficient parallel SSSP on GPUs.

Table II (the graphs), Table III (work saved, parallelism and iterations against Bellman-Ford) and
Figures 3 (traversals), 4 (queue sizes), 5 (time over Dijkstra, and MTEPS), 6 (work and iterations
against parallelism) and 7 (delta, with the heuristic's choice). MTEPS count the edges that a
Dijkstra run touches, as the paper does, so that wasted work never looks like speed. On the CPU the
methods run sequentially: their counters are those of the paper's comparison, their times are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from nearfar.bench.cases import case, proven, time_cases
from nearfar.experiments.davidson_graphs import GRAPHS, source_of
from nearfar.experiments.experiment import (
    Column,
    Done,
    Experiment,
    Figure,
    Panel,
    Series,
    Settings,
    Table,
    Task,
)
from nearfar.experiments.solving import geometric, hops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EXPERIMENT", "METHODS", "TABLE_III", "Davidson2014", "summary"]

#: Vertices are the paper's divided by this.
_SHRINK = {"tiny": 4096, "small": 64, "paper": 1}
_FACTORS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0)
_TRAVERSALS = ("thread", "cooperative_blocks", "cta_warp_scan", "load_balanced")
_HEAP, _RELAXED = "Dijkstra, binary heap", "Dijkstra, relaxed heap"
#: The paper's names of the methods, and ours by device.
METHODS = {
    "Bellman-Ford": {"cpu": "bellman_ford@cpu", "cuda": "bellman_ford@cuda"},
    "Workfront Sweep": {"cpu": "workfront_sweep@cpu", "cuda": "workfront_sweep@cuda"},
    "Near-Far": {"cpu": "near_far@cpu", "cuda": "near_far_host_loop@cuda"},
    "Bucketing": {"cpu": "bucketing@cpu", "cuda": "bucketing@cuda"},
}
_OURS = {"hybrid": "hybrid_sweep@cuda", "one launch": "near_far@cuda"}
#: Table III as printed: work saved, vertices an iteration, iterations, against Bellman-Ford.
TABLE_III = {
    "Workfront Sweep": (9.6, 87_998, 1.05),
    "Near-Far": (260.0, 17_138, 1.66),
    "Bucketing": (353.0, 8_135, 2.27),
}
_QUEUES = {"Workfront Sweep": {"frontier": "workfront"}}
_QUEUES["Near-Far"] = {"frontier": "near set", "far": "far pile"}
_MOST_POINTS = 1_500


def _recorded(graph: Any, source: int, method: str) -> dict[str, list[int]]:
    """Queue sizes and edges an iteration, thinned for the thousands of iterations of a road."""
    from nearfar.solve import sssp

    stats = sssp(graph, source, method=method, predecessors=False, stats="full").stats
    found: dict[str, list[int]] = {}
    for name in ("frontier", "far", "edges", "labelled", "final"):
        values = np.atleast_1d(stats.get(name, ()))
        if len(values):
            values = np.cumsum(values) if name in ("edges", "labelled", "final") else values
            step = -(-len(values) // _MOST_POINTS)
            found[name] = values[::step].tolist()
            found["iteration"] = list(range(1, len(values) + 1, step))
    return found


def summary(done: Sequence[Done], label: str) -> tuple[float, float, float] | None:
    """Means over the graphs: work saved, vertices an iteration, iterations over Bellman-Ford's."""
    rows = []
    for one in done:
        cases = one.result["cases"]
        if label in cases and "Bellman-Ford" in cases:
            base, mine = cases["Bellman-Ford"]["counters"], cases[label]["counters"]
            rows.append(
                (
                    base["edges_relaxed"] / max(mine["edges_relaxed"], 1),
                    mine["vertices_processed"] / max(mine["iterations"], 1),
                    mine["iterations"] / max(base["iterations"], 1),
                )
            )
    if not rows:
        return None
    saved, parallel, steps = (float(np.mean(part)) for part in zip(*rows, strict=True))
    return saved, parallel, steps


class Davidson2014(Experiment):
    """Tables II-III and Figures 3-7."""

    name = "davidson-2014"
    paper = "davidson-2014"
    title = "Near-Far and its relatives (Davidson et al. 2014)"
    scales = ("tiny", "small", "paper")
    defaults: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"rounds": 1},
        "small": {"rounds": 3},
        "paper": {"rounds": 3, "patience": 1.0},
    }

    def tasks(self, settings: Settings) -> list[Task]:
        """One graph each, small ones first."""
        order = sorted(GRAPHS.values(), key=lambda g: g.edges)
        return [Task(g.name, {"graph": g.name}, g.edges / 1e6) for g in order]

    def run(
        self, task: Task, settings: Settings, progress: Callable[[float], None]
    ) -> dict[str, Any]:
        """All methods, traversals, queue sizes and deltas on one graph."""
        from nearfar.profile import delta_sweep

        paper, device = GRAPHS[task.what["graph"]], settings.device
        graph = paper.make(max(paper.vertices // _SHRINK[settings.scale], 32))
        source = source_of(graph)
        truth = proven(graph, [source])
        cases = [
            case(_HEAP, "dijkstra_binary_heap@cpu"),
            case(_RELAXED, "dijkstra_relaxed_heap@cpu"),
            *(case(label, ours[device]) for label, ours in METHODS.items()),
        ]
        if device == "cuda":
            cases += [case(label, ours) for label, ours in _OURS.items()]
            for t in _TRAVERSALS:
                cases.append(case(f"sweep {t}", "workfront_sweep@cuda", traversal=t))
                cases.append(case(f"near-far {t}", "near_far_host_loop@cuda", traversal=t))
        result = time_cases(
            graph,
            cases,
            [source],
            rounds=settings.rounds,
            patience=settings.patience,
            truth=truth,
            with_counters=False,
            progress=lambda part: progress(part * 0.7),
        )
        result["hops"] = hops(graph, source)
        result["queues"] = {
            label: _recorded(graph, source, METHODS[label][device]) for label in _QUEUES
        }
        progress(0.85)
        result["sweep"] = delta_sweep(
            graph, source, method=METHODS["Near-Far"][device], factors=_FACTORS
        )
        return result

    # --- tables -----------------------------------------------------------------------------------

    def tables(self, done: Sequence[Done], settings: Settings) -> list[Table]:
        """Tables II and III, and the numbers of Figures 3, 5 and 6."""
        ordered = _in_paper_order(done)
        made = [_table_two(ordered), _table_three(ordered), _speed(ordered), _work(ordered)]
        return [*made, _traversals(ordered)] if settings.device == "cuda" else made

    # --- figures ----------------------------------------------------------------------------------

    def figures(self, done: Sequence[Done], settings: Settings) -> list[Figure]:
        """Figures 3 (on a GPU) to 7."""
        ordered = _in_paper_order(done)
        made = [_figure_4(ordered), _figure_5(ordered), _figure_6(ordered), _figure_7(ordered)]
        return [_figure_3(ordered), *made] if settings.device == "cuda" else made


def _in_paper_order(done: Sequence[Done]) -> list[Done]:
    """By the paper's decreasing diameter."""
    found = {one.key: one for one in done}
    return [found[name] for name in GRAPHS if name in found]


def _labels(done: Sequence[Done]) -> list[str]:
    """Methods without the traversals and the base."""
    every = dict.fromkeys(label for one in done for label in one.result["cases"])
    return [x for x in every if x != _HEAP and not x.startswith(("sweep ", "near-far "))]


def _seconds(one: Done, label: str) -> float | None:
    found = one.result["cases"].get(label)
    return float(found["median_seconds"]) if found else None


def _over(one: Done, label: str, base: str = _HEAP) -> float | None:
    seconds, heap = _seconds(one, label), _seconds(one, base)
    return heap / seconds if heap and seconds else None


def _mteps(one: Done, label: str) -> float | None:
    seconds = _seconds(one, label)
    return one.result["edges_of_dijkstra"][0] / seconds * 1e-6 if seconds else None


def _counts(one: Done, label: str) -> tuple[float, float, int] | None:
    """Work over Dijkstra's, vertices an iteration, iterations."""
    counters = one.result["cases"].get(label, {}).get("counters", {})
    if not all(counters.get(k) for k in ("edges_relaxed", "iterations", "vertices_processed")):
        return None
    return (
        counters["edges_relaxed"] / max(one.result["edges_of_dijkstra"][0], 1),
        counters["vertices_processed"] / counters["iterations"],
        counters["iterations"],
    )


def _table_two(done: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for one in done:
        paper, result = GRAPHS[one.key], one.result
        line = [one.key, paper.kind, paper.stand_in, result["n"], result["m"]]
        line += [result["m"] / result["n"], result["hops"]]
        rows.append([*line, paper.vertices, paper.edges, paper.diameter])
    names = ["graph", "class", "here", "vertices", "edges", "degree", "hops"]
    names += ["paper: vertices", "paper: edges", "paper: diameter"]
    caption = (
        "The paper's files are not at hand; the third column says what stands in. Hops: the "
        "greater depth of two breadth-first searches, a lower bound of the diameter."
    )
    return Table("table-2", "Table II: the graphs", caption, [Column(n) for n in names], rows)


def _table_three(done: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for label, printed in TABLE_III.items():
        rows.append([label, *(summary(done, label) or (None,) * 3), *printed])
    columns = [Column("method"), Column("work saved", "times"), Column("vertices an iteration")]
    columns += [Column("iterations", "times"), Column("paper: work saved", "times")]
    columns += [Column("paper: vertices an iteration"), Column("paper: iterations", "times")]
    caption = (
        "Against Bellman-Ford, means over the graphs. Work is edges looked at; iterations are "
        "those over Bellman-Ford's."
    )
    return Table("table-3", "Table III: work, parallelism, iterations", caption, columns, rows)


def _speed(done: Sequence[Done]) -> Table:
    labels = _labels(done)
    rows: list[list[Any]] = []
    for one in done:
        base = _seconds(one, _HEAP)
        line: list[Any] = [one.key, base * 1e3 if base else None]
        line += [_over(one, label) for label in labels]
        rows.append([*line, *(_mteps(one, label) for label in labels if label != _RELAXED)])
    columns = [Column("graph"), Column(_HEAP, "ms")]
    columns += [Column(label, "times") for label in labels]
    columns += [Column(label, "MTEPS") for label in labels if label != _RELAXED]
    caption = (
        "Times faster than Dijkstra with a binary heap on one core (left), and throughput. MTEPS "
        "count the edges that Dijkstra touches. A GPU's time is the device's, graph on it."
    )
    return Table("figure-5", "Figure 5: speed and throughput", caption, columns, rows)


def _work(done: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for one in done:
        for label in _labels(done):
            counts = _counts(one, label)
            if counts and label != _RELAXED:
                rows.append([one.key, label, *counts])
    columns = [Column("graph"), Column("method"), Column("work over Dijkstra's", "times")]
    columns += [Column("vertices an iteration"), Column("iterations")]
    caption = "Delta is the paper's heuristic, 32 times the mean weight over the mean degree."
    return Table("figure-6", "Figure 6: the four dimensions", caption, columns, rows)


def _traversals(done: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for policy in ("sweep", "near-far"):
        names = [f"{policy} {t}" for t in _TRAVERSALS]
        for one in done:
            times = [_seconds(one, name) for name in names]
            rows.append([policy, one.key, *(t * 1e3 if t else None for t in times)])
    columns = [Column("policy"), Column("graph")]
    columns += [Column(t.replace("_", " "), "ms") for t in _TRAVERSALS]
    return Table("figure-3", "Figure 3: traversals", "Median device time.", columns, rows)


def _figure_3(done: Sequence[Done]) -> Figure:
    graphs = [one.key for one in done]
    panels = []
    for policy in ("sweep", "near-far"):
        series = []
        for t in _TRAVERSALS:
            values = [_over(one, f"{policy} {t}", f"{policy} thread") for one in done]
            mean = geometric(v for v in values if v)
            shown = t.replace("_", " ") + (f" (mean {mean:.2f})" if mean else "")
            series.append(Series(shown, graphs, values))
        panels.append(Panel(policy, "", "times faster than a thread a vertex", series, kind="bars"))
    return Figure("figure-3", "Figure 3: traversals", "Higher is faster.", panels)


def _figure_4(done: Sequence[Done]) -> Figure:
    chosen = [one for one in done if one.key in ("msdoor", "rmat")] or list(done[:2])
    panels = []
    for one in chosen:
        for label, names in _QUEUES.items():
            queue = one.result["queues"][label]
            at = queue.get("iteration", [])
            more = {"labelled": "labelled so far", "final": "final so far"}
            series = [
                Series(text, at, queue[key], style={"marker": ""})
                for key, text in (names | more).items()
                if any(queue.get(key, ()))
            ]
            panels.append(Panel(f"{one.key}: {label}", "iteration", "vertices", series))
        edges = [
            Series(
                label,
                one.result["queues"][label].get("iteration", []),
                one.result["queues"][label].get("edges", []),
                style={"marker": ""},
            )
            for label in _QUEUES
        ]
        panels.append(Panel(f"{one.key}: edges touched so far", "iteration", "edges", edges))
    caption = "A mesh and a scale-free graph: queue sizes, and how much is looked at in all."
    return Figure("figure-4", "Figure 4: near set and far pile", caption, panels, columns=3)


def _figure_5(done: Sequence[Done]) -> Figure:
    graphs, labels = [one.key for one in done], _labels(done)
    left = [Series(x, graphs, [_over(one, x) for one in done]) for x in labels]
    shown = [x for x in labels if x != _RELAXED]
    right = [Series(x, graphs, [_mteps(one, x) for one in done]) for x in shown]
    panels = [
        Panel("(a)", "", "times faster than Dijkstra, binary heap", left, kind="bars", y_log=True),
        Panel("(b)", "", "MTEPS", right, kind="bars", y_log=True),
    ]
    return Figure("figure-5", "Figure 5: speed and throughput", "Log scales.", panels)


def _figure_6(done: Sequence[Done]) -> Figure:
    work, steps = [], []
    for label in _labels(done):
        counts = [c for one in done if (c := _counts(one, label))]
        if not counts or label == _RELAXED:
            continue
        across = [c[1] for c in counts]
        style = {"linestyle": "none"}
        work.append(Series(label, across, [c[0] for c in counts], style=style))
        steps.append(Series(label, across, [c[2] for c in counts], style=style))
    panels = [
        Panel(title, "vertices an iteration", what, series, x_log=True, y_log=True)
        for title, what, series in (
            ("(a) work", "edges / Dijkstra's", work),
            ("(b) iterations", "iterations", steps),
        )
    ]
    caption = "One point a graph; Dijkstra itself would be at 1 and 1."
    return Figure("figure-6", "Figure 6: the four dimensions", caption, panels)


def _figure_7(done: Sequence[Done]) -> Figure:
    panels = []
    for one in done:
        rows = sorted(one.result["sweep"]["rows"], key=lambda row: row["delta"])
        across = [row["delta"] for row in rows]
        marks = [("heuristic", one.result["sweep"]["heuristic"])]
        for title, key, log in (
            ("work", "work", False),
            ("parallelism", "average_parallelism", True),
        ):
            series = [Series("", across, [row[key] for row in rows])]
            what = "edges / Dijkstra's" if key == "work" else "vertices an iteration"
            panels.append(
                Panel(
                    f"{one.key}: {title}", "delta", what, series, x_log=True, y_log=log, marks=marks
                )
            )
    caption = "Near-Far with multiples of the heuristic's delta, which the dotted line marks."
    return Figure("figure-7", "Figure 7: delta", caption, panels, columns=4)


EXPERIMENT = Davidson2014()
