"""Weights of the arcs: customization on the host, pruning, and changed weights."""
