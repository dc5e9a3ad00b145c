"""Centrality: betweenness, closeness and their relatives."""
