"""Elimination order of the vertices, the resulting elimination tree, and its arcs."""
