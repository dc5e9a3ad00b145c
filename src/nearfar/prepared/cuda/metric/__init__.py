"""Weights of the arcs on a CUDA device."""
