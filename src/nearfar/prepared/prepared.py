"""Prepared graph: a graph with an elimination order, its arcs and their weights."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar import _cpu
from nearfar.cpu.potentials import negative_cycle_error, potentials, refuse_negative_cycle
from nearfar.errors import (
    GraphError,
    NegativeCycleError,
    OptionError,
    does_not_fit,
    keyword,
    not_reached,
    quoted,
)
from nearfar.graph import build, on_device
from nearfar.graph.build import HostArrays, checked_weights
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.given import as_numpy, frozen
from nearfar.graph.graph import Graph
from nearfar.graph.saturation import may_saturate
from nearfar.graph.slots import Slot
from nearfar.graph.snapping.lines import edge_positions, tails_of
from nearfar.options import canonical_device, check_kind
from nearfar.prepared.cpu.labels import (
    TreeLabels,
    label_bytes,
    many_pair_distances,
    read_labels,
    tree_labels,
)
from nearfar.prepared.cpu.pairs import (
    PairPaths,
    edges_of_path,
    pair_distances,
    pair_indices,
    pair_paths,
    simple_paths,
)
from nearfar.prepared.cuda.metric.arcs import DeviceArcs, device_arcs, share_arcs
from nearfar.prepared.cuda.metric.customize import customized_on_device
from nearfar.prepared.cuda.metric.metric import DeviceMetric
from nearfar.prepared.cuda.pairs.pairs import (
    DeviceLabels,
    device_indices,
    device_labels,
    device_pair_distances,
)
from nearfar.prepared.cuda.pairs.paths import device_paths
from nearfar.prepared.files.file import write_arrays
from nearfar.prepared.files.stored import kept_arrays, kept_values
from nearfar.prepared.metric.arc_weights import Metric, customized, renewed
from nearfar.prepared.metric.fixed_point import FixedPoint, fixed_point
from nearfar.prepared.order.tree import Preparation
from nearfar.prepared.scenario import Scenario, changes_of, without_edges
from nearfar.system.devices import runtime
from nearfar.system.threads import check_threads, default_threads

Sums = Literal["fixed", "search"]

_OTHER_DTYPE: Slot[Prepared] = Slot("prepared in another dtype")
_HOPS: Slot[Prepared] = Slot("prepared without weights")
_SEARCH: Slot[Prepared] = Slot("prepared for the sums of a search")
#: Bound of sums of negative weights; twice this value means "no path" on an arc.
_MOST_SIGNED = 2.0**60


class Prepared(Graph):
    """Graph that answers queries from an elimination tree instead of searching.

    :func:`nearfar.prepare` returns it. It is a :class:`Graph` and can be used as one; its own
    methods answer point queries in microseconds. Like a graph it never changes: :meth:`reweight`
    and :meth:`update` return a new one that shares order and arcs.

    Attributes
    ----------
    preparation : Preparation
        Order, elimination tree and arcs.
    metric : Metric or DeviceMetric
        Weights of the arcs.
    fixed : FixedPoint or None
        Float weights as the integers that arcs add; None for integers, and for floats that are
        added in the order of a search.
    perfect : bool
        Whether queries omit arcs that no shortest path needs.
    seconds : dict of str to float
        Seconds of each step of preparing.
    n_updated : int
        Number of vertices whose arcs :meth:`update` recomputed.
    """

    # ---- making --------------------------------------------------------------------------------

    def __init__(
        self,
        graph: Graph,
        preparation: Preparation,
        metric: Metric | DeviceMetric,
        perfect: bool,
        seconds: dict[str, float] | None = None,
        fixed: FixedPoint | None = None,
    ) -> None:
        # The graph's arrays were checked when it was made.
        # Arcs with two sides: some edge and its reverse have different weights.
        directed = graph.directed or metric.sides == 2
        self._fill_like(graph, graph._arrays, on_device=graph.on_device, directed=directed)
        self.preparation, self.metric, self.perfect = preparation, metric, perfect
        self.seconds = dict(seconds or {})
        self.fixed = fixed
        self.n_updated = 0

    @property
    def summed(self) -> Graph:
        """Graph whose weights the arcs add: in fixed point, or the graph itself."""
        if self.fixed is not None:
            return self.fixed.graph
        return self.without_weights() if self.beyond_arcs else self

    @property
    def adds_floats(self) -> bool:
        """Whether answers are sums of a search, from left to right."""
        return self.fixed is None and self.weight_dtype.kind == "f"

    @property
    def answer_dtype(self) -> np.dtype[Any]:
        """Dtype in which distances are computed: 64 bits for integers if some are negative."""
        signed = self.weight_dtype.kind == "i" and self.n_negative > 0
        return np.dtype(np.int64) if signed else self.weight_dtype

    @cached_property
    def beyond_arcs(self) -> bool:
        """Whether negative weights may exceed the range of arcs, so that searches answer."""
        return _beyond_arcs(self)

    def summing(self, sums: str) -> Prepared:
        """Return the same graph with the requested kind of float sums.

        Parameters
        ----------
        sums : {"fixed", "search"}

        Returns
        -------
        Prepared
            The graph itself if its sums are the requested ones, as for integers.

        Raises
        ------
        OptionError
            For another value.
        """
        if sums not in ("fixed", "search"):
            raise OptionError(f"sums is {quoted(sums)}: use 'fixed' or 'search'")
        if sums == "fixed" or self.fixed is None:
            return self

        def make() -> Prepared:
            threads = default_threads()
            return weighed(self, self.preparation, self.perfect, threads, sums="search")

        return _SEARCH.of(self, make)

    @property
    def nbytes(self) -> int:
        """Bytes of the graph's arrays and the prepared data, including data for paths if built."""
        return sum(self.parts().values())

    def parts(self) -> dict[str, int]:
        """Return the bytes of each part.

        Returns
        -------
        dict of str to int
            ``graph``, its arrays; ``tree``; ``arcs``, without weights; ``edges``, the arcs of each
            edge; ``metric``, the weights of the arcs and the arcs that queries follow;
            ``origins``, the data for unpacking paths, 0 until the first path; ``fixed``, the
            edges' weights in fixed point.

        Notes
        -----
        With w bytes per weight: 12 per arc and w per direction, and 4 + w per direction and arc
        that queries follow. 56 to 64 per vertex, 8 per edge.
        """
        arcs, made = self.preparation.arcs, self.__dict__.get("_origins")
        metric, up = self.metric.nbytes, self.metric.up
        # queries follow all arcs, in the same arrays
        if up.head_depth.ctypes.data == arcs.head_depth.ctypes.data:
            metric -= up.first.nbytes + up.head_depth.nbytes
        edges = arcs.edge_first.nbytes + arcs.edge.nbytes + arcs.edge_place.nbytes
        return {
            "graph": super().nbytes,
            "tree": self.preparation.tree.nbytes,
            "arcs": arcs.nbytes - edges,
            "edges": edges,
            "metric": metric,
            "origins": 0 if made is None else made.nbytes,
            "fixed": 0 if self.fixed is None else self.summed.effective_weights.nbytes,
        }

    def describe_preparation(self) -> dict[str, Any]:
        """Describe the preparation as plain data.

        Returns
        -------
        dict
            ``order`` (the method), the :class:`Figures` of the structure, ``n_query_arcs`` (arcs
            that queries follow up and down), ``perfect``, ``nbytes`` by part, and ``sums``:
            ``"integers"``; ``"fixed point"`` with the ``step`` that float weights are rounded to,
            and whether they are ``exact`` multiples of it; or ``"search"``, from left to right, for
            floats whose range is too wide or that are negative and not multiples of one step, and
            for negative integers that may add up to more than 2**60.
        """
        figures = asdict(self.preparation.figures)
        return {
            "order": self.preparation.method,
            **{name: figures[name] for name in ("n_arcs", "n_triangles", "height")},
            "n_shortcuts": self.preparation.figures.n_shortcuts,
            "n_query_arcs": (len(self.metric.up.weight), len(self.metric.down.weight)),
            "perfect": self.perfect,
            "nbytes": self.parts(),
            **self._sums(),
        }

    def _sums(self) -> dict[str, Any]:
        if self.fixed is not None:
            return {"sums": "fixed point", "step": self.fixed.step, "exact": self.fixed.exact}
        return {"sums": "search" if self.adds_floats or self.beyond_arcs else "integers"}

    @cached_property
    def metric_view(self) -> Any:
        """Typed pointers of the C++ module into the arrays that queries read."""
        m = self.metric
        return _cpu.PreparedMetric(
            self.preparation.view,
            m.weights,
            m.sides,
            self.summed.n_negative == 0,
            *m.up,
            *m.down,
            1.0 if self.fixed is None else self.fixed.step,
        )

    @cached_property
    def _walks(self) -> Any:
        """View of the C++ module for point queries; long rows are copied on first use."""
        return _cpu.PreparedWalks(self.metric_view)

    @cached_property
    def _origins(self) -> NDArray[np.int32]:
        """Origin of the weight of each arc, for unpacking; 8 bytes per weight."""
        found = np.empty(2 * len(self.metric.weights), dtype=np.int32)
        weights = self.summed.effective_weights
        _cpu.prepared_origins(self.metric_view, weights, found, default_threads())
        return found

    def reweight(
        self,
        weights: ArrayLike | None,
        threads: int | None = None,
        *,
        perfect: bool | None = None,
        unit: str | None = None,
    ) -> Prepared:
        """Return a graph with the same order and arcs for other weights of the edges.

        Parameters
        ----------
        weights : array, shape (m,), or None
            One weight per edge, in the order of ``indices``; None means that every edge counts 1.
            Weights on a CUDA device are customized on it, and the result consists of device arrays.
        threads : int or None
            None uses all cores.
        perfect : bool or None
            As for :func:`nearfar.prepare`; None keeps the setting of this graph. False takes a
            third of the time and makes queries slower.
        unit : str or None
            Unit of the new weights, as for :meth:`nearfar.Graph.with_weights`.

        Returns
        -------
        Prepared

        Raises
        ------
        GraphError
            If there is not one weight per edge, or one is not finite; if float weights on a device
            are negative, which only the host customizes.
        NegativeCycleError
            If the weights have a negative cycle.
        OutOfMemoryError
            If the device lacks memory, before anything is allocated.

        Notes
        -----
        O(triangles), spread over the cores: milliseconds for a city.
        """
        perfect = self.perfect if perfect is None else bool(perfect)
        if runtime.is_device_array(weights):
            return self._reweighted_there([weights], perfect, unit)[0]
        given = None if weights is None else as_numpy(weights, "weights")
        arrays = build.validate(self.indptr, self.indices, given)
        graph = Graph.from_checked(arrays, **self._metadata_with(unit))
        return weighed(graph, self.preparation, perfect, check_threads(threads))

    def reweight_each(
        self,
        weights: ArrayLike,
        threads: int | None = None,
        *,
        perfect: bool | None = None,
        unit: str | None = None,
    ) -> list[Prepared]:
        """Return prepared graphs for several metrics, such as one per hour of the day.

        Parameters
        ----------
        weights : array, shape (k, m)
            One row per metric. On a CUDA device all are customized at once.
        threads, perfect, unit
            As for :meth:`reweight`.

        Returns
        -------
        list of Prepared
            One per row.

        Raises
        ------
        GraphError, NegativeCycleError, OutOfMemoryError
            As :meth:`reweight`, or if there are no rows.
        """
        there = runtime.is_device_array(weights)
        rows: Any = runtime.upload(weights) if there else as_numpy(weights, "weights")
        if rows.ndim != 2:
            raise GraphError(f"weights has shape {rows.shape}: give one row per metric")
        if there and len(rows):
            perfect = self.perfect if perfect is None else bool(perfect)
            return self._reweighted_there(list(rows), perfect, unit)
        return [self.reweight(row, threads, perfect=perfect, unit=unit) for row in rows]

    def _reweighted_there(
        self, weights: list[Any], perfect: bool, unit: str | None
    ) -> list[Prepared]:
        structure = device_arcs(self, self.preparation)
        besides = self._metadata_with(unit)
        graphs = [
            Graph.from_checked(
                on_device.validate(structure.indptr, structure.indices, one, copy=False), **besides
            )
            for one in weights
        ]
        return weighed_on_device(graphs, structure, perfect, {})

    def update(
        self,
        edges: ArrayLike,
        weights: ArrayLike,
        threads: int | None = None,
        *,
        perfect: bool | None = None,
    ) -> Prepared:
        """Return a graph with the same order and arcs after some edges changed their weight.

        Parameters
        ----------
        edges : int array, shape (k,)
            Positions of the edges.
        weights : array, shape (k,)
            New weights, which must fit the dtype of the weights. For a repeated edge the
            last one counts.
        threads, perfect
            As for :meth:`reweight`. ``perfect=False`` suits a sequence of changes.

        Returns
        -------
        Prepared

        Raises
        ------
        GraphError
            If an edge does not exist or a weight does not fit the dtype.
        NegativeCycleError
            If the weights have a negative cycle.

        Notes
        -----
        Only arcs above a changed edge whose weights change with it are recomputed; pruning is
        repeated for all arcs. Float weights keep the step of their fixed point as long as the new
        ones fit it, where :meth:`reweight` may choose a finer one.
        """
        at, changed = changed_weights(self, edges, weights)
        graph = self._with_arrays(
            HostArrays(self.indptr, self.indices, *checked_weights(frozen(changed), self.n_edges))
        )
        label = self.preparation.tree.label
        low = np.minimum(label[tails_of(self, at)], label[self.indices[at]])
        perfect = self.perfect if perfect is None else bool(perfect)
        began, workers = time.perf_counter(), check_threads(threads)
        fixed = None if self.fixed is None else self.fixed.with_changes(graph, np.unique(at))
        if (fixed is None and graph.weight_dtype.kind == "f") or self.beyond_arcs:
            # A different step, or none: the weights of all arcs change.
            made = weighed(graph, self.preparation, perfect, workers)
            made.n_updated = self.n_vertices
            return made
        made = self._renewed(graph, self.preparation, fixed, low, perfect, workers, began)
        _refuse_negative_cycle(made)
        return made

    def _renewed(
        self,
        graph: Graph,
        preparation: Preparation,
        fixed: FixedPoint | None,
        low: NDArray[Any],
        perfect: bool,
        workers: int,
        began: float,
    ) -> Prepared:
        """Return a changed graph after renewing the arcs above the lower ends of changed edges."""
        metric, count = renewed(
            preparation.view,
            self.metric.on_host(),
            graph if fixed is None else fixed.graph,
            np.unique(low).astype(np.int32),
            perfect,
            workers,
        )
        seconds = {"update": time.perf_counter() - began}
        made = Prepared(graph, preparation, metric, perfect, seconds, fixed)
        made.n_updated = count
        return made

    def without_edges(
        self, edges: ArrayLike, threads: int | None = None, *, perfect: bool | None = None
    ) -> Prepared:
        """Close edges, so that no path takes them, with the same order and arcs.

        Parameters
        ----------
        edges : int array, shape (k,)
            Positions in ``indices``, as ``edges_between`` finds them.
        threads, perfect
            As for :meth:`reweight`.

        Returns
        -------
        Prepared
            A closed edge is a self-loop in it; see :meth:`nearfar.Graph.without_edges`.

        Raises
        ------
        GraphError
            If an edge does not exist.

        Notes
        -----
        O(n + m), and for integers the arcs above the edges; float weights are customized as by
        :meth:`reweight`.
        """
        closed, workers = edge_positions(self, edges), check_threads(threads)
        perfect = self.perfect if perfect is None else bool(perfect)
        if not len(closed):
            return self
        began = time.perf_counter()
        graph, preparation, low = without_edges(self, closed)
        if self.weight_dtype.kind == "f" or self.beyond_arcs:
            return weighed(graph, preparation, perfect, workers)
        return self._renewed(graph, preparation, None, low, perfect, workers, began)

    def scenario(
        self,
        *,
        closed: ArrayLike = (),
        factor: Mapping[Any, float] | Sequence[tuple[Any, float]] = (),
        threads: int | None = None,
        perfect: bool = False,
    ) -> Scenario:
        """Return the graph together with a copy in which streets are closed, slower or faster.

        Parameters
        ----------
        closed : int array
            Positions of edges that no path takes.
        factor : mapping or list of (edges, number)
            Factors of the weights of some edges: ``{edge: 1.3}``, ``{(edge, edge): 1.3}`` or
            ``[(edges, 1.3)]``. Integer weights are rounded.
        threads, perfect
            As for :meth:`reweight`, for the changed graph.

        Returns
        -------
        Scenario
            ``base`` and ``changed``; :func:`nearfar.table` answers for both.

        Raises
        ------
        GraphError
            If an edge does not exist, or a factor is not a number of at least 0.

        Examples
        --------
        >>> import nearfar
        >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> p = nearfar.prepare(g)
        >>> without = p.scenario(closed=g.edges_between(1, 2), factor={2: 1.5})
        >>> without.base.distance(0, 2), without.changed.distance(0, 2)
        (7, 14)
        """
        shut = edge_positions(self, np.asarray(closed, np.int64) if not len(np.atleast_1d(closed))
                              else closed)  # fmt: skip
        edges, weights = changes_of(self, factor)
        made = self
        if len(edges):
            made = made.update(edges, weights, threads, perfect=perfect and not len(shut))
        if len(shut):
            made = made.without_edges(shut, threads, perfect=perfect)
        return Scenario(self, made, shut, edges)

    def astype(self, dtype: Any) -> Prepared:
        """Return the prepared graph with weights of another dtype, cached per dtype.

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
            lambda: weighed(other, self.preparation, self.perfect, default_threads()),
            np.dtype(dtype).name,
        )

    def _facts(self) -> list[tuple[str, object]]:
        return [
            *super()._facts(),
            ("arcs", f"{self.preparation.arcs.n_arcs:,}"),
            ("prepared in", f"{sum(self.seconds.values()):.3g} s"),
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        plain = super().__reduce__()
        return _restored, (plain, self.preparation, self.metric, self.perfect, self.fixed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the prepared graph to a file that :func:`nearfar.load` maps into memory.

        Parameters
        ----------
        path : str or path
            Ends in ``.nfp``. The file is written atomically.

        Raises
        ------
        OptionError
            For another suffix.
        OSError
            If the file cannot be written.
        """
        write_arrays(path, kept_values(self), kept_arrays(self))

    # ---- queries -------------------------------------------------------------------------------

    def distance(self, source: Any, target: Any, *, sums: Sums = "fixed") -> Any:
        """Return the distance between two vertices by two walks up the elimination tree.

        Parameters
        ----------
        source, target : int or vertex name
        sums : {"fixed", "search"}
            ``"fixed"`` adds floats in fixed point and rounds once: the same bits on every device.
            ``"search"`` adds from left to right, as searches do, which takes longer. Integers are
            exact either way.

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
        """
        begin, end = self.index_of(source, "source"), self.index_of(target, "target")
        summed = self if sums == "fixed" else self.summing(sums)
        if summed._walks_alone:
            number = _cpu.prepared_distance(summed._walks, begin, end, summed._no_distance)
            if number is not None:
                return number
        found = pair_distances(summed, np.array([begin]), np.array([end]), 1)[0]
        return float("inf") if found == unreached_value(found.dtype) else found.item()

    def path(self, source: Any, target: Any) -> tuple[list[Any], Any]:
        """Return a shortest path and its length.

        Parameters
        ----------
        source, target : int or vertex name

        Returns
        -------
        path : list
            External names of the vertices, source first. Of several shortest paths always the same
            one, which may differ from that of a search.
        length : int or float
            In units of the weights.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        UnreachableError
            If there is no path.
        """
        begin, end = self.index_of(source, "source"), self.index_of(target, "target")
        if self._walks_alone and self.min_weight > 0:
            origins, heads, like = self._origins, self.indices, self._no_distance
            found: Any = _cpu.prepared_path(self._walks, origins, begin, end, heads, like)
            if found is not None and found[2] is not None:
                named = found[1] if self.vertex_names is None else self.name_of(found[1])
                return named.tolist(), found[2]
        edges = self.path_edges(source, target)
        steps = np.empty(len(edges) + 1, dtype=np.int64)
        steps[0] = begin
        steps[1:] = self.indices[edges]
        return self.name_of(steps).tolist(), self.lengths(edges)[-1]

    def lengths(self, edges: NDArray[Any]) -> list[Any]:
        """Return the distance from the source of every vertex of a path.

        Parameters
        ----------
        edges : int array, shape (k,)
            As of :meth:`path_edges`.

        Returns
        -------
        list of int or float, length k + 1
            The first is 0, for the source. Integers do not overflow.

        Raises
        ------
        DistanceOverflowError
            If a sum of floats does not fit 64 bits.
        """
        graph = self if self.beyond_arcs else self.summed
        weights = graph.effective_weights[edges]
        if weights.dtype.kind == "f":
            with np.errstate(over="ignore"):
                found = np.append([0.0], np.cumsum(weights, dtype=weights.dtype))
                if not np.isfinite(found).all():
                    found = np.append([0.0], np.cumsum(weights, dtype=np.float64))
            if not np.isfinite(found).all():
                raise does_not_fit("float64", "a path")
            return list(found.tolist())
        if self.fixed is None and weights.dtype.itemsize == 8 and self._may_saturate:
            return [0, *itertools.accumulate(weights.tolist())]
        steps = np.append([0], np.cumsum(weights, dtype=np.int64))
        if self.fixed is not None:
            return list(self.fixed.distances(steps, self.weight_dtype).tolist())
        return list(steps.tolist())

    def path_edges(self, source: Any, target: Any) -> NDArray[np.int32]:
        """Return the edges of a shortest path.

        Parameters
        ----------
        source, target : int or vertex name

        Returns
        -------
        int32 array
            Positions in :attr:`indices`, from the source on; of parallel edges the first of the
            lightest. Empty if source and target are the same.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        UnreachableError
            If there is no path.
        """
        begin, end = self.index_of(source, "source"), self.index_of(target, "target")
        found = edges_of_path(self, begin, end)
        if found is None:
            raise not_reached(source, target)
        return found

    def distances_of_pairs(
        self,
        pairs: Any,
        threads: int | None = None,
        *,
        sums: Sums = "fixed",
        device: Literal["auto", "cpu", "cuda"] = "auto",
        devices: Any = None,
        memory: int | None = None,
        stats: dict[str, Any] | None = None,
    ) -> Any:
        """Return the distances of many pairs, by walks or by labels, on all cores or on GPUs.

        Parameters
        ----------
        pairs : list of (source, target), or int array of shape (k, 2)
            On the host or on a CUDA device.
        threads : int or None
            None uses all cores.
        sums : {"fixed", "search"}
            As for :meth:`distance`. The sums of a search are computed on the CPU.
        device : {"auto", "cpu", "cuda"}
            ``"auto"`` is that of ``pairs``.
        devices : "all", list of int or None
            CUDA devices that share the pairs; None is the current one.
        memory : int or None
            Host memory for labels (``label_bytes``), 0 for none; None is a quarter of the free
            memory. Where all labels do not fit, compact ones are tried.
        stats : dict or None
            Filled on the CPU with ``pairs_by``, which is ``"walks"`` or ``"labels"``, and for
            labels with ``label_bytes`` and ``label_seconds``.

        Returns
        -------
        array, shape (k,)
            Dtype of the weights, 64 bits where a 32-bit sum does not fit; no path is inf or the
            maximum of an integer dtype. A CuPy array where ``pairs`` are on a device and
            ``device`` is not ``"cpu"``.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        OptionError
            If ``pairs`` has another shape, or a device does not exist.

        Notes
        -----
        Labels are built for this call if there are at least a quarter as many pairs as vertices;
        :meth:`label` builds them for several calls.
        """
        check_kind("distances_of_pairs", "memory", memory, "int | None")
        if device != "cpu" and (devices is not None or _is_cuda(device, pairs)):
            return device_pair_distances(self.summing(sums), pairs, check_threads(threads), devices)
        if devices is not None:
            raise OptionError(
                f"{keyword('devices')} requires {keyword('device', 'cuda')}, not 'cpu'"
            )
        starts, ends = pair_indices(self, pairs)
        summed, workers = self.summing(sums), check_threads(threads)
        return many_pair_distances(summed, starts, ends, workers, memory, stats)

    def paths_of_pairs(
        self,
        pairs: Any,
        threads: int | None = None,
        *,
        device: Literal["auto", "cpu", "cuda"] = "auto",
    ) -> PairPaths:
        """Return a shortest path for each of many pairs, on all cores or on a GPU.

        Parameters
        ----------
        pairs, threads, device
            As for :meth:`distances_of_pairs`. Paths by the sums of a search, and of integers whose
            sums may not fit 64 bits, are computed on the CPU.

        Returns
        -------
        PairPaths
            ``(offsets, edges, reached)``; the paths of :meth:`path_edges`. CuPy arrays if
            ``pairs`` are on a device and ``device`` is not ``"cpu"``.

        Raises
        ------
        VertexError
            If one of them is not a vertex.
        OptionError
            If ``pairs`` has another shape.
        OutOfMemoryError
            If the device lacks memory, before anything is allocated.

        Notes
        -----
        A walk per pair, then O(1) to O(height) per edge of a path. The first call on a GPU uploads
        12 bytes per arc and direction.

        Examples
        --------
        >>> import nearfar
        >>> g = nearfar.Graph.from_edges([0, 1, 0], [1, 2, 2], [4, 3, 9])
        >>> found = nearfar.prepare(g).paths_of_pairs([(0, 2), (2, 0), (1, 2)])
        >>> g.indices[found.edges].tolist(), found.offsets.tolist()
        ([1, 2, 2], [0, 2, 2, 3])
        """
        there = _is_cuda(device, pairs)
        stay = there and runtime.is_device_array(pairs)
        fitting = None if self.adds_floats or self.beyond_arcs else self.fitting()
        if there and fitting is not None:
            sources, targets = device_indices(self, pairs)
            found = PairPaths(*device_paths(fitting, sources, targets))
            if stay and self.summed.min_weight > 0:
                return found
            found = PairPaths(*(runtime.download(part) for part in found))
            found = simple_paths(self, runtime.download(sources), found)
        else:
            starts, ends = pair_indices(self, pairs)
            found = pair_paths(self, starts, ends, check_threads(threads))
        return PairPaths(*(runtime.upload(part) for part in found)) if stay else found

    @overload
    def label(
        self,
        memory: int | None = ...,
        threads: int | None = ...,
        *,
        device: Literal["cpu"] = ...,
        compact: int = ...,
    ) -> TreeLabels: ...

    @overload
    def label(
        self, memory: int | None = ..., threads: int | None = ..., *, device: Literal["cuda"]
    ) -> DeviceLabels: ...

    def label(
        self,
        memory: int | None = None,
        threads: int | None = None,
        *,
        device: Literal["cpu", "cuda"] = "cpu",
        compact: int = 0,
    ) -> TreeLabels | DeviceLabels:
        """Store the search space of every vertex, for many point queries.

        Parameters
        ----------
        memory : int or None
            Memory that the labels may take; None means the free memory.
        threads : int or None
            None uses all cores.
        device : {"cpu", "cuda"}
            Device of the labels.
        compact : int
            Omit the labels of vertices with at most this many vertices in their subtree of the
            elimination tree, themselves included; their values are computed for each pair. On roads
            16 takes a sixth of the memory, 64 a twelfth and 256 less than a twentieth.

        Returns
        -------
        TreeLabels or DeviceLabels

        Raises
        ------
        OutOfMemoryError
            If the labels take more, before anything is allocated.

        Notes
        -----
        One value per vertex and ancestor in the elimination tree, in each direction unless both
        are the same: :attr:`label_bytes`.
        """
        if _is_cuda(device, None):
            if compact:
                raise OptionError(
                    f"{keyword('compact')} requires {keyword('device', 'cpu')}, not 'cuda'"
                )
            return device_labels(self, memory)
        return tree_labels(self, memory, threads, compact)

    def read_labels(self, path: str | os.PathLike[str], *, check: bool = True) -> TreeLabels:
        """Return labels from a file; their rows stay in it and are mapped into memory.

        Parameters
        ----------
        path : str or path
            File written by :meth:`TreeLabels.save` from labels of this graph and order.
        check : bool
            Compare the checksums, which reads the whole file. Without it damaged rows are not
            detected and give wrong distances.

        Returns
        -------
        TreeLabels

        Raises
        ------
        GraphFormatError
            If it is not such a file, damaged, or of another graph, order or other weights.
        OptionError
            If the name does not end in ``.nfp``.
        OSError
            If the file cannot be read.

        Notes
        -----
        O(n) and a hash of the weights of all arcs.
        """
        return read_labels(self, path, check)

    @property
    def label_bytes(self) -> int:
        """Memory of the labels that :meth:`label` builds, in bytes."""
        return label_bytes(self)

    @cached_property
    def _no_distance(self) -> NDArray[Any]:
        """Empty array of distances, in the dtype of answers."""
        return np.empty(0, dtype=self.answer_dtype)

    @cached_property
    def _walks_alone(self) -> bool:
        """Whether walks find every distance that fits the dtype."""
        return not (self.beyond_arcs or self.adds_floats)

    @cached_property
    def _may_saturate(self) -> bool:
        """Whether a sum of weights may be too large for their dtype."""
        return may_saturate(self)

    def _wider(self) -> Prepared | None:
        """Return the graph in 64 bits if sums of its 32-bit weights may not fit, or None."""
        if self.weight_dtype.itemsize == 8 or not self._may_saturate:
            return None
        wide = self.astype(np.float64 if self.weight_dtype.kind == "f" else np.int64)
        return wide.summing("search") if self.adds_floats else wide

    def tight_form(self, sources: Any, rows: Any) -> tuple[Graph, Any]:
        """Return the graph and distances in the arithmetic in which shortest paths are tight.

        Parameters
        ----------
        sources : int or int array, shape (k,)
            Vertex indices.
        rows : array, shape (n,) or (k, n)
            Distances from each source, on the host or on a device.

        Returns
        -------
        graph : Graph
            Graph with weights in fixed point for rows that were computed in fixed point.
        rows : array
            Distances on the device of the given ones, in the dtype of the graph's weights.

        Notes
        -----
        Rows in fixed point are computed again, as integer steps.
        """
        if rows.dtype != self.weight_dtype:
            other = self.astype(rows.dtype)
            return other.tight_form(sources, rows) if other.fixed is not None else (other, rows)
        fixed = self.fixed
        if fixed is None or not rows.size:
            return self, rows
        there = runtime.is_device_array(rows)
        given = runtime.download(rows) if there else np.asarray(rows)
        starts = np.atleast_1d(np.asarray(sources, dtype=np.int64))
        steps = np.empty(given.shape, dtype=fixed.graph.weight_dtype)
        _cpu.prepared_distances(self.metric_view, starts, None, steps, 0, default_threads())
        reached = np.isfinite(given)
        if not np.array_equal(fixed.floats(steps, given.dtype)[reached], given[reached]):
            return self, rows  # rows of a search
        steps[~reached] = unreached_value(steps.dtype)
        return fixed.graph, runtime.upload(steps) if there else steps

    def fitting(self) -> Prepared | None:
        """Return the graph in a dtype that fits every sum of its weights, or None.

        Returns
        -------
        Prepared or None
            The graph itself, or a copy in 64 bits.
        """
        if not self._may_saturate:
            return self
        wide = self._wider()
        return None if wide is None or wide._may_saturate else wide

    def _hops(self) -> Prepared:
        """Return the same order and arcs with every edge counting 1."""
        return _HOPS.of(
            self,
            lambda: weighed(self.without_weights(), self.preparation, False, default_threads()),
        )


