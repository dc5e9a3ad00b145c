"""Davidson, Baxter, Garland, Owens (2014): work-efficient parallel shortest paths on GPUs.

**Proposed.** Process a frontier of vertices that just improved, in an order that saves work:
a sweep without duplicates, a near set with a far pile, ten buckets; with four ways of sharing the
frontier's edges among threads.

**Variants** (``near_far``; ``bellman_ford`` has the baseline)

- ``workfront_sweep``, ``near_far@cpu``, ``near_far_host_loop@cuda``, ``bucketing``: IV.C
- the option ``traversal``: IV.B
- ``hybrid_sweep@cuda``: VII, future work
- ``bellman_ford@cuda``: II.B

**Found.** Near-Far is the best of them, as in the paper, and on roads launches take most of the
time: ``near_far@cuda`` in ``algorithms/near_far`` runs in one launch, and ``auto`` chooses
it. ``claims.py`` compares every statement of the paper with measurements, and
docs/reproduction/davidson-2014.md is the page. docs/explanation/near-far.md explains.

**Measured** (``run.py``)

Table II (the graphs), Table III (work saved, parallelism and iterations against Bellman-Ford) and
Figures 3 (traversals), 4 (queue sizes), 5 (time over Dijkstra, and MTEPS), 6 (work and iterations
against parallelism) and 7 (delta, with the heuristic's choice). MTEPS count the edges that a
Dijkstra run touches, as the paper does, so that repeated work does not count as speed. On the CPU
the methods run sequentially: their counters are those of the paper's comparison, their times are
not.
"""
