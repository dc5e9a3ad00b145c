"""Shortest-path distances as encodings for graph neural networks and graph transformers.

One tensor for a batch of small graphs, made where the batch lies: on the GPU for tensors there.
PyTorch is never imported for its own sake; NumPy and CuPy arrays are answered in kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.torch.encodings import shortest_path_distances

__all__ = ["shortest_path_distances"]

_NAMES = {"encodings": ("shortest_path_distances",)}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
