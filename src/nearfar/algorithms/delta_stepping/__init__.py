"""Delta-stepping: settle one bucket of width delta at a time, scanning improved vertices again.

Meyer and Sanders 2003. With buckets ``B[k]`` for distances from ``k * delta`` up to
``(k + 1) * delta``::

    distance[*] = unreached; distance[source] = 0; put source into B[0]
    for k = the first non-empty bucket, while there is one:
        while B[k] is not empty:
            take (v, d) out of B[k]; drop it if d is no longer v's distance
            for each edge (v, t) of weight w:
                if d + w < distance[t]:
                    distance[t] = d + w
                    put (t, d + w) into its bucket, possibly B[k] again

Delta from 0 to infinity interpolates between Dijkstra's method and Bellman-Ford's. Any order
within a bucket is correct, so one core can prefetch its vertices and several cores can share them.
Departures from the paper: edges are not split into light and heavy ones, and delta adapts during
the run.
"""
