"""Bounded searches: everything within a limit of each source, at the cost of what is reached.

A dense engine pays for a row of n distances per source, however few vertices lie within the limit.
Here a worker keeps its distances in a hash table that grows with what a search reaches::

    for each source:
        forget the table (a new stamp)
        Dijkstra's method over a heap; an edge that leads beyond the limit is not followed
        hand over the vertices in order of distance

The result is a sparse row, a few numbers of it, or aggregates of values on the vertices; a dense
row is filled only where the caller wants one. O(r log r) time and O(r) memory for r vertices
reached and their edges. Sums are rounded along each path from its source on, as in every search, so
the distances have the same bits.
"""
