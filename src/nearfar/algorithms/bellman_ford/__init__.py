"""Bellman-Ford: exact distances for weights of either sign, or the negative cycle found instead.

The idea: relax edges until none improves a distance. After round ``k`` every shortest path of at
most ``k`` edges is known, so ``n - 1`` rounds are enough - unless a negative cycle is reachable,
which keeps improving for ever. The forms here differ in which edges a round looks at and in which
order::

    distance[source] = 0, every other distance = unreached
    while something improved:
        for each edge (u, v, w) chosen for this round:
            if distance[u] + w < distance[v]: distance[v] = distance[u] + w; predecessor[v] = u

- ``bellman_ford``: every edge, in storage order: the textbook
- ``bellman_ford_queue``: edges of the vertices that improved in the last round (johnson-cuda 4.1)
- ``bellman_ford_edge_classes``: the same with self-loops, source edges, targets of in-degree 1 and
  targets of out-degree 0 treated apart (johnson-cuda 4.1, Algorithm 1)
- ``tarjan_subtree``: the queue, without scanning vertices below an improved one
- ``goldberg_radzik``: the improved vertices in topological order of the edges that can improve
- ``bellman_ford_child_launches``: CUDA: the queue with a child launch per vertex (johnson-cuda 5.1)
- ``bellman_ford_warps``: CUDA: the queue with a warp per vertex, in place of child launches
- ``bellman_ford_persistent``: CUDA: the same with all rounds in one launch, the default there

**When a cycle counts as negative.** Only if the exact sum of its weights, not the rounded one, is
below zero. Integer weights leave nothing to say. With floats a sum that rounds downwards at each
turn can make a cycle of exact weight zero (or slightly above) look like an improvement; such an
improvement is refused, every run ends, and no error is raised for a cycle that is not there. On a
graph with such a cycle the distances of different forms may differ by the rounding that made the
choice; on every other graph all forms return the same bits, because floating addition is monotone.
"""
