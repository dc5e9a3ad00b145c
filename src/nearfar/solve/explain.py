"""Explanation of the choice of ``auto`` for a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from nearfar.choose.ranking import Explanation
from nearfar.choose.ranking import explain as ranked
from nearfar.graph.like import GraphLike
from nearfar.graph.same_distances.integer_weights import MANY_EDGES
from nearfar.options import Device
from nearfar.registry import Problem
from nearfar.solve.steps.plan import in_int32_if_faster
from nearfar.solve.steps.request import as_graph, check_targets, make_request


def explain(
    graph: GraphLike,
    source: Any = None,
    *,
    weight: str | Callable[[Any, Any, Any], Any] | None = "weight",
    device: Device = "auto",
    threads: int | None = None,
    limit: float | None = None,
    targets: Iterable[Any] | None = None,
    predecessors: bool = False,
    reduce: str | tuple[str, Sequence[float]] | None = None,
) -> Explanation:
    """Rank the methods for a request without solving it, and explain why others are excluded.

    Parameters
    ----------
    graph : graph_like
    source : int or vertex name, several of them, or None
        One source for a call of :func:`nearfar.sssp`, several for :func:`nearfar.distances`, None
        for :func:`nearfar.all_pairs`.
    weight, device, threads, limit, targets, predecessors
        As for :func:`nearfar.sssp`.
    reduce : str, tuple or None
        As for :func:`nearfar.distances`.

    Returns
    -------
    Explanation
        Ranking of the methods, cheapest first; ``auto`` runs the first.

    Raises
    ------
    VertexError, OptionError
        For an invalid source, target or option.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> nearfar.explain(g, 0, device="cpu").ranking[0].variant.device
    'cpu'
    """
    graph = as_graph(graph, weight)
    problem: Problem = "all_pairs"
    rows: Any = np.arange(graph.n_vertices)
    if source is not None:
        found: Any = graph.index_of(source)
        problem, rows = ("sssp", (found,)) if isinstance(found, int) else ("batch", found)
    request = make_request(
        graph,
        problem,
        rows,
        device=device,
        threads=threads,
        limit=limit,
        targets=check_targets(graph, targets),
        predecessors=predecessors,
        reduced=reduce is not None,
    )
    if graph.n_edges >= MANY_EDGES and reduce is None:
        graph = in_int32_if_faster(graph, request)
    return ranked(graph, request)
