"""Compare full and compact labels of generated countries: bytes per vertex, and times of pairs.

    python benchmarks/compact_labels.py -o benchmarks/results/compact_labels.json

One thread for pairs, all for labels; contenders alternate in one process and every answer is
compared. ``--parts small`` has 300,000 vertices, ``large`` 700,000; ``--scale tiny`` tests the
script.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np

import nearfar
from in_parts import Rows, answer
from turns import line, take_turns

COMPACT = (0, 4, 16, 64, 256)
PAIRS = 100_000
WALKS = 2_000


def country(vertices: int, scale: str) -> Rows:
    """Measure pairs of random vertices by walks, by full labels and by compact labels."""
    vertices = 3000 if scale == "tiny" else vertices
    graph = nearfar.generate("country_roads", vertices=vertices, seed=1)
    ready = nearfar.prepare(graph)
    if not isinstance(ready, nearfar.Prepared):
        raise SystemExit("the graph was not prepared")
    n = graph.n_vertices
    pairs = np.random.default_rng(1).integers(0, n, (PAIRS, 2))
    contenders: dict[str, Any] = {}
    made: dict[str, dict[str, float]] = {}
    for compact in COMPACT:
        began = time.perf_counter()
        labels = ready.label(compact=compact)
        seconds = time.perf_counter() - began
        name = f"subtrees of {compact}" if compact else "all labels"
        made[name] = {"bytes_per_vertex": labels.nbytes / n, "label_seconds": seconds,
                      "rows": float(np.count_nonzero(np.diff(labels.offset))) / n}  # fmt: skip
        contenders[name] = functools.partial(labels.distances_of_pairs, pairs, 1)
    contenders["walks"] = lambda: ready.distances_of_pairs(pairs[:WALKS], 1, memory=0)
    samples = take_turns(contenders, 5, lambda a, b: bool((a[: len(b)] == b).all()))
    each = {name: WALKS if name == "walks" else PAIRS for name in samples}
    shown = {name: [t / each[name] for t in times] for name, times in samples.items()}
    made["walks"] = {"bytes_per_vertex": 0, "label_seconds": 0, "rows": 0}
    for name, figures in made.items():
        figures["pair_seconds"] = min(shown[name])
        print(name, {key: f"{value:.4g}" for key, value in figures.items()}, flush=True)
    yield line(
        f"a pair of {n:,} vertices", "all labels", shown, n=n, sides=ready.metric.sides,
        mean_depth=float(ready.preparation.tree.depth.mean()), labels=made,
    )  # fmt: skip


PARTS = {
    "small": functools.partial(country, 300_000),
    "large": functools.partial(country, 700_000),
}

if __name__ == "__main__":
    answer(__doc__ or "", PARTS, lambda part, row: None)
