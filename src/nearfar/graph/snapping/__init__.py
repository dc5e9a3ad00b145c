"""Snapping of places to streets: lines of edges, and the nearest points on them."""
