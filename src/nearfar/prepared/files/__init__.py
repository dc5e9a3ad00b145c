"""File of a prepared graph: writing, mapping, checking."""
