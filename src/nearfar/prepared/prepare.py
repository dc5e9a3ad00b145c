"""Prepare a graph, or load a prepared one from a file."""

from __future__ import annotations

import os
import time
from typing import Any, Literal, overload

from nearfar.errors import GraphFormatError, OptionError, keyword
from nearfar.graph.graph import Graph
from nearfar.graph.like import GraphLike
from nearfar.graph.turns import TurnGraph
from nearfar.options import canonical_device
from nearfar.prepared.cuda.metric.arcs import device_arcs
from nearfar.prepared.files.file import read_arrays
from nearfar.prepared.files.stored import assembled, check_contents
from nearfar.prepared.order.elimination import elimination_order, structure_of
from nearfar.prepared.order.tree import Figures, Preparation, analyse, build_arcs, check_worth
from nearfar.prepared.prepared import Prepared, weighed, weighed_on_device
from nearfar.prepared.turns import PreparedTurns, prepared_turns, turn_order, turns_of
from nearfar.system.devices import runtime
from nearfar.system.threads import check_threads, default_threads


@overload
def prepare(  # type: ignore[overload-overlap]
    graph: TurnGraph,
    order: Any = ...,
    *,
    seed: int = ...,
    perfect: bool = ...,
    force: bool = ...,
    memory: int | None = ...,
    threads: int | None = ...,
    device: Literal["cpu", "cuda", "gpu"] = ...,
) -> PreparedTurns: ...
@overload
def prepare(
    graph: GraphLike,
    order: Any = ...,
    *,
    seed: int = ...,
    perfect: bool = ...,
    force: bool = ...,
    memory: int | None = ...,
    threads: int | None = ...,
    device: Literal["cpu", "cuda", "gpu"] = ...,
) -> Prepared: ...
def prepare(
    graph: GraphLike,
    order: Any = "auto",
    *,
    seed: int = 0,
    perfect: bool = True,
    force: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    device: Literal["cpu", "cuda", "gpu"] = "cpu",
) -> Prepared | PreparedTurns:
    """Prepare a graph for many queries: find an order, build the arcs and compute their weights.

    Preparing pays off for graphs with small separators: roads, grids, meshes, power grids and most
    planar or geometric graphs. Others are refused with the figures before anything large is built.

    Parameters
    ----------
    graph : graph_like or TurnGraph
    order : {"auto", "multilevel"} or int array, shape (n,)
        Method for the elimination order, or the order itself, first eliminated vertex first (with
        turns, of the original vertices). ``"auto"`` is ``"multilevel"``, a nested dissection on
        all cores.
    seed : int
        The same seed gives the same order.
    perfect : bool
        Prune arcs that no shortest path needs, which makes queries faster and takes 1.5 times as
        long as the rest of the customization.
    force : bool
        Prepare even if queries will be slower than searches.
    memory : int or None
        Memory besides the graph; None means the free memory.
    threads : int or None
        None uses all cores.
    device : {"cpu", "cuda"}
        Device that computes the weights of the arcs; order and arcs are computed on the CPU.

    Returns
    -------
    Prepared, or PreparedTurns for a TurnGraph

    Raises
    ------
    GraphError
        If the graph has no small separators, with the figures.
    OutOfMemoryError
        If the arcs take more memory than they may.
    NegativeCycleError
        If the graph has a negative cycle.
    OptionError, MissingDependencyError
        For an order or a device that does not exist or is not available.

    Notes
    -----
    The order takes about O(m log n), the rest O(triangles): seconds for a city. The time is
    in :attr:`Prepared.seconds`.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
    >>> p = nearfar.prepare(g)
    >>> p.distance(0, 2)
    7
    >>> p.path(0, 2)
    ([0, 1, 2], 7)
    """
    turns = graph if isinstance(graph, TurnGraph) else None
    if isinstance(turns, PreparedTurns) and isinstance(order, str) and order == "auto":
        return turns
    graph = Graph.from_any(graph) if turns is None else turns.graph
    if isinstance(graph, Prepared) and isinstance(order, str) and order == "auto":
        return graph
    on_gpu = canonical_device(device, ("cpu", "cuda")) == "cuda"
    if on_gpu:
        runtime.device()  # report a missing package before computing the order
    clock, workers = _Clock(), check_threads(threads)
    structure = structure_of(graph)
    found, method = (
        elimination_order(structure, order, seed, workers)
        if turns is None
        else turn_order(turns, order, seed, workers)
    )
    clock.lap("order")
    tree, figures = analyse(graph, structure, found, perfect)
    clock.lap("analysis")
    check_worth(figures, memory, force)
    arcs = build_arcs(graph, structure, tree)
    preparation = Preparation(tree, arcs, figures, method)
    clock.lap("arcs")
    if on_gpu:
        there = device_arcs(graph, preparation)
        clock.lap("arcs to the device")
        made = weighed_on_device([graph], there, perfect, clock.seconds)[0]
    else:
        made = weighed(graph, preparation, perfect, workers, clock.seconds)
    return made if turns is None else prepared_turns(turns, made)


