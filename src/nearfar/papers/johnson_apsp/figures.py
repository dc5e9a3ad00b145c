"""Figures 3 and 4 of the Johnson paper as bars."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.lab.experiments.experiment import Done, Figure, Panel, Series
from nearfar.papers.johnson_apsp.tables import all_pairs_of, labels_of, over_sequential


def figures_of(done: Sequence[Done]) -> list[Figure]:
    """Return figures 3 and 4 as bars."""
    labels, graphs = labels_of(done), [one.key for one in done]
    times = [Series(x, graphs, [all_pairs_of(one.result, x) for one in done]) for x in labels]
    over = [Series(x, graphs, [over_sequential(one.result, x) for one in done]) for x in labels[1:]]
    left = Panel("Figure 3", "", "seconds, all pairs", times, kind="bars", y_log=True)
    right = Panel("Figure 4", "", "times the sequential", over, kind="bars", y_log=True)
    caption = "Log scales; times of samples scaled to all sources."
    return [Figure("figures-3-4", "Figures 3 and 4", caption, [left, right])]
