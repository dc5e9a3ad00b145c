"""Bellman-Ford: exact distances for weights of either sign, or a negative cycle.

The idea: relax edges until none improves a distance. After round ``k`` every shortest path of at
most ``k`` edges is known, so ``n - 1`` rounds are enough - unless a negative cycle is reachable,
which keeps improving forever. Forms differ in the edges that a round scans, and in their order::

    distance[source] = 0, every other distance = unreached
    while something improved:
        for each edge (u, v, w) chosen for this round:
            if distance[u] + w < distance[v]: distance[v] = distance[u] + w; predecessor[v] = u

- ``tarjan_subtree``: a queue of improved vertices, without scanning vertices below an improved one
- ``goldberg_radzik``: the improved vertices in topological order of the edges that can improve
- ``bellman_ford_persistent``: CUDA: a queue with a warp per vertex, all rounds in one launch

``papers/johnson_apsp`` has the textbook form, the queue, edge classes and child launches,
``papers/davidson_2014`` the plain sweep on CUDA.

**When a cycle counts as negative.** If and only if the exact sum of its weights, not the rounded
one, is below zero. Rounding can hide such a cycle: added to 1e16 a weight of -1 changes no
distance. So a search over floats is checked after it has ended, exactly where rounding could
matter (``exact_cycles.hpp``), once per graph. Integers need no check, unless a sum exceeds 64
bits; then the weights decide too. With floats a sum that rounds downwards at each
turn can make a cycle of exact weight zero (or slightly above) look like an improvement; such an
improvement is refused, every run ends, and no error is raised for a non-existent cycle. On a
graph with such a cycle the distances of different forms may differ by the rounding that made the
choice; on every other graph all forms return the same bits, because floating addition is monotone.
"""
