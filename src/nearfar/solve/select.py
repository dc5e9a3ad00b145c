"""The variant for a request: the one that was named, or the one that the chooser ranks first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.choose import ranking
from nearfar.errors import NegativeWeightError, VariantUnavailable
from nearfar.registry import Request, Variant, canonical_method, find, is_family, variants

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

__all__ = ["select"]


def select(
    graph: Graph, request: Request, method: str, *, allow_unsafe: bool = False
) -> tuple[Variant, str]:
    """The variant to run and the reason in words.

    Raises
    ------
    NegativeWeightError
        If the method asked for needs non-negative weights.
    VariantUnavailable
        If it cannot run here or on this graph, with the reason.
    """
    if method == "auto":
        return ranking.best(graph, request)
    if is_family(method):
        family = canonical_method(method)
        found = ranking.cheapest(graph, request, family)
        if found is not None:
            return found[0], f"the cheapest of {family}: {found[1]}"
    reasons = []
    for candidate in find(method, request.device, allow_unsafe=allow_unsafe):
        answer = candidate.can_run(graph, request)
        if answer is True:
            return candidate, "asked for by name"
        if (
            candidate.weights == "nonnegative"
            and graph.n_negative
            and candidate.available() is True
        ):
            accepting = [
                v.id
                for v in variants(problem=request.problem)
                if v.weights == "any" and v.can_run(graph, request) is True
            ]
            raise NegativeWeightError(graph.first_negative, graph.n_negative, accepting)
        reasons.append(f"{candidate.id}: {answer}")
    raise VariantUnavailable("; ".join(reasons))
