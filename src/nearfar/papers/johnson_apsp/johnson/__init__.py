"""Johnson's method with the paper's three forms of the inner parallel Dijkstra (5.3).

::

    h = distances from a virtual source                                   (Bellman-Ford)
    weight'(u, v) = weight(u, v) + h[u] - h[v] >= 0                       (Algorithm 3)
    for each source, on the device:
        frontier = {source}
        repeat
            relax      the edges of the frontier
            minimum    threshold = min(distance[u] + lightest_out[u] for u unsettled)
            update     frontier = {u unsettled: distance[u] <= threshold}

The forms differ in the storage of the frontier: ``johnson_flag`` marks its vertices,
``johnson_queue`` appends them by an atomic counter, ``johnson_prefix`` places them by a prefix sum.
The exactness of shifted floats is explained in ``algorithms/johnson``.
"""
