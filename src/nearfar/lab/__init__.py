"""Measurements: benchmarks with peers, the papers' experiments, profiles and reports."""
