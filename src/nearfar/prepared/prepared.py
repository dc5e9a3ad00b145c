"""A prepared graph: a graph with an elimination order, its arcs and their weights."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar import _cpu
from nearfar.cpu.potentials import potentials
from nearfar.cpu.predecessors import tight_predecessors
from nearfar.errors import (
    DistanceOverflowError,
    GraphError,
    GraphFormatError,
    OptionError,
    OutOfMemoryError,
    SolverError,
    UnreachableError,
    quoted,
)
from nearfar.graph.build import default_threads
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import may_saturate
from nearfar.graph.slots import Slot
from nearfar.prepared.file import read_arrays, write_arrays
from nearfar.prepared.metric import Metric, QueryArcs, arcs_view, customized, renewed
from nearfar.prepared.order import elimination_order, structure_of
from nearfar.prepared.tree import Arcs, Figures, Tree, analyse, build_arcs, check_worth
from nearfar.system.memory import free_memory

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Preparation",
    "Prepared",
    "TreeLabels",
    "foreseen",
    "load",
    "pair_indices",
    "prepare",
    "restored_rows",
]

_OTHER_DTYPE: Slot[Prepared] = Slot("prepared in another dtype")
_HOPS: Slot[Prepared] = Slot("prepared without weights")


@dataclass(frozen=True, slots=True)
class Preparation:
    """What belongs to the structure of a graph and not to its weights.

    Attributes
    ----------
    tree : Tree
    arcs : Arcs
    figures : Figures
    method : str
        How the order was found.
    view : nearfar._cpu.PreparedArcs
    """

    tree: Tree
    arcs: Arcs
    figures: Figures
    method: str
    view: Any


class Prepared(Graph):
    """A graph that answers queries from an elimination tree instead of searching.

    Made by :func:`nearfar.prepare`. It is a :class:`Graph` and goes wherever one goes; its own
    methods answer point queries in microseconds. Like a graph it never changes:
    :meth:`reweight` and :meth:`update` return another one that shares order and arcs.

    Attributes
    ----------
    preparation : Preparation
        Order, elimination tree and arcs.
    metric : Metric
        Weights of the arcs.
    perfect : bool
        Whether arcs that no shortest path needs are left out of queries.
    seconds : dict of str to float
        What preparing took, step by step.
    n_updated : int
        How many vertices' arcs :meth:`update` computed again to make this one.
    """

    # ---- making --------------------------------------------------------------------------------

    def __init__(
        self,
        graph: Graph,
        preparation: Preparation,
        metric: Metric,
        perfect: bool,
        seconds: dict[str, float] | None = None,
    ) -> None:
        # The graph's arrays were checked when it was made.
        self._fill(graph._arrays, graph.on_device, copy=False, **graph._besides())
        self.preparation, self.metric, self.perfect = preparation, metric, perfect
        self.seconds = dict(seconds or {})
        self.n_updated = 0

    @cached_property
    def metric_view(self) -> Any:
        """The C++ side's typed pointers into the arrays that queries read."""
        m = self.metric
        return _cpu.PreparedMetric(
            self.preparation.view,
            m.weights,
            m.sides,
            self.n_negative == 0,
            m.up.first,
            m.up.head_depth,
            m.up.weight,
            m.down.first,
            m.down.head_depth,
            m.down.weight,
        )

    @cached_property
    def _origins(self) -> NDArray[np.int32]:
        """What each arc has its weight from, in both directions; 16 bytes per arc."""
        found = np.empty(4 * self.preparation.arcs.n_arcs, dtype=np.int32)
        _cpu.prepared_origins(self.metric_view, self.effective_weights, found, default_threads())
        return found

    def reweight(self, weights: ArrayLike | None, threads: int | None = None) -> Prepared:
        """The same order and arcs for other weights of the edges.

        Parameters
        ----------
        weights : array, shape (m,), or None
            One weight per edge, in the order of :attr:`indices`; of any dtype that a graph takes.
            None means that every edge counts 1.
        threads : int or None
            None uses all cores of this process.

        Returns
        -------
        Prepared

        Raises
        ------
        GraphError
            If there is not one weight per edge, or one is not finite.
        NegativeCycleError
            If the weights have a negative cycle.

        Notes
        -----
        O(triangles), spread over the cores: milliseconds for a city.
        """
        given = None if weights is None else np.asarray(weights)
        graph = Graph(self.indptr, self.indices, given, **self._besides())
        return _weighed(graph, self.preparation, self.perfect, _threads(threads), {})

    def update(self, edges: ArrayLike, weights: ArrayLike, threads: int | None = None) -> Prepared:
        """The same order and arcs after some edges changed their weight.

        Only arcs above a changed edge whose weight changes with it are computed again; what
        queries leave out is then found anew.

        Parameters
        ----------
        edges : int array, shape (k,)
            Positions of the edges.
        weights : array, shape (k,)
            Their new weights, which the dtype of the weights must hold.
        threads : int or None
            None uses all cores of this process.

        Returns
        -------
        Prepared

        Raises
        ------
        GraphError
            If an edge does not exist or a weight does not fit the dtype.
        NegativeCycleError
            If the weights have a negative cycle.
        """
        at = np.atleast_1d(np.asarray(edges))
        new = np.atleast_1d(np.asarray(weights))
        if at.ndim != 1 or at.shape != new.shape or (at.size and at.dtype.kind not in "iu"):
            raise GraphError(
                f"edges has shape {at.shape} and dtype {at.dtype}, weights has shape {new.shape}: "
                "give one weight per edge position"
            )
        at = at.astype(np.int64)
        if at.size and (at.min() < 0 or at.max() >= self.n_edges):
            wrong = at[(at < 0) | (at >= self.n_edges)][0]
            raise GraphError(f"edge {wrong} does not exist: the graph has {self.n_edges} edges")
        changed = self.effective_weights.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            changed[at] = new
        if self.weight_dtype.kind == "i" and not np.array_equal(changed[at], new):
            raise GraphError(
                f"the new weights do not fit {self.weight_dtype} exactly: use reweight"
            )
        graph = Graph(self.indptr, self.indices, changed, copy=False, **self._besides())
        label = self.preparation.tree.label
        tails = np.searchsorted(self.indptr, at, side="right") - 1
        low = np.minimum(label[tails], label[self.indices[at]])
        began = time.perf_counter()
        metric, count = renewed(
            self.preparation.view,
            self.preparation.arcs.n_arcs,
            self.metric,
            graph,
            np.unique(low).astype(np.int32),
            self.perfect,
            _threads(threads),
        )
        seconds = {"update": time.perf_counter() - began}
        made = Prepared(graph, self.preparation, metric, self.perfect, seconds)
        made.n_updated = count
        _refuse_negative_cycle(made)
        return made

    def astype(self, dtype: Any) -> Graph:
        """The prepared graph with weights of another dtype, cached per dtype.

        Parameters
        ----------
        dtype : dtype
            int32, int64, float32 or float64.

        Returns
        -------
        Prepared
            Itself if that is its dtype.

        Raises
        ------
        GraphError
            If a weight does not survive the change.
        """
        other = super().astype(dtype)
        if other is self:
            return self
        return _OTHER_DTYPE.of(
            self,
            lambda: _weighed(other, self.preparation, self.perfect, default_threads(), {}),
            np.dtype(dtype).name,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        plain = super().__reduce__()
        return _restored, (plain, self.preparation.tree, self.preparation.arcs,
                           self.preparation.figures, self.preparation.method, self.metric,
                           self.perfect)  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file that :func:`nearfar.load` maps into memory.

        Parameters
        ----------
        path : str or path
            Ends in ``.nfp``. The file appears whole or not at all.

        Raises
        ------
        OptionError
            For another suffix.
        OSError
            If the file cannot be written.
        """
        write_arrays(path, _about(self), _arrays(self))

    # ---- queries -------------------------------------------------------------------------------

    def distance(self, source: Any, target: Any, *, exact: bool = True) -> Any:
        """The distance between two vertices.

        Parameters
        ----------
        source, target : int or vertex name
        exact : bool
            For floats: the very number that a search returns. Without, it may differ in the last
            digits, since sums over shortcuts are added in another order, and takes a fraction of
            the time. Integers are exact either way.

        Returns
        -------
        int or float
            A Python number in units of the weights; inf when there is no path.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        DistanceOverflowError
            If the distance does not fit 64 bits.

        Notes
        -----
        Two walks to the root of the elimination tree: O(arcs on them).
        """
        found = self._pairs(
            np.array([self.index_of(source, "source")]),
            np.array([self.index_of(target, "target")]),
            1,
            exact,
        )[0]
        return float("inf") if found == unreached_value(found.dtype) else found.item()

    def path(self, source: Any, target: Any) -> tuple[list[Any], Any]:
        """A shortest path and its length.

        Where there are several, it need not be the one that :func:`nearfar.shortest_path` gives.

        Parameters
        ----------
        source, target : int or vertex name

        Returns
        -------
        path : list
            Vertices, source first, in external names.
        length : int or float
            In units of the weights.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        UnreachableError
            If there is no path.
        """
        begin = self.index_of(source, "source")
        edges = self.path_edges(source, target)
        weights = self.effective_weights[edges]
        total: Any
        if self.weight_dtype.kind == "i":
            total = (
                sum(weights.tolist()) if self._may_saturate else int(weights.sum(dtype=np.int64))
            )
        else:
            # From left to right, as a search adds.
            total = np.cumsum(weights)[-1].item() if len(weights) else 0.0
        steps = [begin, *self.indices[edges].tolist()]
        return self.name_of(steps).tolist(), total

    def path_edges(self, source: Any, target: Any) -> NDArray[np.int32]:
        """The edges of a shortest path.

        Parameters
        ----------
        source, target : int or vertex name

        Returns
        -------
        int32 array
            Positions in :attr:`indices`, from the source on; of parallel edges the first of the
            lightest. Empty where source and target are the same.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        UnreachableError
            If there is no path.
        """
        begin, end = self.index_of(source, "source"), self.index_of(target, "target")
        if self.weight_dtype.kind == "f" and not self.n_negative:
            least = float(self.min_weight)
            weights, view = self.effective_weights, self.metric_view
            found = _cpu.prepared_exact_path(view, weights, least, begin, end)
            if found is False:
                found = self._path_in_row(begin, end)
        else:
            found = _cpu.prepared_path(self.metric_view, self._origins, begin, end)
        if found is None and (wide := self._wider()) is not None:
            found = _cpu.prepared_path(wide.metric_view, wide._origins, begin, end)
        if found is None:
            raise UnreachableError(f"vertex {quoted(target)} is not reached from {quoted(source)}")
        return np.asarray(found)

    def distances_of_pairs(
        self, pairs: Any, threads: int | None = None, *, exact: bool = True
    ) -> NDArray[Any]:
        """Distances of many pairs, each by a walk of its own, on all cores.

        Parameters
        ----------
        pairs : list of (source, target), or int array of shape (k, 2)
        threads : int or None
            None uses all cores of this process.
        exact : bool
            As for :meth:`distance`.

        Returns
        -------
        array, shape (k,)
            Dtype of the weights, 64 bits where a 32-bit sum does not fit; no path is inf or the
            maximum of an integer dtype.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        OptionError
            If ``pairs`` has another shape.
        """
        starts, ends = pair_indices(self, pairs)
        return self._pairs(starts, ends, _threads(threads), exact)

    def label(self, max_bytes: int | None = None, threads: int | None = None) -> TreeLabels:
        """Every vertex's search space written down, for many point queries.

        Parameters
        ----------
        max_bytes : int or None
            Memory that they may take; None asks the system what is free.
        threads : int or None
            None uses all cores of this process.

        Returns
        -------
        TreeLabels

        Raises
        ------
        OutOfMemoryError
            If they take more, before anything is allocated.

        Notes
        -----
        One value per vertex and ancestor in the elimination tree, in each direction unless both
        are the same: :attr:`label_bytes`.
        """
        free = free_memory() if max_bytes is None else int(max_bytes)
        if self.label_bytes > free:
            raise OutOfMemoryError(self.label_bytes, free, "query without labels instead")
        workers = _threads(threads)
        offset = _label_offsets(self.preparation.tree)
        rows = [np.empty(int(offset[-1]), dtype=self.metric.weights.dtype)]
        _cpu.prepared_label_rows(self.metric_view, False, offset, rows[0], workers)
        if self.metric.sides == 2:
            rows.append(np.empty_like(rows[0]))
            _cpu.prepared_label_rows(self.metric_view, True, offset, rows[1], workers)
        tops = _cpu.prepared_heavy_tops(self.preparation.view)
        return TreeLabels(self, offset, tops, rows[0], rows[-1])

    @property
    def label_bytes(self) -> int:
        """Bytes that :meth:`label` takes."""
        values = int(_label_offsets(self.preparation.tree)[-1])
        return values * self.metric.weights.dtype.itemsize * self.metric.sides

    def _pairs(
        self,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        threads: int,
        exact: bool = True,
    ) -> NDArray[Any]:
        if exact and self.weight_dtype.kind == "f":
            return self._exact_pairs(starts, ends, threads)
        out = np.empty(len(starts), dtype=self.weight_dtype)
        _cpu.prepared_pairs(self.metric_view, starts, ends, out, threads)
        return self._widened(out, starts, ends, lambda p, s, t: p._pairs(s, t, threads))

    def _exact_pairs(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64], threads: int
    ) -> NDArray[Any]:
        """Left-to-right sums of floats; with negative weights from whole rows."""
        out = np.full(len(starts), np.nan, dtype=self.weight_dtype)
        if not self.n_negative:
            least, weights = float(self.min_weight), self.effective_weights
            view = self.metric_view
            _cpu.prepared_exact_pairs(view, weights, least, starts, ends, out, threads)
        left = np.isnan(out)
        for source in np.unique(starts[left]):
            row = restored_rows(self, np.array([source]), threads)[0]
            mine = left & (starts == source)
            out[mine] = row[ends[mine]]
        return out

    def _path_in_row(self, source: int, target: int) -> NDArray[np.int32] | None:
        """The edges of a path by the predecessors of a whole row, or None."""
        row = restored_rows(self, np.array([source]), 1)[0]
        if row[target] == np.inf:
            return None
        before = tight_predecessors(self, source, row)
        edges = []
        at = target
        while at != source:
            u = int(before[at])
            mine = np.arange(self.indptr[u], self.indptr[u + 1])
            mine = mine[self.indices[mine] == at]
            edges.append(int(mine[np.argmin(self.effective_weights[mine])]))
            at = u
        return np.array(edges[::-1], dtype=np.int32)

    def _widened(
        self, found: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64], ask: Any
    ) -> NDArray[Any]:
        """The distances, those that do not fit 32 bits asked for again in 64."""
        missing = found == unreached_value(found.dtype)
        if not missing.any() or not self._may_saturate:
            return found
        wide = self._wider()
        if wide is None:
            if self.weight_dtype.kind == "i":
                self._check_reach(starts[missing], ends[missing])
            return found
        again = ask(wide, starts[missing], ends[missing])
        if (again == unreached_value(again.dtype)).all():
            return found
        out = np.full(len(found), unreached_value(again.dtype), dtype=again.dtype)
        out[~missing] = found[~missing]
        out[missing] = again
        return out

    def _check_reach(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        """Refuse distances beyond 64 bits: pairs that are joined although no sum fits."""
        hops = _HOPS.of(
            self,
            lambda: _weighed(
                self.without_weights(), self.preparation, False, default_threads(), {}
            ),
        )
        there = hops._pairs(starts, ends, 1)
        if (there != unreached_value(there.dtype)).any():
            raise DistanceOverflowError(
                f"a distance does not fit {self.weight_dtype}: scale the weights down"
            )

    @cached_property
    def _may_saturate(self) -> bool:
        if self.weight_dtype.kind == "f":
            return False
        return may_saturate(self)

    def _wider(self) -> Prepared | None:
        """The same in 64 bits, for 32-bit integers whose sums may be too large."""
        if self.weight_dtype != np.int32 or not self._may_saturate:
            return None
        made = self.astype(np.int64)
        assert isinstance(made, Prepared)
        return made


class TreeLabels:
    """Every vertex's distances to and from its ancestors in the elimination tree.

    Made by :meth:`Prepared.label`; answers point queries in batches.

    Parameters
    ----------
    prepared : Prepared
    offset : int64 array, shape (n + 1,)
        Row ``v`` of a label begins at ``offset[v]`` and has one value per ancestor, by depth.
    top : int32 array, shape (n,)
        The highest label of each label's heavy path.
    up, down : arrays, shape (offset[n],)
        The same array where every edge weighs the same in both directions.
    """

    def __init__(
        self,
        prepared: Prepared,
        offset: NDArray[np.int64],
        top: NDArray[np.int32],
        up: NDArray[Any],
        down: NDArray[Any],
    ) -> None:
        self.prepared = prepared
        self.offset, self.top, self.up, self.down = offset, top, up, down

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        both = self.up.nbytes + (0 if self.down is self.up else self.down.nbytes)
        return both + self.offset.nbytes + self.top.nbytes

    def distances_of_pairs(
        self, pairs: Any, threads: int | None = None, *, exact: bool = True
    ) -> NDArray[Any]:
        """Distances of many pairs.

        Parameters
        ----------
        pairs : list of (source, target), or int array of shape (k, 2)
        threads : int or None
            None uses all cores of this process.
        exact : bool
            For floats: the very numbers that a search returns, for which labels are of no use: each
            pair is a walk then. Without, they may differ in the last digits. Integers are exact
            either way.

        Returns
        -------
        array, shape (k,)
            As of :meth:`Prepared.distances_of_pairs`.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        OptionError
            If ``pairs`` has another shape.
        """
        starts, ends = pair_indices(self.prepared, pairs)
        if exact and self.prepared.weight_dtype.kind == "f":
            return self.prepared._pairs(starts, ends, _threads(threads))
        out = np.empty(len(starts), dtype=self.prepared.weight_dtype)
        _cpu.prepared_label_pairs(
            self.prepared.metric_view,
            self.offset,
            self.top,
            self.up,
            self.down,
            starts,
            ends,
            out,
            _threads(threads),
        )
        return self.prepared._widened(
            out, starts, ends, lambda p, s, t: p._pairs(s, t, _threads(threads))
        )


def prepare(
    graph: Graph,
    order: Any = "auto",
    *,
    seed: int = 0,
    perfect: bool = True,
    force: bool = False,
    max_bytes: int | None = None,
    threads: int | None = None,
) -> Prepared:
    """Prepare a graph for many queries: find an order, build the arcs, give them their weights.

    Pays for graphs with small separators: roads, grids, meshes, power grids and most planar or
    geometric graphs. Others are refused with the figures before anything large is built.

    Parameters
    ----------
    graph : Graph
    order : {"auto", "metis", "inertial", "levels"} or int array, shape (n,)
        How to find the elimination order, or the order itself: the first vertex is eliminated
        first. ``"metis"`` needs ``pip install 'nearfar[prepare]'`` and gives the fastest queries;
        ``"auto"`` takes it where it is installed, else ``"inertial"`` for a graph with
        coordinates, else ``"levels"``.
    seed : int
        The same seed gives the same order.
    perfect : bool
        Find the distance between the ends of every arc and leave those out of queries that no
        shortest path needs. Costs about twice the customization.
    force : bool
        Prepare even where queries will be slower than searches.
    max_bytes : int or None
        Memory that it may take besides the graph; None asks the system what is free.
    threads : int or None
        None uses all cores of this process.

    Returns
    -------
    Prepared

    Raises
    ------
    GraphError
        If the graph has no small separators, with the figures.
    OutOfMemoryError
        If the arcs take more memory than they may.
    NegativeCycleError
        If the graph has a negative cycle.
    OptionError, MissingDependencyError
        For an order that does not exist or cannot be used here.

    Notes
    -----
    The order takes O(m log n) or so, the rest O(triangles). Seconds for a city; what it took is
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
    if not isinstance(graph, Graph):
        raise GraphError(f"{type(graph).__name__} is not a Graph: use Graph.from_scipy or the like")
    if isinstance(graph, Prepared) and isinstance(order, str) and order == "auto":
        return graph
    clock = _Clock()
    structure = structure_of(graph)
    found, method = elimination_order(graph, structure, order, seed)
    clock.lap("order")
    tree, figures = analyse(graph, structure, found, perfect)
    clock.lap("analysis")
    check_worth(figures, max_bytes, force)
    arcs = build_arcs(graph, structure, tree)
    preparation = Preparation(tree, arcs, figures, method, arcs_view(tree, arcs))
    clock.lap("arcs")
    return _weighed(graph, preparation, perfect, _threads(threads), clock.seconds)


def restored_rows(
    prepared: Prepared,
    sources: NDArray[np.int64],
    threads: int,
    lanes: int = 0,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Whole rows of floats with the sums that a search makes, from left to right.

    Parameters
    ----------
    prepared : Prepared
        With float weights.
    sources : int64 array, shape (k,)
    threads : int
    lanes : int
        Sources per sweep; 0 chooses.
    out : array, shape (k, n), or None
        Where to write.

    Returns
    -------
    array, shape (k, n)

    Raises
    ------
    SolverError
        If a row could not be made exact, which would be a mistake of this package.
    """
    rows = out
    if rows is None:
        rows = np.empty((len(sources), prepared.n_vertices), dtype=prepared.weight_dtype)
    _cpu.prepared_distances(prepared.metric_view, sources, None, rows, lanes, threads)
    shift = potentials(prepared) if prepared.n_negative else None
    left = int(_cpu.polish_rows(prepared.view, sources, rows, shift, threads))
    if left and not prepared.n_negative:
        raise SolverError(f"{left} rows could not be made exact: please report this")
    return rows


def foreseen(graph: Graph, order: Any = "auto", *, seed: int = 0, perfect: bool = True) -> Figures:
    """What preparing a graph would cost, without doing it: the order and the symbolic analysis.

    Parameters
    ----------
    graph : Graph
    order, seed, perfect
        As for :func:`prepare`.

    Returns
    -------
    Figures
        ``worth`` says whether :func:`prepare` would refuse.

    Raises
    ------
    OptionError, MissingDependencyError
        For an order that does not exist or cannot be used here.
    """
    structure = structure_of(graph)
    found, _ = elimination_order(graph, structure, order, seed)
    return analyse(graph, structure, found, perfect)[1]


def load(path: str | os.PathLike[str], *, check: bool = True) -> Prepared:
    """Read a prepared graph; its arrays stay in the file and are mapped into memory.

    Parameters
    ----------
    path : str or path
        As :meth:`Prepared.save` wrote it.
    check : bool
        Compare the checksums of all arrays, which reads the whole file once. Without it a damaged
        array is not noticed.

    Returns
    -------
    Prepared

    Raises
    ------
    GraphFormatError
        If it is not such a file, of another version, cut off or damaged; says which.
    OptionError
        If the name does not end in ``.nfp``.
    OSError
        If the file cannot be read.
    """
    about, arrays = read_arrays(path, check)
    try:
        return _assembled(about, arrays)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise GraphFormatError(f"the arrays do not belong together: {error}", path) from error


class _Clock:
    """Seconds of each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """The step that ends now."""
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now


def _threads(threads: int | None) -> int:
    if threads is None:
        return default_threads()
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise OptionError(
            f"threads is {quoted(threads)}: give a whole number of at least 1, or None"
        )
    return min(int(threads), max(64, 4 * default_threads()))


def _weighed(
    graph: Graph, preparation: Preparation, perfect: bool, threads: int, seconds: dict[str, float]
) -> Prepared:
    """The graph with its weights on the arcs."""
    began = time.perf_counter()
    n_arcs = preparation.arcs.n_arcs
    metric = customized(preparation.view, n_arcs, graph, perfect, threads)
    seconds = {**seconds, "customization": time.perf_counter() - began}
    made = Prepared(graph, preparation, metric, perfect, seconds)
    _refuse_negative_cycle(made)
    return made


def _refuse_negative_cycle(prepared: Prepared) -> None:
    """An arc there and back of negative weight is a negative cycle, and every one shows so."""
    if not prepared.n_negative:
        return
    if prepared.weight_dtype.kind == "i":
        weights = prepared.effective_weights
        loops = weights[prepared.tails() == prepared.indices]
        both = prepared.metric.weights.reshape(-1, prepared.metric.sides)
        if not (both[:, 0] + both[:, -1] < 0).any() and not (loops < 0).any():
            return
    # Names the cycle; for floats, where sums in another order may differ in sign, it also decides.
    potentials(prepared)


def _restored(
    plain: tuple[Any, ...],
    tree: Tree,
    arcs: Arcs,
    figures: Figures,
    method: str,
    metric: Metric,
    perfect: bool,
) -> Prepared:
    make, arguments = plain
    graph = make(*arguments)
    preparation = Preparation(tree, arcs, figures, method, arcs_view(tree, arcs))
    return Prepared(graph, preparation, metric, perfect)


def _label_offsets(tree: Tree) -> NDArray[np.int64]:
    offset = np.zeros(tree.n_vertices + 1, dtype=np.int64)
    np.cumsum((tree.depth.astype(np.int64) + 8) & ~7, out=offset[1:])
    return offset


def pair_indices(graph: Graph, pairs: Iterable[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the sources and of the targets of pairs.

    Parameters
    ----------
    graph : Graph
    pairs : list of (source, target), or array of shape (k, 2)

    Returns
    -------
    sources, targets : int64 arrays, shape (k,)

    Raises
    ------
    OptionError
        If something is not a pair.
    VertexError
        If one of them is not a vertex.
    """
    if isinstance(pairs, np.ndarray) and pairs.dtype.kind in "iu":
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise OptionError(f"pairs has shape {pairs.shape}: give (source, target) per row")
        return graph.indices_of(pairs[:, 0], "source"), graph.indices_of(pairs[:, 1], "target")
    if not hasattr(pairs, "__iter__"):
        raise OptionError(f"pairs is {quoted(pairs)}: give a list of (source, target)")
    listed = list(pairs)
    if any(not hasattr(pair, "__len__") or len(pair) != 2 for pair in listed):
        raise OptionError("pairs holds something that is not a (source, target) pair")
    starts = graph.indices_of([s for s, _ in listed], "source")
    return starts, graph.indices_of([t for _, t in listed], "target")


def _about(prepared: Prepared) -> dict[str, Any]:
    """What a file keeps besides arrays."""
    plain = (str, int, float, bool)
    return {
        "directed": prepared.directed,
        "first_number": None if prepared.vertex_names is None else _first_number(prepared),
        "perfect": prepared.perfect,
        "sides": prepared.metric.sides,
        "method": prepared.preparation.method,
        "figures": asdict(prepared.preparation.figures),
        "attributes": {k: v for k, v in prepared.attributes.items() if isinstance(v, plain)},
    }


def _first_number(prepared: Prepared) -> int | None:
    """The name of the first vertex where names are consecutive numbers."""
    return None if prepared.vertex_numbers is None else prepared.vertex_numbers.start


def _arrays(prepared: Prepared) -> dict[str, NDArray[Any]]:
    """All arrays by name; those of the two directions once where they are the same."""
    found: dict[str, Any] = {
        "indptr": prepared.indptr,
        "indices": prepared.indices,
        "weights": prepared.weights,
        "vertex_names": None if prepared.vertex_numbers is not None else prepared.vertex_names,
        "coordinates": prepared.coordinates,
    }
    preparation, metric = prepared.preparation, prepared.metric
    for prefix, part in (("tree", preparation.tree), ("arcs", preparation.arcs)):
        found |= {f"{prefix}.{f.name}": getattr(part, f.name) for f in fields(part)}
    found["metric.weights"] = metric.weights
    for side in ("up", "down")[: metric.sides]:
        part = getattr(metric, side)
        found |= {f"{side}.{f.name}": getattr(part, f.name) for f in fields(part)}
    return {name: array for name, array in found.items() if array is not None}


def _assembled(found: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Prepared:
    names: Any = arrays.get("vertex_names")
    if found["first_number"] is not None:
        start = int(found["first_number"])
        names = range(start, start + len(arrays["indptr"]) - 1)
    graph = Graph(
        arrays["indptr"],
        arrays["indices"],
        arrays.get("weights"),
        directed=found["directed"],
        vertex_names=names,
        coordinates=arrays.get("coordinates"),
        attributes=found["attributes"],
        copy=False,
    )
    tree = Tree(**{f.name: arrays[f"tree.{f.name}"] for f in fields(Tree)})
    arcs = Arcs(**{f.name: arrays[f"arcs.{f.name}"] for f in fields(Arcs)})
    up = QueryArcs(**{f.name: arrays[f"up.{f.name}"] for f in fields(QueryArcs)})
    down = up
    if found["sides"] == 2:
        down = QueryArcs(**{f.name: arrays[f"down.{f.name}"] for f in fields(QueryArcs)})
    metric = Metric(arrays["metric.weights"], up, down, found["sides"])
    if tree.n_vertices != graph.n_vertices:
        raise GraphError(f"a tree of {tree.n_vertices} vertices for {graph.n_vertices}")
    preparation = Preparation(
        tree, arcs, Figures(**found["figures"]), found["method"], arcs_view(tree, arcs)
    )
    made = Prepared(graph, preparation, metric, found["perfect"])
    _ = made.metric_view  # checks the sizes of the arrays against each other
    return made
