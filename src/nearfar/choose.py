"""The auto engine: ranks the runnable variants for this graph and request, and can say why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from nearfar.errors import VariantUnavailable
from nearfar.registry import Request, Variant, variants

if TYPE_CHECKING:
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
    from nearfar.choose_cpu import cpu_ranking

    by_id = {
        v.id: v
        for v in variants(problem=request.problem)
        if request.device in ("auto", v.device) and v.can_run(graph, request) is True
    }
    estimates = cpu_ranking(graph, request)
    choices = [Choice(by_id[name], cost, why) for name, cost, why in estimates if name in by_id]
    return sorted(choices, key=lambda choice: choice.seconds)


def best(graph: Graph, request: Request) -> tuple[Variant, str]:
    """The cheapest variant and the reason in words.

    Raises
    ------
    VariantUnavailable
        If none can serve the request, with the reason of each.
    """
    ranking = rank(graph, request)
    if ranking:
        return ranking[0].variant, ranking[0].reason
    refused = [
        f"{v.id}: {v.can_run(graph, request)}"
        for v in variants(problem=request.problem)
        if request.device in ("auto", v.device)
    ]
    raise VariantUnavailable("no method can serve this request: " + "; ".join(refused[:5]))
