"""Machinery on CPU cores that families share: heaps, buckets, workers, predecessors."""
