"""CUDA devices: discovery, memory, compilation and launches; the only importer of CuPy."""
