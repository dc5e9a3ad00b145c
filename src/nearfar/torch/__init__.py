"""Shortest-path distances as encodings for graph neural networks and graph transformers.

The distances of a batch of small graphs are computed as one tensor on the device of the batch.
PyTorch is imported only if tensors are given; NumPy and CuPy arrays return arrays of the same kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.torch.encodings import shortest_path_distances

__all__ = ["shortest_path_distances"]

_NAMES = {"encodings": ("shortest_path_distances",)}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
