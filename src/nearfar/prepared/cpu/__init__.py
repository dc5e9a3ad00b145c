"""Queries on the host: pairs by walks or labels, rows, tables, nearest, paths."""
