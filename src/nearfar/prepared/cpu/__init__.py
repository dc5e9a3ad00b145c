"""Queries on the host: pairs by walking or by labels, rows, tables, nearest, paths."""
