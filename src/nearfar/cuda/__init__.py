"""What the CUDA variants share: the runtime (the one importer of CuPy), the compiler and its kernel headers."""

from __future__ import annotations
