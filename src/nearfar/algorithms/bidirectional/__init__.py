"""Bidirectional search: one path between two vertices, at the cost of what both ends reach.

Nicholson 1966, Pohl 1971. Dijkstra's method runs from the source and, along reversed edges, from
the target. If balls grow quickly, as in social networks, random graphs and nearest neighbours in
several dimensions, the two balls together are much smaller than a ball around the source that
contains the target. On roads and meshes they have about half of its vertices, and bucket searches
are faster::

    best = infinity
    until the two radii add up to best:
        the side that has read fewer edges settles its nearest vertex
        a neighbour with a label of each side: best = min(best, sum of both)
    the source's search goes on over vertices that can be on a path of length best

In the last step each vertex of a shortest path receives its distance, summed from the source, so
that length and path are those of every other search, bit for bit.
"""