def weighed(
    graph: Graph,
    preparation: Preparation,
    perfect: bool,
    threads: int,
    seconds: dict[str, float] | None = None,
    sums: Sums = "fixed",
) -> Prepared:
    """Return the prepared graph after computing the weights of the arcs."""
    began = time.perf_counter()
    floats = graph.weight_dtype.kind == "f"
    fixed = fixed_point(graph, preparation) if floats and sums == "fixed" else None
    summed = graph if fixed is None else fixed.graph
    if _beyond_arcs(graph):
        summed = graph.without_weights()
    metric = customized(preparation.view, summed, perfect, threads)
    seconds = {**(seconds or {}), "customization": time.perf_counter() - began}
    made = Prepared(graph, preparation, metric, perfect, seconds, fixed)
    _refuse_negative_cycle(made)
    return made


def weighed_on_device(
    graphs: list[Graph], structure: DeviceArcs, perfect: bool, seconds: dict[str, float]
) -> list[Prepared]:
    """Customize graphs of one structure together on the current device."""
    for graph in graphs:
        if graph.n_negative and graph.weight_dtype.kind == "f":
            raise GraphError(
                f"edge {graph.first_negative} has a negative float weight, which only the CPU "
                f"customizes: give weights on the host, without {keyword('device', 'cuda')}"
            )
    began = time.perf_counter()
    floats = graphs[0].weight_dtype.kind == "f"
    preparation = structure.preparation
    fixed = [fixed_point(graph, preparation) if floats else None for graph in graphs]
    summed = [
        graph if steps is None else steps.graph for graph, steps in zip(graphs, fixed, strict=True)
    ]
    if len({graph.weight_dtype for graph in summed}) == 1:
        metrics = customized_on_device(structure, summed, perfect)
    else:
        metrics = [customized_on_device(structure, [graph], perfect)[0] for graph in summed]
    runtime.synchronize()
    seconds = {**seconds, "customization": time.perf_counter() - began}
    made = []
    for graph, steps, metric in zip(graphs, fixed, metrics, strict=True):
        one = Prepared(graph, preparation, metric, perfect, seconds, steps)
        share_arcs(one, structure)
        _refuse_negative_cycle(one)
        made.append(one)
    return made