def foreseen(
    graph: Graph | TurnGraph, order: Any = "auto", *, seed: int = 0, perfect: bool = True
) -> Figures:
    """Predict the cost of preparing a graph from its order and a symbolic analysis.

    Parameters
    ----------
    graph : Graph or TurnGraph
    order, seed, perfect
        As for :func:`prepare`.

    Returns
    -------
    Figures
        ``worth`` tells whether :func:`prepare` would refuse.

    Raises
    ------
    OptionError, MissingDependencyError
        For an order that does not exist or is not available.
    """
    if isinstance(graph, TurnGraph):
        found, _ = turn_order(graph, order, seed, default_threads())
        graph = graph.graph
        structure = structure_of(graph)
    else:
        structure = structure_of(graph)
        found, _ = elimination_order(structure, order, seed, default_threads())
    return analyse(graph, structure, found, perfect)[1]


@overload
def load(
    path: str | os.PathLike[str], *, check: bool = ..., turns: Literal[False] = ...
) -> Prepared: ...
@overload
def load(
    path: str | os.PathLike[str], *, check: bool = ..., turns: Literal[True]
) -> PreparedTurns: ...
def load(
    path: str | os.PathLike[str], *, check: bool = True, turns: bool = False
) -> Prepared | PreparedTurns:
    """Read a prepared graph; its arrays stay in the file and are mapped into memory.

    Parameters
    ----------
    path : str or path
        File written by :meth:`Prepared.save`.
    check : bool
        Check the checksums and the consistency of all arrays, which reads the whole file. False is
        for trusted files: a damaged array is then not detected and can crash the process.
    turns : bool
        Whether the file holds a graph with turn costs.

    Returns
    -------
    Prepared, or PreparedTurns for a file with turns

    Raises
    ------
    GraphFormatError
        If it is not such a file, or of another version, truncated or damaged; the message says
        which.
    OptionError
        If the name does not end in ``.nfp``, or ``turns`` does not agree with the file.
    OSError
        If the file cannot be read.
    """
    about, arrays = read_arrays(path, check)
    if "labels" in about:
        raise GraphFormatError("this file holds labels: Prepared.read_labels reads them", path)
    if ("turns" in about) != turns:
        raise OptionError(
            f"{path} holds a graph {'without' if turns else 'with'} turn costs: "
            f"{'leave out' if turns else 'add'} {keyword('turns', True)}"
        )
    try:
        graph, preparation, metric, perfect, fixed = assembled(about, arrays)
        made = Prepared(graph, preparation, metric, perfect, fixed=fixed)
        if check:
            check_contents(made)
        _ = made.metric_view  # checks the sizes of the arrays against each other
        if turns:
            return turns_of(about, arrays, made)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise GraphFormatError(f"the arrays do not belong together: {error}", path) from error
    return made


class _Clock:
    """Seconds of each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Record the step that ends now."""
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
