"""Distances within each graph of a batch, by one search per vertex of the largest graph.

The graphs of a batch are disconnected parts of one graph, so one search can start in all of them at
once. An additional vertex ``n + i`` has edges to the ``i``-th vertex of every graph; the distances
from it are row ``i`` of every graph's matrix. Each search scans only vertices that it needs, and a
GPU works on all graphs at every step.
"""

from __future__ import annotations

import importlib
from typing import Any, Unpack

import numpy as np

from nearfar.errors import GraphError, OptionError, quoted
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.given import as_numpy
from nearfar.graph.graph import Graph
from nearfar.graph.libraries import detached
from nearfar.options import Device, check_limit
from nearfar.solve.many import distances
from nearfar.solve.option_types import MethodOptions
from nearfar.system.devices import runtime


def shortest_path_distances(
    edge_index: Any,
    batch: Any = None,
    edge_weight: Any = None,
    *,
    num_nodes: int | None = None,
    max_num_nodes: int | None = None,
    batch_size: int | None = None,
    unreached: float | None = None,
    limit: float | None = None,
    method: str = "auto",
    device: Device = "auto",
    threads: int | None = None,
    **options: Unpack[MethodOptions],
) -> Any:
    """Return the distances between all vertices of each graph of a batch, in one tensor.

    The arguments have the names of PyTorch Geometric, and the result has the layout of
    ``torch_geometric.utils.to_dense_adj``.

    Parameters
    ----------
    edge_index : integer tensor or array, shape (2, m)
        Sources and targets of directed edges; an undirected edge needs both directions. Tensors and
        arrays on a GPU stay on that GPU.
    batch : integer tensor or array, shape (n,), or None
        Graph of each vertex in ascending order, as ``data.batch``. None means a single graph.
    edge_weight : tensor or array, shape (m,) or (m, 1), or None
        Weights of the edges; None counts edges. Distances have no gradients.
    num_nodes : int or None
        Number of vertices of a single graph, as ``data.num_nodes``; None means the largest end plus
        one.
    max_num_nodes : int or None
        Rows and columns per graph; None means the number of vertices of the largest graph.
    batch_size : int or None
        Number of graphs; None means the last entry of ``batch`` plus one.
    unreached : number or None
        Value for pairs without a path and for padding of smaller graphs. None means -1 for integers
        and inf for floats.
    limit : number or None
        Inclusive limit; pairs with longer distances are unreached.
    method, device, threads, **options
        As for :func:`nearfar.distances`.

    Returns
    -------
    tensor or array, shape (batch_size, max_num_nodes, max_num_nodes)
        Distances, where entry (b, i, j) is that from the i-th to the j-th vertex of graph b. The
        dtype is that of the weights, or int32 without weights; library and device are those of
        ``edge_index``.

    Raises
    ------
    GraphError
        If an edge joins two graphs, ``batch`` is not ascending, or an argument has a wrong shape.
    OptionError
        If a graph has more than ``max_num_nodes`` vertices, or ``unreached`` does not fit.
    NegativeCycleError
        If a graph has a cycle of negative weight.

    Notes
    -----
    The number of searches over the whole batch is that of the vertices of the largest graph; time
    and memory are proportional to the result.

    Examples
    --------
    >>> import numpy as np
    >>> from nearfar.torch import shortest_path_distances
    >>> two_paths = np.array([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
    >>> shortest_path_distances(two_paths, batch=np.array([0, 0, 0, 1, 1]))
    array([[[ 0,  1,  2],
            [ 1,  0,  1],
            [ 2,  1,  0]],
    <BLANKLINE>
           [[ 0,  1, -1],
            [ 1,  0, -1],
            [-1, -1, -1]]], dtype=int32)
    """
    given = detached(edge_index)
    on_gpu = runtime.is_device_array(given)
    xp: Any = runtime.cupy() if on_gpu else np
    ends = _array(given, on_gpu, "edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise GraphError(f"edge_index has shape {ends.shape}: give (2, number of edges)")
    member = _members(xp, ends, batch, num_nodes, on_gpu)
    weights = (
        None if edge_weight is None else _array(edge_weight, on_gpu, "edge_weight").reshape(-1)
    )
    n, k = len(member), int(member[-1]) + 1 if len(member) else 0
    k = _at_least(batch_size, k, "batch_size")
    sizes = xp.bincount(member, minlength=k) if n else xp.zeros(k, dtype=np.int64)
    most = int(sizes.max()) if k else 0
    width = _at_least(max_num_nodes, most, "max_num_nodes")
    place = xp.arange(n) - (xp.cumsum(sizes) - sizes)[member] if n else member
    graph = _with_beginnings(xp, ends, weights, member, place, most)
    step = 0 if weights is not None else 1  # weight of the edges from additional vertices
    limit = check_limit(limit, graph.weight_dtype)
    found = distances(
        graph,
        xp.arange(n, n + most),
        limit=None if limit is None else limit + step,
        method=method,
        device=device,
        threads=threads,
        **options,
    )
    kind = np.dtype(found.dtype)
    blank = _blank(unreached, kind, graph)
    rows = found[:, :n].T
    rows = xp.where(rows == unreached_value(kind), blank, rows - kind.type(step) if step else rows)
    made = xp.full((k, width, width), blank, dtype=kind)
    made[member, place, :most] = rows.astype(kind, copy=False)
    made = xp.ascontiguousarray(made.swapaxes(1, 2))
    if type(edge_index).__module__.partition(".")[0] == "torch":
        return importlib.import_module("torch").from_dlpack(made)
    return made


def _array(given: Any, on_gpu: bool, what: str) -> Any:
    """Convert to a CuPy array if ``on_gpu``, otherwise to a NumPy array."""
    given = detached(given)
    return runtime.upload(given) if on_gpu else as_numpy(given, what)


def _members(xp: Any, ends: Any, batch: Any, num_nodes: int | None, on_gpu: bool) -> Any:
    """Check ``batch``, and return the graph of each vertex."""
    largest = int(ends.max()) if ends.size else -1
    if batch is None:
        return xp.zeros(_at_least(num_nodes, largest + 1, "num_nodes"), dtype=np.int64)
    member = _array(batch, on_gpu, "batch")
    if member.ndim != 1 or member.dtype.kind not in "iu":
        raise GraphError(f"batch has shape {member.shape} and dtype {member.dtype}: give one graph "
                         "number per vertex")  # fmt: skip
    if num_nodes is not None and num_nodes != len(member):
        raise GraphError(f"num_nodes is {num_nodes}, but batch has {len(member)} vertices")
    if ends.size and not 0 <= int(ends.min()) <= largest < len(member):
        raise GraphError(f"edge_index has ends outside 0 to {len(member) - 1}, the last of batch")
    if len(member) and (int(member[0]) < 0 or bool((member[1:] < member[:-1]).any())):
        raise GraphError("batch is not ascending from 0: give the vertices graph by graph")
    apart = member[ends[0]] != member[ends[1]]
    if bool(apart.any()):
        at = int(apart.argmax())
        one, other = (int(member[ends[side, at]]) for side in (0, 1))
        raise GraphError(f"edge {at} joins graph {one} and graph {other} of the batch")
    return member


def _with_beginnings(xp: Any, ends: Any, weights: Any, member: Any, place: Any, most: int) -> Graph:
    """Return the batch as one graph with a vertex n + i that leads to the i-th of each graph."""
    n = len(member)
    tails = xp.concatenate((ends[0].astype(np.int64, copy=False), n + place))
    heads = xp.concatenate((ends[1].astype(np.int64, copy=False), xp.arange(n)))
    if weights is not None:
        if weights.shape != ends[0].shape:
            raise GraphError(f"{len(weights)} weights for {ends.shape[1]} edges: give one per edge")
        weights = xp.concatenate((weights, xp.zeros(n, dtype=weights.dtype)))
    pairs = xp.stack((tails, heads))
    return Graph.from_edge_index(pairs, weights, n_vertices=n + most)


def _at_least(wanted: int | None, needed: int, what: str) -> int:
    """Return the given size after checking that it suffices, or the needed size."""
    if wanted is None:
        return needed
    if not isinstance(wanted, (int, np.integer)) or wanted < needed:
        raise OptionError(f"{what} is {quoted(wanted)}: give at least {needed}, or None")
    return int(wanted)


def _blank(unreached: float | None, kind: np.dtype[Any], graph: Graph) -> Any:
    """Return the value for unreached pairs, in the dtype of the distances."""
    if unreached is None:
        if kind.kind == "f":
            return kind.type(np.inf)
        if graph.n_negative:
            raise OptionError("-1 may be a distance with these weights: give unreached=")
        return kind.type(-1)
    if isinstance(unreached, bool) or not isinstance(unreached, (int, float, np.number)):
        raise OptionError(f"unreached is {quoted(unreached)}: give a number")
    if kind.kind == "f":
        return kind.type(unreached)
    bounds = np.iinfo(kind)
    whole = float(unreached).is_integer()  # neither NaN nor infinite
    if not whole or not bounds.min <= unreached <= bounds.max:
        raise OptionError(f"unreached is {quoted(unreached)}, but distances are {kind}")
    return kind.type(int(unreached))
