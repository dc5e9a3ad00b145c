"""Bellman-Ford: exact distances for weights of either sign, or a negative cycle.

The idea: relax edges until none improves a distance. After round ``k`` every shortest path of at
most ``k`` edges is known, so ``n - 1`` rounds suffice, unless a negative cycle is reachable: its
distances decrease forever. Variants differ in the edges that a round scans and in their order::

    distance[source] = 0, every other distance = unreached
    while something improved:
        for each edge (u, v, w) chosen for this round:
            if distance[u] + w < distance[v]: distance[v] = distance[u] + w; predecessor[v] = u

- ``tarjan_subtree``: a queue of improved vertices, without the tree descendants of an improved one
- ``goldberg_radzik``: improved vertices in topological order of the edges that can improve
- ``bellman_ford_persistent`` (CUDA): a queue with a warp per vertex, all rounds in one launch

``papers/johnson_apsp`` has the textbook form, the queue, edge classes and child launches,
``papers/davidson_2014`` the plain sweep on CUDA.

**Definition of a negative cycle.** A cycle is negative if and only if the exact sum of its weights
is below zero. Rounding can hide such a cycle: a weight of -1 added to 1e16 does not change the
distance. Therefore the result of a search over floats is checked once per graph, in exact
arithmetic where rounding could matter (``exact_cycles.hpp``). Integers need the check only if a
sum exceeds 64 bits. Conversely, sums that round downwards can make a cycle of exact weight zero
(or slightly more) look like an improvement; such an improvement is refused, so that every run ends
and no error is raised for a non-existent cycle. On a graph with such a cycle the distances of
different variants may differ by roundings; on every other graph all variants return the same bits,
because floating addition is monotone.
"""
