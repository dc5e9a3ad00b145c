"""Distances to the labels above the cells, by climbing and by products of matrices."""
