"""Work-efficient single-source methods: Workfront Sweep, Near-Far, Bucketing, and their hybrid.

Davidson, Baxter, Garland, Owens, "Work-Efficient Parallel GPU Methods for Single-Source Shortest
Paths", 2014. Between Dijkstra (no wasted work, no parallelism) and Bellman-Ford (the opposite)
they process a *frontier* of vertices whose distance just improved, and differ only in the vertices
that are processed first::

    frontier = {source}
    while frontier:
        for each edge (v, t, w) of each v in frontier, in parallel:
            if distance[v] + w < distance[t]: lower distance[t] and mark t as updated
        frontier = organise(updated)

Result of ``organise``:

- Workfront Sweep: all updated vertices, duplicates removed.
- Near-Far: those below a threshold. The others wait in a far pile, which is split by the next
  threshold (one delta on) when the near set is empty; stale entries are dropped.
- Bucketing: ten buckets of width delta, the lowest first, and a far pile beyond them.
- Hybrid: the sweep while the frontier is small, Near-Far once it fills the device.

A policy decides which vertices are next (``cuda.py``); a traversal distributes the frontier's edges
among threads (one ``traverse_*.cuh`` each, section IV.B); ``driver.py`` has the loop that runs any
policy with any traversal. The CPU forms (``cpu.cpp``) do the same work one vertex after another,
for reading and for counting. Deltas follow the paper: 32 times the mean weight over the mean
degree.
"""

from __future__ import annotations
