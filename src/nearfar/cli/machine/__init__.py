"""Commands about this machine and the methods on it: benchmarks, experiments and settings."""
