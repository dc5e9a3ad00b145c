"""User equilibrium of traffic by the bi-conjugate Frank-Wolfe method.

Mitradjieva and Lindberg 2013, "The Stiff Is Moving - Conjugate Direction Frank-Wolfe Methods with
Applications to Traffic Assignment": each iteration loads all demand onto the current shortest
paths, aims at a point between those loads and the last two aims whose direction is conjugate to
the last two with respect to the second derivatives of the objective, and minimises the objective
along it. If the direction does not descend, or the last step was a full one, the next aim is the
loads themselves.

User classes share the links, but each has its own demand, further costs and weight in the flow.
Flows are stored per class, and the shares of an aim are computed from the sums. NumPy sums over
links, not a threaded library, so the result has the same bits for any number of threads.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar.errors import GraphError, OptionError, keyword, quoted
from nearfar.formats.roads.tntp import Traffic
from nearfar.graph.graph import Graph
from nearfar.graph.turns import TurnGraph
from nearfar.measures.traffic.demand import read_demand
from nearfar.measures.traffic.edge_loads import Searched, Trips
from nearfar.measures.traffic.link_costs import Bpr, LinkCosts, edge_numbers, link_costs
from nearfar.options import Device
from nearfar.solve.steps.request import as_graph
from nearfar.system.threads import check_threads

# step length from which the last aim carries no information about directions
_WHOLE_STEP = 1 - 1e-9
_MOST_SHARE = 0.99  # maximum share of the last aim in a conjugate one
_MOST_TRIALS = 60  # maximum number of trial lengths per step
_BALANCE = 1e-6  # tolerance of given flows, relative to the flow through a vertex


@dataclass(frozen=True, slots=True)
class UserClass:
    """Users of links with their own demand and costs.

    Attributes
    ----------
    demand
        As for :func:`nearfar.measures.edge_loads`.
    fixed : float or array, shape (m,)
        Costs of the links besides their times, in units of time.
    equivalents : float
        Contribution of one unit of demand to the flow of a link, such as 2 for a truck.
    """

    demand: Any
    fixed: ArrayLike = 0.0
    equivalents: float = 1.0


class AssignmentStep(NamedTuple):
    """Iteration of an assignment.

    Attributes
    ----------
    gap : float
        Relative gap of the flows before the step.
    total_cost : float
        Total cost of all users at those flows.
    step : float
        Length of the step as a share of the distance to the aim; 0 in the last iteration.
    seconds : float
        Seconds since the start.
    """

    gap: float
    total_cost: float
    step: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Assignment:
    """Flows of an assignment, with its convergence history.

    Attributes
    ----------
    flows : float64 array, shape (m,)
        Flows of the links, by position in :attr:`nearfar.Graph.indices`; classes count by their
        equivalents.
    times : float64 array, shape (m,)
        Times of the links at these flows, without fixed costs.
    gap : float
        Share of all costs that would be saved if every user took the shortest path at these times.
    converged : bool
        Whether the gap is at most the requested one.
    class_flows : dict of float64 arrays, shape (m,)
        Flows per user class, in units of its demand.
    history : list of AssignmentStep
        One per iteration.
    unreached : dict of float
        Demand without a path per user class, which no flow includes.
    """

    flows: NDArray[np.float64]
    times: NDArray[np.float64]
    gap: float
    converged: bool
    class_flows: dict[Any, NDArray[np.float64]]
    history: list[AssignmentStep]
    unreached: dict[Any, float]


def assign(
    graph: Any,
    demand: Any = None,
    costs: Any = None,
    *,
    device: Device = "auto",
    threads: int | None = None,
    progress: Callable[[float, float], None] | None = None,
    fixed: ArrayLike = 0.0,
    gap: float = 1e-5,
    iterations: int = 1000,
    length_factor: float = 0.0,
    start: Assignment | ArrayLike | Mapping[Any, ArrayLike] | None = None,
    toll_factor: float = 0.0,
    zones: Iterable[Any] | None = None,
) -> Assignment:
    """Assign traffic so that no user gains by another path (user equilibrium).

    Parameters
    ----------
    graph : Traffic, graph_like or TurnGraph
        A Traffic from :func:`nearfar.formats.read_traffic` has demand, zones, closed zones and
        costs, which the arguments below replace. Weights of a graph are not used.
    demand : matrix, triples, table, UserClass, or dict of these by name
        As for :func:`nearfar.measures.edge_loads`; a dict has one entry per user class.
    costs : Bpr, LinkCosts or callable
        Times of the links by their flows.
    device, threads
        As for :func:`nearfar.measures.edge_loads`.
    progress : callable or None
        Called with the finished share of the work, and 1.
    fixed : float or array, shape (m,)
        Costs of the links besides their times, in units of time, for all classes.
    gap : float
        Relative gap to stop at.
    iterations : int
        Maximum number of steps; 0 computes the gap of ``start``.
    length_factor, toll_factor : float
        Units of time per unit of length and of toll, which are columns of a Traffic: 0.04 and 0.02
        for the test problem Chicago Sketch.
    start : Assignment, array of shape (m,), dict of arrays, or None
        Initial flows, per class if there are several, which carry the same demand. None starts from
        the shortest paths without traffic.
    zones : vertices or None
        Vertices of the rows and columns of a matrix; None means every vertex in order.

    Returns
    -------
    Assignment
        ``converged`` is False if the iterations ended first.

    Raises
    ------
    OptionError
        If an argument is out of range or missing, demand or costs are not as described, or the
        flows of ``start`` do not carry the demand.
    GraphError
        If the graph is not directed.
    VertexError
        For an entry that is not a vertex.

    Notes
    -----
    Bi-conjugate Frank-Wolfe. An iteration takes one search per zone with demand, and a few
    evaluations of the costs. Equilibrium flows are unique where times grow with the flow; class
    flows and paths need not be.

    References
    ----------
    M. Mitradjieva, P. O. Lindberg, "The Stiff Is Moving - Conjugate Direction Frank-Wolfe Methods
    with Applications to Traffic Assignment", Transportation Science 47(2), 2013.

    Examples
    --------
    >>> import nearfar
    >>> from nearfar.measures import Bpr, assign
    >>> g = nearfar.Graph.from_edges([0, 0], [1, 1], [1.0, 1.0])
    >>> assign(g, [(0, 1, 30)], Bpr([1.0, 1.0], [10.0, 20.0])).flows
    array([10., 20.])
    """
    if not isinstance(gap, (int, float, np.number)) or not 0 <= gap < np.inf:
        raise OptionError(f"{keyword('gap')} is {quoted(gap)}: give a number of at least 0")
    whole = isinstance(iterations, (int, np.integer)) and not isinstance(iterations, bool)
    if not whole or iterations < 0:
        raise OptionError(
            f"{keyword('iterations')} is {quoted(iterations)}: give an integer of at least 0"
        )
    for name, factor in (("length_factor", length_factor), ("toll_factor", toll_factor)):
        if not isinstance(factor, (int, float, np.number)) or not 0 <= factor < np.inf:
            raise OptionError(
                f"{keyword(name)} is {quoted(factor)}: give a finite number of at least 0"
            )
        if factor and not isinstance(graph, Traffic):
            raise OptionError(
                f"{keyword(name)} is for graphs from read_traffic: use fixed= for other graphs"
            )
    more: NDArray[np.float64] | float = 0.0
    if isinstance(graph, Traffic):
        town = graph
        more = length_factor * town.links["length"] + toll_factor * town.links["toll"]
        columns = (town.links[name] for name in ("free_flow_time", "capacity", "b", "power"))
        costs = Bpr(*columns) if costs is None else costs
        if demand is None:
            demand = town.demand
        if zones is None:
            zones = town.zones
        graph = town.searched
    if demand is None or costs is None:
        missing = "demand" if demand is None else "costs"
        raise OptionError(f"{missing} is missing: give it, or a graph from read_traffic")
    network = graph if isinstance(graph, TurnGraph) else as_graph(graph, None)
    original = network.original if isinstance(network, TurnGraph) else network
    if not original.directed:
        raise GraphError("the graph is undirected: links have a direction, use directed=True")
    m = original.n_edges
    more = more + edge_numbers(fixed, m, "fixed")
    classes = _classes(original, demand, zones, more)
    problem = _Problem(network, link_costs(costs, m), classes, device, check_threads(threads))
    begun = time.perf_counter()
    flows = problem.begin() if start is None else _given(original, classes, start)
    return _equilibrium(problem, flows, float(gap), int(iterations), begun, progress)


class _Class(NamedTuple):
    """User class with checked arguments."""

    name: Any
    trips: Trips
    fixed: NDArray[np.float64]
    equivalents: float


def _classes(graph: Graph, demand: Any, zones: Any, more: NDArray[np.float64]) -> list[_Class]:
    """Return the user classes of the given demand."""
    if not (isinstance(demand, Mapping) and not hasattr(demand, "columns")):
        demand = {"all": demand}
    if not demand:
        raise OptionError("demand has no user class: give at least one")
    listed = []
    for name, given in demand.items():
        one = given if isinstance(given, UserClass) else UserClass(given)
        weight = one.equivalents
        if not isinstance(weight, (int, float, np.number)) or not 0 < weight < np.inf:
            raise OptionError(
                f"equivalents of class {quoted(name)} is {quoted(weight)}: give a number above 0"
            )
        matrix = hasattr(one.demand, "tocoo")
        pairs = read_demand(graph, one.demand, zones if matrix else None)
        trips = Trips(pairs._replace(amounts=pairs.amounts.astype(np.float64)))
        beside = more + edge_numbers(one.fixed, graph.n_edges, f"fixed of class {quoted(name)}")
        listed.append(_Class(name, trips, beside, float(weight)))
    return listed


def _given(graph: Graph, classes: list[_Class], start: Any) -> NDArray[np.float64]:
    """Return the given flows per class, after checking that they carry the demand."""
    if isinstance(start, Assignment):
        start = start.class_flows
    if not isinstance(start, Mapping):
        if len(classes) > 1:
            raise OptionError("start is one array, but there are several classes: give a dict")
        start = {classes[0].name: start}
    if start.keys() != {one.name for one in classes}:
        raise OptionError(
            f"start has flows of {quoted(list(start))}: give those of "
            f"{quoted([one.name for one in classes])}"
        )
    m, n = graph.n_edges, graph.n_vertices
    flows = np.array([edge_numbers(start[c.name], m, "start") for c in classes]).reshape(-1, m)
    tails, heads = graph.tails(np.int64), graph.indices
    for one, flow in zip(classes, flows, strict=True):
        pairs = one.trips.pairs
        leaving = np.bincount(tails, flow, n) + np.bincount(pairs.targets, pairs.amounts, n)
        coming = np.bincount(heads, flow, n) + np.bincount(pairs.sources, pairs.amounts, n)
        wrong = np.flatnonzero(np.abs(leaving - coming) > _BALANCE * np.maximum(leaving, 1.0))
        if len(wrong):
            v = int(wrong[0])
            raise OptionError(
                f"start does not carry the demand of class {quoted(one.name)}: at vertex "
                f"{quoted(graph.name_of(v))} {coming[v]:.10g} comes in and {leaving[v]:.10g} "
                "leaves, demand included"
            )
    return flows


class _Problem:
    """Links, their costs, and the classes that share them."""

    def __init__(
        self,
        network: Graph | TurnGraph,
        costs: LinkCosts,
        classes: list[_Class],
        device: Any,
        workers: int,
    ) -> None:
        self.network = network if isinstance(network, TurnGraph) else network.without_names()
        plain = self.network.graph if isinstance(self.network, TurnGraph) else self.network
        plain.entering()  # cached for all weights
        self.costs, self.classes = costs, classes
        self.device, self.workers = device, workers
        self.weights = np.array([one.equivalents for one in classes])
        self.lost = dict.fromkeys((one.name for one in classes), 0.0)
        self.n_edges = len(classes[0].fixed)

    def together(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the flows of the links from those of the classes."""
        total: NDArray[np.float64] = (self.weights[:, None] * flows).sum(axis=0)
        return total

    def begin(self) -> NDArray[np.float64]:
        """Return the loads when all demand takes the shortest paths of empty links."""
        return self.shortest(self.costs.times(np.zeros(self.n_edges)))[0]

    def shortest(self, times: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the loads of the shortest paths per class, and their total cost."""
        loads, spent = np.empty((len(self.classes), len(times))), 0.0
        searched = None
        for i, one in enumerate(self.classes):
            # Classes with the same costs share the searched graph.
            if i == 0 or (one.fixed != self.classes[i - 1].fixed).any():
                searched = Searched(self.network.with_weights(times + one.fixed), "weight")
            assert searched is not None
            loads[i], lengths = one.trips.on(searched, self.device, self.workers)
            there = np.isfinite(lengths)
            amounts = one.trips.pairs.amounts
            self.lost[one.name] = float(amounts[~there].sum())
            spent += one.equivalents * float((amounts[there] * lengths[there]).sum())
        return loads, spent

    def spent(self, flows: NDArray[np.float64], times: NDArray[np.float64]) -> float:
        """Return the total cost of all users at these times."""
        beside = sum(
            one.equivalents * float((flow * one.fixed).sum())
            for one, flow in zip(self.classes, flows, strict=True)
        )
        return float((self.together(flows) * times).sum()) + beside

    def step(self, flows: NDArray[np.float64], away: NDArray[np.float64]) -> float:
        """Return the step that minimises the objective, by Newton's method between bounds."""
        total, move = self.together(flows), self.together(away)
        beside = self.spent(away, np.zeros(self.n_edges))

        def rise(at: float) -> float:
            return float((move * self.costs.times(np.maximum(total + at * move, 0))).sum()) + beside

        at_once = rise(0.0)
        if at_once >= 0:
            return 0.0
        if rise(1.0) <= 0:
            return 1.0
        low, high, at, now = 0.0, 1.0, 0.0, at_once
        for _ in range(_MOST_TRIALS):
            slopes = self.costs.slopes(np.maximum(total + at * move, 0))
            bend = float((move * move * slopes).sum())
            at = at - now / bend if bend > 0 else high
            if not low < at < high:
                at = (low + high) / 2
            now = rise(at)
            if now < 0:
                low = at
            else:
                high = at
            if abs(now) <= 1e-9 * -at_once or high - low <= 1e-12 * high:
                break
        return at


class _Aims:
    """Pair of the last two aims, from which the next one is computed."""

    def __init__(self, problem: _Problem) -> None:
        self.problem = problem
        self.last: NDArray[np.float64] | None = None
        self.before: NDArray[np.float64] | None = None
        self.step = 0.0

    def gone(self, aim: NDArray[np.float64], step: float) -> None:
        """Record the step that was taken to an aim."""
        self.before, self.last, self.step = self.last, aim, step
        if not 0 < step < _WHOLE_STEP:
            self.last = self.before = None

    def next(
        self, flows: NDArray[np.float64], best: NDArray[np.float64], times: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return an aim: a point in a descent direction conjugate to the last directions."""
        if self.last is None:
            return best
        together = self.problem.together
        x, y, s = together(flows), together(best), together(self.last)
        bend = self.problem.costs.slopes(x)
        if self.before is None:
            toward = (s - x) * bend
            above = float((toward * (y - x)).sum())
            below = float((toward * (y - s)).sum())
            share = above / below if below else 0.0
            share = min(share, _MOST_SHARE) if share > 0 else 0.0
            aim = share * self.last + (1 - share) * best
        else:
            r = together(self.before)
            # `across` is along the step before the last one, `toward` along the last one.
            across = (self.step * s + (1 - self.step) * r - x) * bend
            below = float((across * (r - s)).sum())
            second = -float((across * (y - x)).sum()) / below if below else 0.0
            second = max(second, 0.0)
            toward = (s - x) * bend
            below = float((toward * (s - x)).sum())
            first = -float((toward * (y - x)).sum()) / below if below else 0.0
            first = max(first + second * self.step / (1 - self.step), 0.0)
            share = 1 / (1 + first + second)
            aim = share * (best + first * self.last + second * self.before)
        if self.problem.spent(aim - flows, times) >= 0:
            self.last = self.before = None
            return best
        return aim


def _equilibrium(
    problem: _Problem,
    flows: NDArray[np.float64],
    goal: float,
    iterations: int,
    begun: float,
    progress: Callable[[float, float], None] | None,
) -> Assignment:
    """Iterate until the gap is small enough."""
    aims = _Aims(problem)
    history: list[AssignmentStep] = []
    while True:
        total = problem.together(flows)
        times = problem.costs.times(total)
        best, least = problem.shortest(times)
        spent = problem.spent(flows, times)
        gap = (spent - least) / spent if spent else 0.0
        clock = time.perf_counter() - begun
        history.append(AssignmentStep(gap, spent, 0.0, clock))
        if progress is not None:
            _tell(progress, gap, goal, len(history), iterations)
        if gap <= goal or len(history) > iterations:
            break
        aim = aims.next(flows, best, times)
        step = problem.step(flows, aim - flows)
        if step == 0.0 and aim is not best:
            aims.gone(aim, 0.0)
            aim = best
            step = problem.step(flows, aim - flows)
        history[-1] = history[-1]._replace(step=step)
        if step == 0.0:  # no closer point exists in floats
            break
        flows = np.maximum(flows + step * (aim - flows), 0)
        aims.gone(aim, step)
    named = {one.name: flow for one, flow in zip(problem.classes, flows, strict=True)}
    return Assignment(total, times, gap, gap <= goal, named, history, problem.lost)


def _tell(
    progress: Callable[[float, float], None], gap: float, goal: float, done: int, most: int
) -> None:
    """Report progress in digits of the gap, or in iterations if their share is larger."""
    asked = -math.log10(goal) if 0 < goal < 1 else math.inf
    share = -math.log10(max(gap, 1e-300)) / asked
    progress(1.0 if gap <= goal else min(max(share, done / (most + 1), 0.0), 1.0), 1.0)
