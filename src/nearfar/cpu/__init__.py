"""Shared components of the CPU methods: heaps, buckets, workers, predecessors."""
