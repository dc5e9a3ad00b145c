"""Slow and simple solvers with which every answer is compared.

Plain Python on NumPy scalars, so that float32 sums round as they do in the solvers; nothing here is
shared with the library.
"""

from __future__ import annotations

import hashlib
import heapq
from typing import Any

import numpy as np

from nearfar import Graph

_answers: dict[bytes, np.ndarray] = {}


def dijkstra(graph: Graph, source: int) -> np.ndarray:
    """Return the distances of a textbook lazy-heap Dijkstra, in the weights' dtype.

    They are computed once for all tests that use a graph of these arrays.
    """
    weights = graph.effective_weights
    key = hashlib.blake2b(f"{source} {weights.dtype} {graph.indices.dtype}".encode())
    for part in (graph.indptr, graph.indices, weights):
        key.update(np.ascontiguousarray(part))
    answer = _answers.get(key.digest())
    if answer is None:
        answer = _answers[key.digest()] = _dijkstra(graph, source)
    return answer.copy()


def _dijkstra(graph: Graph, source: int) -> np.ndarray:
    dtype = graph.weight_dtype
    exact = dtype.kind == "i"
    as_number = int if exact else dtype.type
    indptr, indices = graph.indptr.tolist(), graph.indices.tolist()
    weights = [as_number(w) for w in graph.effective_weights]
    distance: dict[int, Any] = {source: as_number(0)}
    heap = [(as_number(0), source)]
    settled = set()
    while heap:
        d, u = heapq.heappop(heap)
        if u in settled:
            continue
        settled.add(u)
        for e in range(indptr[u], indptr[u + 1]):
            v, through = indices[e], d + weights[e]
            if v not in distance or through < distance[v]:
                distance[v] = through
                heapq.heappush(heap, (through, v))
    return _as_array(graph, distance, dtype)


def bellman_ford(graph: Graph, source: int) -> np.ndarray | None:
    """Return distances by |V| - 1 rounds over all edges, or None for a reachable negative cycle."""
    dtype = graph.weight_dtype
    as_number = int if dtype.kind == "i" else dtype.type
    edges = [
        (u, int(graph.indices[e]), as_number(graph.effective_weights[e]))
        for u in range(graph.n_vertices)
        for e in range(graph.indptr[u], graph.indptr[u + 1])
    ]
    distance: dict[int, Any] = {source: as_number(0)}
    for _ in range(graph.n_vertices):
        changed = False
        for u, v, w in edges:
            if u in distance and (v not in distance or distance[u] + w < distance[v]):
                distance[v] = distance[u] + w
                changed = True
        if not changed:
            return _as_array(graph, distance, dtype)
    return None


def _as_array(graph: Graph, distance: dict[int, Any], dtype: np.dtype) -> np.ndarray:
    exact = dtype.kind == "i"
    top = int(np.iinfo(dtype).max) if exact else np.inf
    if exact and any(d >= top for d in distance.values()):
        dtype = np.dtype(np.int64)
        top = int(np.iinfo(dtype).max)
    out = np.full(graph.n_vertices, top, dtype=dtype)
    for v, d in distance.items():
        out[v] = d
    return out
