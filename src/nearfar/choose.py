"""The auto engine: ranks the runnable variants for this graph and request, and can say why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.errors import VariantUnavailable
from nearfar.registry import Request, Variant, registered, variants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nearfar.graph import Graph

__all__ = ["Choice", "best", "rank"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the ranking.

    Attributes
    ----------
    variant : Variant
    seconds : float
        Estimated by the cost model.
    reason : str
        In words.
    """

    variant: Variant
    seconds: float
    reason: str


def _candidates(graph: Graph, request: Request) -> Iterator[Choice]:
    """What can serve the request, cheapest first, asked lazily: small graphs feel it."""
    from nearfar.choose_cpu import cpu_ranking
    from nearfar.choose_cuda import cuda_ranking

    estimates = cpu_ranking(graph, request) if request.device in ("auto", "cpu") else []
    if request.device == "cuda" or (request.device == "auto" and _worth_asking(graph, estimates)):
        estimates = [*estimates, *cuda_ranking(graph, request)]
    for name, cost, why in sorted(estimates, key=lambda estimate: estimate[1]):
        found = registered(name)
        if found is not None and found.can_run(graph, request) is True:
            yield Choice(found, cost, why)


def _worth_asking(graph: Graph, estimates: list[tuple[str, float, str]]) -> bool:
    """Whether to look for a GPU: importing CuPy costs a second, small graphs never gain."""
    if graph.on_device:
        return True
    return not estimates or min(cost for _, cost, _ in estimates) > 2e-3


def rank(graph: Graph, request: Request) -> list[Choice]:
    """All variants that can serve the request, cheapest first.

    Parameters
    ----------
    graph : Graph
    request : Request

    Returns
    -------
    list of Choice
    """
    return list(_candidates(graph, request))


def best(graph: Graph, request: Request) -> tuple[Variant, str]:
    """The cheapest variant and the reason in words.

    Raises
    ------
    VariantUnavailable
        If none can serve the request, with the reason of each.
    """
    first = next(_candidates(graph, request), None)
    if first is not None:
        return first.variant, first.reason
    refused = [
        f"{v.id}: {v.can_run(graph, request)}"
        for v in variants(problem=request.problem)
        if request.device in ("auto", v.device)
    ]
    raise VariantUnavailable("no method can serve this request: " + "; ".join(refused[:5]))
