"""Other packages of ``prepared.py``: their inputs, and one turn of each.

RoutingKit through ``pyroutingkit`` (its own order along coordinates) and through ``routingkit-cch``
(nearfar's order), and pandana (contraction hierarchies, needs coordinates). Building is recorded
but not timed with the queries; pandana takes minutes for more than a million edges, an order along
coordinates one minute, and both are left out for such graphs. Their tables are too slow to be
computed fully in every round: a ``PART`` of the sources is solved, and the time is per source.
"""

from __future__ import annotations

import contextlib
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from nearfar import Graph, Prepared

__all__ = ["PART", "PEERS", "Clock", "build_peers", "installed", "measure_peers"]

PEERS = ("scipy", "routingkit_cch", "pyroutingkit", "pandana")
PART = 50
LARGEST = {"pandana": 1_000_000, "pyroutingkit": 1_000_000}  # maximum number of edges by peer


def installed(name: str) -> bool:
    """Return whether a peer is installed."""
    return importlib.util.find_spec(name) is not None


class Clock:
    """Samples of contenders by name, in seconds per unit."""

    def __init__(self) -> None:
        self.samples: dict[str, list[float]] = {}

    def add(self, name: str, seconds: float) -> None:
        """Store a sample that was measured elsewhere."""
        self.samples.setdefault(name, []).append(seconds)

    def time(self, name: str, work: Callable[[], Any], units: int = 1) -> Any:
        """Run once and store the time per unit."""
        began = time.perf_counter()
        result = work()
        self.add(name, (time.perf_counter() - began) / units)
        return result


def build_peers(graph: Graph, prepared: Prepared, wanted: set[str]) -> dict[str, Any]:
    """Return the inputs of the peers by name; ``"seconds"`` has the time of building each.

    Parameters
    ----------
    graph : Graph
        Graph with int32 weights.
    prepared : Prepared
        Prepared graph with the order.
    wanted : set of str
    """
    made: dict[str, Any] = {"seconds": {}}
    tails, heads = graph.tails().astype(np.uint32), graph.indices.astype(np.uint32)
    weights = graph.effective_weights.astype(np.uint32)
    xy = graph.coordinates

    def keep(name: str, needs_places: bool, build: Callable[[], Any]) -> None:
        fits = graph.n_edges <= LARGEST.get(name, graph.n_edges)
        if name in wanted and fits and installed(name) and not (needs_places and xy is None):
            began = time.perf_counter()
            made[name] = build()
            made["seconds"][name] = time.perf_counter() - began

    def scipy() -> Any:
        return graph.to_scipy().astype(np.float64)

    def pyroutingkit() -> Any:
        import pyroutingkit

        assert xy is not None
        topology = pyroutingkit.CCHTopology()
        x, y = xy[:, 0].astype(np.float32), xy[:, 1].astype(np.float32)
        topology.build(tails, heads, y, x, graph.n_vertices)
        metric = pyroutingkit.CCHMetric(topology)
        metric.customize(weights)
        return metric, weights

    def routingkit_cch() -> Any:
        import routingkit_cch

        order = prepared.preparation.tree.vertex.tolist()
        cch = routingkit_cch.CCH(order, tails.tolist(), heads.tolist(), False)
        listed = weights.tolist()
        return routingkit_cch.CCHMetric(cch, listed), listed

    def pandana() -> Any:
        import pandana
        import pandas

        assert xy is not None
        ends = pandas.Series(tails.astype(np.int64)), pandas.Series(heads.astype(np.int64))
        costs = pandas.DataFrame({"w": graph.effective_weights.astype(np.float64)})
        places = pandas.Series(xy[:, 0]), pandas.Series(xy[:, 1])
        with contextlib.redirect_stdout(None):
            return pandana.Network(*places, *ends, costs, twoway=False)

    keep("scipy", False, scipy)
    keep("routingkit_cch", False, routingkit_cch)
    keep("pyroutingkit", True, pyroutingkit)
    keep("pandana", True, pandana)
    return made


def measure_peers(
    clock: Clock, made: dict[str, Any], pairs: np.ndarray, sources: np.ndarray, targets: np.ndarray
) -> dict[str, Any]:
    """Run one turn of each peer; return per peer the requested pairs and their answers."""
    found: dict[str, Any] = {}
    few, part = pairs[:1000], sources[:PART]
    if "scipy" in made:
        from scipy.sparse.csgraph import dijkstra

        clock.time("scipy: one tree", lambda: dijkstra(made["scipy"], indices=[int(sources[0])]))
    if "pyroutingkit" in made:
        metric, weights = made["pyroutingkit"]
        clock.time("pyroutingkit: customization, 1", lambda: metric.customize(weights, 1))
        answers = clock.time(
            "pyroutingkit: pair with path",
            lambda: [metric.query(s, t) for s, t in few.tolist()],
            len(few),
        )
        found["pyroutingkit"] = few, [int(answer[0]) for answer in answers]
        unsigned = part.astype(np.uint32), targets.astype(np.uint32)
        clock.time(
            "pyroutingkit: table, per source",
            lambda: metric.distances_many_to_many(*unsigned),
            len(part),
        )
    if "routingkit_cch" in made:
        import routingkit_cch

        metric, listed = made["routingkit_cch"]
        clock.time("routingkit_cch: customization, 1", lambda: metric.reset(listed))
        query = routingkit_cch.CCHQuery(metric)

        def both(source: int, target: int) -> Any:
            """Return distance and path; a query holds one answer at a time."""
            answer = query.run(source, target)
            _ = answer.arc_path
            return answer.distance

        got = clock.time(
            "routingkit_cch: pair with path",
            lambda: [both(s, t) for s, t in few.tolist()],
            len(few),
        )
        found["routingkit_cch"] = few, got
        pinned = routingkit_cch.CCHOneToMany(metric, targets.tolist())
        clock.time(
            "routingkit_cch: table, per source",
            lambda: [pinned.distances_from(s) for s in part.tolist()],
            len(part),
        )
    if "pandana" in made:
        starts, ends = pairs[:, 0].tolist(), pairs[:, 1].tolist()
        lengths = clock.time(
            "pandana: pairs, all cores",
            lambda: made["pandana"].shortest_path_lengths(starts, ends),
            len(pairs),
        )
        found["pandana"] = pairs, lengths
    return found
