"""Adapters of other programs that solve on a GPU; ``build.sh`` builds the first two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .adds import Adds
from .cugraph import CuGraph
from .doublegraph import DoubleGraph

if TYPE_CHECKING:
    from nearfar.lab.bench.peers.base import Peer

__all__ = ["GPU_PEERS"]

#: The adapters by name.
GPU_PEERS: dict[str, type[Peer]] = {peer.name: peer for peer in (Adds, DoubleGraph, CuGraph)}
