"""Shared components of the CUDA variants: device graphs, launches and kernel headers."""

from __future__ import annotations
