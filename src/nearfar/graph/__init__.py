"""Graphs in compressed sparse rows, built and validated once, and data derived from them."""
