"""Bidirectional search: one path between two vertices, at the cost of what both ends reach.

Nicholson 1966, Pohl 1971. Dijkstra's method from the source and, over reversed edges, from the
target, in turns; the two balls together are much smaller than one ball of the whole length where
balls grow quickly, as in social networks, random graphs and nearest neighbours in several
dimensions. On roads and meshes they have half of its vertices, and bucket searches are faster::

    best = infinity
    until the two radii add up to best:
        the side that has read fewer edges settles its nearest vertex
        a neighbour with a label of each side: best = min(best, sum of both)
    the source's search goes on over vertices that can be on a path of length best

The last step gives each vertex of a shortest path its distance, summed from the source, so length
and path have the bits of every other search.
"""