def changed_weights(
    graph: Graph, edges: ArrayLike, weights: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the checked positions of edges, and all weights with the new ones in place."""
    at, new = np.atleast_1d(as_numpy(edges, "edges")), np.atleast_1d(as_numpy(weights, "weights"))
    if at.ndim != 1 or at.shape != new.shape or (at.size and at.dtype.kind not in "iu"):
        raise GraphError(
            f"edges has shape {at.shape} and dtype {at.dtype}, weights has shape {new.shape}: "
            "give one weight per edge position"
        )
    at, m = at.astype(np.int64), graph.n_edges
    if at.size and (at.min() < 0 or at.max() >= m):
        wrong = at[(at < 0) | (at >= m)][0]
        raise GraphError(f"edge {wrong} does not exist: the graph has {m} edges")
    if new.dtype.kind not in "fiub":
        raise GraphError(f"weights have dtype {new.dtype}: give numbers")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = new.astype(graph.weight_dtype)
    if cast.dtype.kind == "i" and not np.array_equal(cast, new):
        raise GraphError(f"the new weights do not fit {cast.dtype} exactly: use reweight")
    changed = graph.effective_weights.copy()
    changed[at] = cast
    return at, changed


def _refuse_negative_cycle(prepared: Prepared) -> None:
    """Raise an error if an arc and its reverse have a negative sum; any negative cycle has one."""
    if not prepared.n_negative:
        return
    if not prepared.adds_floats and not prepared.beyond_arcs:
        weights = prepared.summed.effective_weights
        loops = weights[prepared.tails() == prepared.indices]
        both = prepared.metric.weights.reshape(-1, prepared.metric.sides)
        if not (both[:, 0] + both[:, -1] < 0).any() and not (loops < 0).any():
            return
    # Names the cycle, and decides if sums of arcs may have been rounded or clamped.
    refuse_negative_cycle(prepared)
    if prepared.fixed is not None:
        try:
            potentials(prepared.summed)
        except NegativeCycleError as error:  # raised on integers, without names
            raise negative_cycle_error(prepared, error.cycle) from None


def _beyond_arcs(graph: Graph) -> bool:
    """Return whether negative integers may add up to more than arcs can hold."""
    if not graph.n_negative or graph.weight_dtype.kind != "i":
        return False
    heaviest = float(max(graph.max_weight, -graph.min_weight))
    if heaviest * graph.n_vertices < _MOST_SIGNED:
        return False
    return float(np.abs(graph.effective_weights.astype(np.float64)).sum()) >= _MOST_SIGNED


def _is_cuda(device: str, given: Any) -> bool:
    """Return whether to work on a GPU: by request, or because the given array is on it."""
    device = canonical_device(device)
    return device == "cuda" or (device == "auto" and runtime.is_device_array(given))


def _restored(
    plain: tuple[Any, ...],
    preparation: Preparation,
    metric: Metric | DeviceMetric,
    perfect: bool,
    fixed: FixedPoint | None,
) -> Prepared:
    make, arguments = plain
    graph = make(*arguments)
    return Prepared(graph, preparation, metric, perfect, fixed=fixed)
