"""Bellman-Ford of the paper on Johnson's method, on one core and on CUDA (4.1 and 5.1).

::

    distance[source] = 0, every other distance = unreached
    while something improved:
        for each edge (u, v, w) chosen for this round:
            if distance[u] + w < distance[v]: distance[v] = distance[u] + w

- ``bellman_ford``: every edge, in storage order: the textbook
- ``bellman_ford_queue``: edges of the vertices that improved in the last round
- ``bellman_ford_edge_classes``: the same with self-loops, source edges, targets of in-degree 1 and
  targets of out-degree 0 treated separately (Algorithm 1)
- ``bellman_ford_child_launches``: CUDA: the queue with a child launch per vertex
- ``bellman_ford_warps``: CUDA: the queue with a warp per vertex, in place of child launches

Negative cycles are defined in ``algorithms/bellman_ford``, which has the form that ``auto``
chooses.
"""
