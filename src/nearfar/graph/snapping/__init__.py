"""Snapping of places to streets: lines of edges, and the point on an edge nearest to a place."""
