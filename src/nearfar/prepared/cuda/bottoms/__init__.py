"""Distances within the cells and leaves at the bottom of the tree."""
