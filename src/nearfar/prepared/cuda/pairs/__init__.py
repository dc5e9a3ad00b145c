"""Point queries in batches, and their paths."""
