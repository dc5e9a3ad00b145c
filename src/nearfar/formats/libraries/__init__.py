"""Formats of other libraries and collections."""
