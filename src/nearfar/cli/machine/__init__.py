"""Commands for measuring this machine and its methods: benchmarks, experiments and settings."""
