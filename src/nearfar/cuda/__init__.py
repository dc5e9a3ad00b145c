"""What the CUDA variants share: runtime (the one importer of CuPy), compiler and kernel headers."""

from __future__ import annotations
