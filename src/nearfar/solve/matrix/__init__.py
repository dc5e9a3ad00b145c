"""Searches on the arrays of a SciPy matrix as they are."""
