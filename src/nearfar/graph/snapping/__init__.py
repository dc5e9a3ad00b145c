"""Places on streets: the lines of edges, and the point on an edge that is nearest to a place."""
