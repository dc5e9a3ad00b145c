"""Near-Far: a near set of vertices below a threshold, and a far pile of the other vertices.

Davidson, Baxter, Garland, Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
Paths", 2014, section IV.C::

    near = {source}; far = {}
    while near or far:
        for each edge (v, t, w) of each v in near, in parallel:
            if distance[v] + w < distance[t]: lower distance[t]; put t in near or, beyond the
                                              threshold, in far
        if near is empty: raise the threshold by delta and split far by it, dropping stale entries

In the variant that ``auto`` runs on a GPU (``one_launch``), the whole solve is one cooperative
launch, and delta adapts to measurements during the solve. ``partitioned`` splits the vertices over
several devices. ``papers/davidson_2014`` has the paper's own variants, its sweep and buckets, and
the sequential methods.
"""
