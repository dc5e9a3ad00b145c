"""Bounded searches: all vertices within a limit of each source, at the cost of those vertices.

A dense engine fills a row of n distances per source, however few vertices are within the limit.
A bounded search keeps its distances in a hash table that grows with the reached vertices::

    for each source:
        forget the table (a new stamp)
        Dijkstra's method over a heap; an edge that leads beyond the limit is not followed
        return the vertices in order of distance

The result is a sparse row, a few numbers of it, or aggregates of values on the vertices; a dense
row is filled only on request. O(r log r) time and O(r) memory for r vertices reached and their
edges. Sums are rounded along each path from its source, as in every search, so the distances have
the same bits.
"""
