"""CUDA devices: discovery, memory, compiling and launching; the one importer of CuPy."""
