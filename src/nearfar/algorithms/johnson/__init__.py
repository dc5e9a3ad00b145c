"""Johnson's method: many sources or all pairs with negative weights (johnson-cuda, 4 and 5).

::

    h = distances from a virtual source with an edge of weight 0 to every vertex   (Bellman-Ford)
    weight'(u, v) = weight(u, v) + h[u] - h[v]  >= 0 for every edge                (Algorithm 3)
    for each source s: distance' from s with a method for non-negative weights
    distance[s][v] = distance'[s][v] + h[v] - h[s]

The first step raises an error for a negative cycle anywhere in the graph, even if the sources do
not reach it (use ``bellman_ford`` from such sources).

**Exactness.** Integer potentials are exact. With floats the shifted weights are rounded, so
``distance`` is off by a few roundings; one more pass, over the nearly tight edges, replaces the
distances by sums along the path (see ``cpu/distances/polish.hpp``), which equal those of
Bellman-Ford bit for bit. If the exact weight of a cycle is zero or nearly zero, rounding may
decrease its distances forever; such rows are searched again by ``tarjan_subtree``, and
``stats["repeated_rows"]`` counts them.

``johnson@cpu`` and ``johnson@cuda`` take the inner method from the batched family.
``papers/johnson_apsp`` has the paper's three forms of the inner parallel Dijkstra.
"""
