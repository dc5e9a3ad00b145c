"""Bounded searches: all vertices within a limit of each source, in time for these vertices only.

A dense engine fills a row of n distances per source, however few vertices are within the limit.
A bounded search keeps its distances in a hash table that grows with the reached vertices::

    for each source:
        clear the table (by a new stamp)
        run Dijkstra's method with a heap, skipping edges that lead beyond the limit
        return the vertices in order of distance

The result is a sparse row, a reduction of it, or aggregates of values on the vertices; a dense row
is filled only on request. O(r log r) time and O(r) memory for r reached vertices and their edges.
Sums are rounded along each path from its source, as in every search, so the distances have the
same bits.
"""
