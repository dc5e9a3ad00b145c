"""Bellman-Ford as in LonestarGPU: the baseline of the near-far paper (II.B).

::

    while something improved:
        for each edge (u, v, w) of each reached vertex u, in parallel:
            lower distance[v] to distance[u] + w
"""
