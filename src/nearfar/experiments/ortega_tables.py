"""Tables 1-4 and Figures 2-11 of Ortega-Arranz et al. (2015) from measured results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearfar.experiments.experiment import Column, Done, Figure, Panel, Series, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["figures_of", "tables_of"]

_ORDER = (
    "relaxed heap",
    "CPU Martin succ.",
    "CPU Martin pred.",
    "CPU Crauser succ.",
    "CPU Crauser pred.",
    "GPU Martin succ.",
    "GPU Martin pred.",
    "GPU Crauser succ.",
    "GPU Crauser pred.",
    "GPU Crauser opt.",
)
_HOW = (
    "Mean over the sources of each one's median; on the GPU by events, host steps included, graph "
    "on the device; every answer checked."
)


def _seconds(one: Done, label: str) -> float | None:
    entry = one.result["cases"].get(label)
    return None if entry is None else float(entry["mean_seconds"])


def _ratio(one: Done, slow: str, fast: str) -> float | None:
    a, b = _seconds(one, slow), _seconds(one, fast)
    return a / b if a and b else None


def _counter(one: Done, label: str, name: str) -> Any:
    return one.result["cases"].get(label, {}).get("counters", {}).get(name)


def _name(one: Done) -> str:
    what = one.what
    if what["kind"] == "random":
        return f"{what['vertices'] // 1000}k deg{what['degree']}"
    return str(what["name"]) if what["kind"] == "real" else f"martin {what['vertices']:,}"


def _labels(done: Iterable[Done]) -> list[str]:
    there = {label for one in done for label in one.result["cases"]}
    return [label for label in _ORDER if label in there]


def _of(done: Sequence[Done], kind: str) -> list[Done]:
    return [one for one in done if one.what["kind"] == kind]


def tables_of(done: Sequence[Done]) -> list[Table]:
    """All tables that the finished tasks allow."""
    found = []
    for kind, title in (
        ("martin", "Figure 2 a-c: Martin's graphs"),
        ("random", "Figures 3 and 9: uniform random graphs"),
        ("real", "Figures 4 and 10: real and real-like graphs"),
    ):
        some = _of(done, kind)
        if some:
            labels = _labels(some)
            rows = [
                [
                    _name(one),
                    one.result["n"],
                    one.result["m"],
                    *(None if (s := _seconds(one, label)) is None else s * 1e3 for label in labels),
                ]
                for one in some
            ]
            head = [Column("graph"), Column("vertices"), Column("edges")]
            columns = [*head, *(Column(label, "ms") for label in labels)]
            found.append(Table(f"{kind}-times", title, _HOW, columns, rows))
    found += _speedups(done) + _idle(done) + _shapes(done) + _memory(done)
    return found


def _speedups(done: Sequence[Done]) -> list[Table]:
    pairs = (
        ("over CPU Crauser", "CPU Crauser succ."),
        ("over GPU Martin", "GPU Martin succ."),
        ("opt. over relaxed heap", "relaxed heap"),
    )
    rows = []
    for one in [*_of(done, "random"), *_of(done, "real")]:
        iterations = [
            _counter(one, label, "iterations")
            for label in ("GPU Martin succ.", "GPU Crauser succ.")
        ]
        if iterations[1] is None:
            continue
        ratios = [
            _ratio(one, slow, "GPU Crauser opt." if "opt" in name else "GPU Crauser succ.")
            for name, slow in pairs
        ]
        rows.append([_name(one), one.what.get("family", "random"), *ratios, *iterations])
    columns = [
        Column("graph"),
        Column("family"),
        *(Column(name, "times") for name, _ in pairs),
        Column("iterations, Martin"),
        Column("iterations, Crauser"),
    ]
    title = "Tables 2 and 3: how many times faster GPU Crauser is"
    return [Table("speedups", title, _HOW, columns, rows)] if rows else []


def _idle(done: Sequence[Done]) -> list[Table]:
    rows = []
    for one in done:
        for label in ("GPU Martin succ.", "GPU Crauser succ.", "GPU Crauser pred."):
            total = _counter(one, label, "total_threads")
            if total:
                working = _counter(one, label, "working_threads")
                share = _counter(one, label, "idle_share")
                iterations = _counter(one, label, "iterations")
                rows.append([_name(one), label, iterations, total, working, 100 * share])
    columns = [
        Column("graph"),
        Column("method"),
        Column("iterations"),
        Column("threads launched"),
        Column("threads at work"),
        Column("idle", "%"),
    ]
    note = (
        "Figure 2 d: threads of the relax kernel over all iterations, counted in a run of its own."
    )
    return (
        [Table("idle", "Figure 2 d: working and total threads", note, columns, rows)]
        if rows
        else []
    )


def _shapes(done: Sequence[Done]) -> list[Table]:
    names = ("threads_relax", "threads_minimum", "threads_update", "carveout")
    rows = []
    for one in done:
        shape = one.result.get("shape")
        gain = _ratio(one, "GPU Crauser succ.", "GPU Crauser opt.")
        if shape and gain:
            rows.append([_name(one), *(shape[n] for n in names), 100 * (1 - 1 / gain)])
    columns = [
        Column("graph"),
        Column("relax", "threads"),
        Column("minimum", "threads"),
        Column("update", "threads"),
        Column("carve-out", "%"),
        Column("gain over the default", "%"),
    ]
    note = (
        "Tables 1 and 4, Figures 5 and 6: the shape that measured best on this device, -1 for the "
        "driver's own carve-out, and what it saves in the timed rounds, where both take turns."
    )
    return [Table("shapes", "Tables 1 and 4: launch shapes", note, columns, rows)] if rows else []


def _memory(done: Sequence[Done]) -> list[Table]:
    some = [one for one in done if one.result.get("memory")]
    if not some:
        return []
    labels = [x for x in _ORDER if any(x in one.result["memory"] for one in some)]
    rows = [
        [
            _name(one),
            one.result["graph_bytes"] / 2**20,
            *(
                None if (b := one.result["memory"].get(label)) is None else b / 2**20
                for label in labels
            ),
        ]
        for one in some
    ]
    columns = [Column("graph"), Column("rows of the graph", "MiB")]
    columns += [Column(label, "MiB") for label in labels]
    note = (
        "Figure 11: greatest memory of one solve beyond the graph, distances included; on the host "
        "the growth of resident memory, on the device that of the pool."
    )
    return [Table("memory", "Figure 11: memory of a solve", note, columns, rows)]


def figures_of(done: Sequence[Done]) -> list[Figure]:
    """All figures that the finished tasks allow."""
    found = []
    martin = sorted(_of(done, "martin"), key=lambda one: one.what["vertices"])
    if martin:
        xs = [one.what["vertices"] / 2**20 for one in martin]

        def panel(title: str, labels: Sequence[str]) -> Panel:
            there = [x for x in labels if x in _labels(martin)]
            series = [Series(x, xs, [_seconds(one, x) for one in martin]) for x in there]
            return Panel(title, "vertices, in units of 2^20", "s", series, y_log=True)

        host = [label for label in _ORDER if label.startswith("CPU")]
        board = [label for label in _ORDER if label.startswith("GPU") and "opt" not in label]
        best = ["CPU Crauser succ.", "GPU Crauser succ.", "GPU Crauser opt."]
        panels = [
            panel("a: sequential", host),
            panel("b: GPU", board),
            panel("c: default and tuned", best),
        ]
        panels = [p for p in panels if p.series]
        threads = _threads(martin, xs)
        found.append(
            Figure(
                "figure-2",
                "Figure 2: Martin's graphs",
                _HOW,
                panels + ([threads] if threads else []),
            )
        )
    random = _of(done, "random")
    if random:
        found.append(
            _by_degree("figure-3", "Figure 3: Crauser and Martin, random graphs", random, 3)
        )
        found.append(
            _by_degree("figure-9", "Figures 7 and 9: this GPU and the relaxed heap", random, 9)
        )
    real = _of(done, "real")
    if real:
        chosen = ("CPU Crauser succ.", "GPU Martin succ.", "GPU Crauser succ.")
        found.append(_bars("figure-4", "Figure 4: real and real-like graphs", real, chosen))
        heap = ("relaxed heap", "GPU Crauser opt.")
        found.append(
            _bars("figure-10", "Figures 8 and 10: this GPU and the relaxed heap", real, heap)
        )
    for number, some in ((5, random), (6, real)):
        gains = [_ratio(one, "GPU Crauser succ.", "GPU Crauser opt.") for one in some]
        if any(gains):
            y = [None if g is None else max(100 * (1 - 1 / g), 0.0) for g in gains]
            one_panel = _bar_panel("saved by the tuned launch shape", "%", some, {"": y}, log=False)
            found.append(
                Figure(f"figure-{number}", f"Figure {number}: gain of tuning", _HOW, [one_panel], 1)
            )
    held = [one for one in done if one.result.get("memory")]
    if held:
        labels = [x for x in _ORDER if any(one.result["memory"].get(x) for one in held)]
        values = {
            x: [_mib(one.result["memory"].get(x), one.result["graph_bytes"]) for one in held]
            for x in labels
        }
        found.append(
            Figure(
                "figure-11",
                "Figure 11: memory in use",
                "The graph's rows and the greatest memory of one solve.",
                [_bar_panel("memory", "MiB", held, values, log=True)],
                1,
            )
        )
    return found


def _mib(solve: int | None, rows: int) -> float | None:
    return None if solve is None else (solve + rows) / 2**20


def _threads(martin: Sequence[Done], xs: list[float]) -> Panel | None:
    series = []
    for label in ("GPU Crauser succ.", "GPU Crauser pred."):
        for name, word in (("total_threads", "launched"), ("working_threads", "at work")):
            y = [_counter(one, label, name) for one in martin]
            if any(y):
                series.append(Series(f"{label} {word}", xs, y))
    if not series:
        return None
    return Panel("d: threads of relax", "vertices, in units of 2^20", "threads", series, y_log=True)


def _by_degree(key: str, title: str, random: Sequence[Done], number: int) -> Figure:
    chosen = (
        ("CPU Crauser succ.", "GPU Martin succ.", "GPU Crauser succ.")
        if number == 3
        else ("relaxed heap", "GPU Crauser opt.")
    )
    panels = []
    for n in sorted({one.what["vertices"] for one in random}):
        some = sorted(
            (one for one in random if one.what["vertices"] == n), key=lambda o: o.what["degree"]
        )
        series = [
            Series(label, [o.what["degree"] for o in some], [_ms(o, label) for o in some])
            for label in chosen
            if any(_ms(o, label) for o in some)
        ]
        panels.append(Panel(f"{n:,} vertices", "degree", "ms", series, x_log=True, y_log=True))
    return Figure(key, title, _HOW, panels, columns=3)


def _ms(one: Done, label: str) -> float | None:
    seconds = _seconds(one, label)
    return None if seconds is None else seconds * 1e3


def _bars(key: str, title: str, some: Sequence[Done], labels: Sequence[str]) -> Figure:
    there = [label for label in labels if label in _labels(some)]
    values: dict[str, list[float | None]] = {x: [_ms(one, x) for one in some] for x in there}
    return Figure(
        key, title, _HOW, [_bar_panel("time of a solve", "ms", some, values, log=True)], 1
    )


def _bar_panel(
    title: str,
    unit: str,
    some: Sequence[Done],
    values: dict[str, list[float | None]],
    *,
    log: bool,
    name: Callable[[Done], str] = _name,
) -> Panel:
    names = [name(one) for one in some]
    series = [Series(label, names, y) for label, y in values.items()]
    return Panel(title, "", unit, series, kind="bars", y_log=log)
