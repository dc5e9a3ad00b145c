"""Point queries in batches, their paths, and tables."""
