"""Rows of many sources: their sinks, files and reductions."""
