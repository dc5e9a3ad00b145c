"""The figure of the experiment ``beyond``: speed beside peers, and the roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.lab.experiments.beyond.tables import fastest, own_times, peer_times
from nearfar.lab.experiments.experiment import Done, Figure, Panel, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["figures_of"]


def figures_of(done: Sequence[Done], device: str) -> list[Figure]:
    """Bars: ratio over SciPy on the CPU, over one core on a GPU; the roofline."""
    graphs = [one.key for one in done]
    best = [fastest(one, device) for one in done]
    bounds = [
        Series(name, graphs, [one.result["bounds"][name] * 1e3 for one in done])
        for name in ("stream", "gather")
    ]
    bounds.append(Series("measured", graphs, [s * 1e3 if s else None for s in best]))
    roof = Panel("roofline", "", "ms", bounds, kind="bars", y_log=True)
    rows: dict[str, list[float | None]] = {}
    own = [own_times(one) if device == "cuda" else {} for one in done]
    times = [peer_times(one) | mine for one, mine in zip(done, own, strict=True)]
    base = "scipy" if device == "cpu" else "nearfar, 1 core"
    for label in dict.fromkeys(x for found in times for x in found):
        if label != base:
            rows[label] = [
                found[base] / found[label] if base in found and label in found else None
                for found in times
            ]
    series = [Series(label, graphs, values) for label, values in rows.items()]
    over = Panel(f"over {base}", "", "times faster", series, kind="bars", y_log=True)
    return [Figure("beyond", "Speed and roofline", "Log scales.", [over, roof], columns=1)]
