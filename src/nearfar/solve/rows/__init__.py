"""Sinks, files and reductions for the rows of many sources."""
