"""Wasp's ``sssp`` (D'Antonio et al., SC'25): asynchronous delta-stepping, C++ and OpenMP.

The program is taken from ``NEARFAR_WASP_SSSP``, or from PATH as ``wasp-sssp``; it must be built
with ``-DUSE_INT32``. It stands on GAP's benchmark suite: it reads the same serialised graph, takes
the same options, times and verifies itself the same way, and delta is looked for as for GAP.
"""

from __future__ import annotations

import os

from nearfar.lab.bench.peers.base import on_path
from nearfar.lab.bench.peers.gap import Gap

__all__ = ["Wasp"]


class Wasp(Gap):
    """Wasp's asynchronous delta-stepping."""

    name = "wasp"
    missing = "no wasp-sssp on PATH: set NEARFAR_WASP_SSSP"

    def find(self) -> str | None:
        """As the head of this file says."""
        return os.environ.get("NEARFAR_WASP_SSSP") or on_path("wasp-sssp")
