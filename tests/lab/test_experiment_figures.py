"""Figures of experiments: legends that fit, named axes, labels that no line crosses."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nearfar.lab.experiments import find, render
from nearfar.lab.experiments.experiment import Panel, Series
from nearfar.lab.experiments.kept import Kept

pytest.importorskip("matplotlib")


def bars(*labels: str) -> dict[str, Any]:
    """Return a panel of bars with these labels."""
    series = [Series(label, ["g"], [float(n + 1)]) for n, label in enumerate(labels)]
    return asdict(Panel("bars", "", "times faster", series, kind="bars", y_log=True))


def lines(*labels: str, y: tuple[float, ...] = (1.0, 2.0)) -> dict[str, Any]:
    """Return a panel of lines with these labels."""
    x = list(range(1, len(y) + 1))
    return asdict(Panel("lines", "n", "ms", [Series(label, x, list(y)) for label in labels]))


def test_panels_with_other_labels_have_legends_of_their_own() -> None:
    assert render._legends([bars("a", "b"), bars("a", "b")]) == "one"
    assert render._legends([bars("a", "b"), bars("a")]) == "one"
    assert render._legends([bars("a", "b"), bars("c")]) == "each"
    assert render._legends([lines("a"), lines("b")]) == "inside"
    assert render._legends([lines(*"abcdef"), lines("b")]) == "one"
    assert render._legends([lines(*"abcdef"), lines("z")]) == "each"
    assert render._legends([lines(""), lines("")]) == "inside"


def test_a_mean_in_brackets_makes_no_other_colour() -> None:
    looks = render._looks([bars("thread (mean 1)", "block"), bars("thread (mean 2)")])
    assert looks["thread (mean 1)"] == looks["thread (mean 2)"] != looks["block"]
    looks = render._looks([bars("nearfar (1 thr)", "nearfar (2 thr)")])
    assert looks["nearfar (1 thr)"] != looks["nearfar (2 thr)"]


@pytest.mark.parametrize(
    ("y", "height"), [((9.0, 9.0, 9.0, 0.0), 0.02), ((0.0, 0.0, 0.0, 9.0), 0.98)]
)
def test_a_mark_is_named_where_the_line_is_not(y: tuple[float, ...], height: float) -> None:
    from matplotlib.figure import Figure

    panel = lines("a", y=y)
    axes = Figure().add_subplot()
    render._lines(axes, panel, {})
    assert render._clear(axes, panel, 1.5) == height


def test_axes_say_what_they_show() -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    panel = lines("a", y=(2.0, 30_000_000.0))
    render._lines(axes, panel, {})
    render._dress(axes, panel)
    assert axes.get_ylabel() == "time, ms, millions"
    assert axes.yaxis.get_major_formatter()(20e6, 0) == "20"
    assert [render._power(value) for value in (0.5, 2_000.0, 1e6, 5e7)] == [
        "0.5",
        "2,000",
        "$10^{6}$",
        r"$5\cdot 10^{7}$",
    ]


def test_a_figure_of_all_kinds_is_drawn(tmp_path: Path) -> None:
    marked = lines("a", "b") | {"marks": [("here", 1.5)]}
    for columns, panels in ((1, [bars("a", "b"), bars("c")]), (2, [bars("a"), bars("b"), marked])):
        figure = {"key": "f", "panels": panels, "columns": columns}
        assert render.draw(figure, tmp_path) == ["f.png", "f.svg"]


def drawn_from(name: str, device: str) -> dict[str, Any]:
    """Return the figures of a stored run by key."""
    kept = Kept(name, device)
    return {figure.key: figure for figure in find(name).figures(kept.done, kept.settings)}


def labels_in(figures: dict[str, Any]) -> set[str]:
    return {one.label for f in figures.values() for panel in f.panels for one in panel.series}


def test_legends_have_words_and_no_codes() -> None:
    for device in ("cpu", "cuda"):
        martin = labels_in(drawn_from("martin-2009", device))
        assert "FH: Dijkstra, Fibonacci heap" in martin
        assert all(": " in label for label in martin)
        ortega = labels_in(drawn_from("ortega-arranz-2015", device))
        assert "CPU Crauser, to successors" in ortega
        assert not [label for label in ortega if re.search(r"succ\.|pred\.|opt\.", label)]
    units = {p.y_label for f in drawn_from("davidson-2014", "cuda").values() for p in f.panels}
    assert "MTEPS" not in units


def test_a_method_stands_in_the_figure_once() -> None:
    """Regression: one core and sixteen occurred twice, from the peers' and the GPU's run."""
    over, roof = drawn_from("beyond", "cuda")["beyond"].panels
    names = [one.label for one in over.series]
    assert [name for name in names if name.startswith("nearfar")] == [
        "nearfar, 16 cores", "nearfar, GPU",
    ]  # fmt: skip
    assert over.title == "times faster than nearfar, 1 core"
    assert [one.label for one in roof.series][2] == "measured"
    over, _ = drawn_from("beyond", "cpu")["beyond"].panels
    assert "SciPy" not in [one.label for one in over.series]
    assert over.title == "times faster than SciPy"


def test_ratios_have_log_axes() -> None:
    for device in ("cpu", "cuda"):
        for figure in drawn_from("davidson-2014", device).values():
            for panel in figure.panels:
                if "times faster" in panel.y_label or "Dijkstra's" in panel.y_label:
                    assert panel.y_log, (figure.key, panel.title)


def test_too_many_bars_become_points() -> None:
    from matplotlib.figure import Figure

    names = [f"g{i}" for i in range(30)]
    series = [Series(f"s{n}", names, [float(n + 1)] * 30) for n in range(5)]
    panel = asdict(Panel("bars", "", "MiB", series, kind="bars", y_log=True))
    axes = Figure().add_subplot()
    render._bars(axes, panel, {})
    assert (len(axes.patches), len(axes.lines)) == (0, 5)
    axes = Figure().add_subplot()
    render._bars(axes, {**panel, "series": panel["series"][:2]}, {})
    assert (len(axes.patches), len(axes.lines)) == (60, 0)
