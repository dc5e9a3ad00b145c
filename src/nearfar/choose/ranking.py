"""The auto engine: ranks the runnable variants for this graph and request, and can say why.

Each variant gets an estimate of its seconds from a cost model (``choose_cpu``, ``choose_cuda``,
``choose_batch``) on cheap statistics (``choose_facts``), scaled by what ``nearfar tune`` measured
on this machine (``choose_machine``). The cheapest that can serve the request is taken.
:func:`explain` shows it all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nearfar.choose import machine as choose_machine
from nearfar.cuda.device_graph import at_hand
from nearfar.errors import VariantUnavailable
from nearfar.graph.slots import Slot
from nearfar.registry import Request, Variant, registered, variants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nearfar.graph.graph import Graph

__all__ = ["Choice", "Explanation", "best", "explain", "rank"]

#: Variant and reason by what was asked for.
_CHOICES: Slot[tuple[Variant, str]] = Slot("choices")

_WORTH = 2e-3  # seconds on the CPU below which no GPU is looked for


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


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why ``auto`` takes what it takes.

    Attributes
    ----------
    ranking : list of Choice
        What can serve the request, cheapest first; the first is what ``auto`` runs.
    others : dict of str to str
        The other variants, each with the reason why it is out.
    statistics : dict
        What the models looked at.
    machines : dict
        ``cpu`` and, where there is one, ``cuda``: ``"defaults"``, or when it was measured.
    """

    ranking: list[Choice]
    others: dict[str, str]
    statistics: dict[str, Any]
    machines: dict[str, str]

    def __str__(self) -> str:
        width = max((len(c.variant.id) for c in self.ranking), default=0)
        return "\n".join(
            f"{place:3}. {c.variant.id:<{width}}  {c.seconds * 1e3:10.3f} ms  {c.reason}"
            for place, c in enumerate(self.ranking, start=1)
        )


def _candidates(graph: Graph, request: Request) -> Iterator[Choice]:
    """What can serve the request, cheapest first, asked lazily: small graphs feel it."""
    from nearfar.choose.cpu import cpu_ranking
    from nearfar.choose.cuda import cuda_ranking

    estimates = cpu_ranking(graph, request) if request.device in ("auto", "cpu") else []
    if request.device == "cuda" or (request.device == "auto" and _gpu_is_worth(graph, estimates)):
        estimates = sorted(
            [*estimates, *cuda_ranking(graph, request)], key=lambda estimate: estimate[1]
        )
    for name, cost, why in estimates:
        found = registered(name)
        if found is not None and not found.unsafe and found.can_run(graph, request) is True:
            yield Choice(found, cost, why)


def _gpu_is_worth(graph: Graph, estimates: list[tuple[str, float, str]]) -> bool:
    """Whether a GPU comes into question and is there.

    Importing CuPy costs a second and small graphs never gain, so it is not even looked for there;
    nor is the graph's reach estimated for a device that is missing.
    """
    if not graph.on_device and estimates and estimates[0][1] <= _WORTH:
        return False
    from nearfar.system.devices import runtime

    if runtime.available() is not True:
        return False
    # Arrays there, edges as the engines keep them, and queues; too big a graph stays here.
    needed = 16 * graph.n_edges + 48 * graph.n_vertices
    return graph.on_device or needed < runtime.device().memory


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
    """The cheapest variant for a request; cached on the graph.

    Parameters
    ----------
    graph : Graph
    request : Request

    Returns
    -------
    variant : Variant
    reason : str
        Why, in words.

    Raises
    ------
    VariantUnavailable
        If none can serve the request, with the reason of each.
    """
    key = (
        request.problem,
        request.device,
        request.n_sources,
        request.threads,
        None if request.targets is None else len(request.targets),
        at_hand(graph),
        choose_machine.generation(),
    )
    known = _CHOICES.get(graph, key)
    if known is not None and known[0].can_run(graph, request) is True:
        return known[0], known[1]
    if request.device == "cuda":
        from nearfar.system.devices import runtime

        missing = runtime.available()
        if missing is not True:  # one reason for all variants
            raise VariantUnavailable(missing)
    first = next(_candidates(graph, request), None)
    if first is not None:
        _CHOICES.put(graph, (first.variant, first.reason), key)
        return first.variant, first.reason
    refused = [
        f"{v.id}: {v.can_run(graph, request)}"
        for v in variants(problem=request.problem)
        if request.device in ("auto", v.device)
    ]
    raise VariantUnavailable("no method can serve this request: " + "; ".join(refused[:5]))


def _without_device(graph: Graph, request: Request, names: set[str]) -> dict[str, str]:
    """What those variants on CUDA that fit would take, had this machine a GPU like the model's."""
    from nearfar.choose.cuda import cuda_ranking
    from nearfar.system.devices import runtime

    missing = runtime.available()
    if missing is True:
        return {}
    found = {}
    for name, seconds, why in cuda_ranking(graph, request):
        out = registered(name)
        if out is None or name not in names:
            continue
        try:
            fits = out.fits(graph, request)
        except VariantUnavailable:  # whether it fits is a question to the device itself
            continue
        if fits is True:
            found[name] = f"{missing} - an H100 would take about {seconds * 1e3:.3g} ms: {why}"
    return found


def explain(graph: Graph, request: Request | None = None, **fields: Any) -> Explanation:
    """Rank every variant for a request and say why the others are out.

    Parameters
    ----------
    graph : Graph
    request : Request or None
        None makes one from the fields.
    **fields
        Of :class:`nearfar.registry.Request`: ``problem`` (``"sssp"``, ``"batch"``,
        ``"all_pairs"``), ``n_sources``, ``device``, ``threads`` (all cores of this process), ...

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from nearfar import Graph
    >>> found = explain(Graph.from_edges([0, 1], [1, 2], [4, 5]), device="cpu", threads=1)
    >>> found.ranking[0].variant.device
    'cpu'
    >>> found.others["breadth_first@cpu"]
    'breadth_first@cpu needs a graph without weights'
    """
    from nearfar.choose.facts import statistics
    from nearfar.graph.build import default_threads

    if request is None:
        request = Request(**{"threads": default_threads(), **fields})
    ranking = rank(graph, request)
    ranked = {choice.variant.id for choice in ranking}
    others = {}
    for v in variants(problem=request.problem):
        if v.id in ranked:
            continue
        answer = v.can_run(graph, request)
        if request.device not in ("auto", v.device):
            answer = f"device {request.device} was asked for"
        elif answer is True and v.device == "cuda":
            answer = f"the CPU takes less than {_WORTH * 1e3:.0f} ms: a GPU was not looked for"
        elif answer is True:
            answer = "no cost model knows it"
        others[v.id] = str(answer)
    if request.device != "cpu":
        others |= _without_device(graph, request, set(others))
    used = {choice.variant.device for choice in ranking}
    machines = {str(d): choose_machine.machine(d).measured or "defaults" for d in sorted(used)}
    return Explanation(ranking, others, statistics(graph), machines)
