"""CUDA devices: discovery, memory, compiling and launching; the only importer of CuPy."""
