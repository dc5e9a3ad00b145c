"""Commands that compute answers from a graph, a raster or tables of places."""
