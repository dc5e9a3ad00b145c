"""Searches on the arrays of a SciPy matrix without a copy."""
