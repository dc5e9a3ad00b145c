"""Figure of the experiment ``beyond``: speed compared with peers, and the roofline."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.lab.experiments.experiment import Done, Figure, Panel, Series
from nearfar.papers.beyond.tables import fastest, own_times, peer_times

#: Labels of the bars that are lower bounds of a time.
_BOUNDS = {"stream": "bound: every byte copied once", "gather": "bound: a random read per edge"}
_SHOWN = {"scipy": "SciPy", "networkit": "NetworKit", "networkx": "NetworkX"}


def figures_of(done: Sequence[Done], device: str) -> list[Figure]:
    """Draw ratios (over SciPy on the CPU, over one core on a GPU), and times with lower bounds.

    On the host of a GPU, the cores were timed together with the GPU; the run with the peers would
    add the same methods a second time.
    """
    graphs = [one.key for one in done]
    best = [fastest(one, device) for one in done]
    bounds = [
        Series(shown, graphs, [one.result["bounds"][name] * 1e3 for one in done])
        for name, shown in _BOUNDS.items()
    ]
    bounds.append(Series("measured", graphs, [s * 1e3 if s else None for s in best]))
    roof = Panel(
        "time of a solve, and bounds set by the memory", "", "ms", bounds, kind="bars", y_log=True
    )
    rows: dict[str, list[float | None]] = {}
    times = [_times(one, device) for one in done]
    base = "scipy" if device == "cpu" else "nearfar, 1 core"
    for label in dict.fromkeys(x for found in times for x in found):
        if label != base:
            rows[label] = [
                found[base] / found[label] if base in found and label in found else None
                for found in times
            ]
    series = [Series(_SHOWN.get(label, label), graphs, values) for label, values in rows.items()]
    what = f"times faster than {_SHOWN.get(base, base)}"
    over = Panel(what, "", "times faster", series, kind="bars", y_log=True)
    return [Figure("beyond", "Speed and roofline", "Log scales.", [over, roof], columns=1)]


def _times(one: Done, device: str) -> dict[str, float]:
    """Return seconds by label, every method once."""
    peers = peer_times(one)
    if device != "cuda":
        return peers
    others = {label: s for label, s in peers.items() if not label.startswith("nearfar")}
    return others | own_times(one)
