"""Adapters of the peers, each with its best settings.

Adapters import their library inside methods, so this package imports without any of them; install
the Python ones with the extra ``peers``. The C++ programs are used if they are found; see each
file.
"""

from __future__ import annotations

from collections.abc import Iterable

from nearfar.lab.bench.peers.base import Peer
from nearfar.lab.bench.peers.gap import Gap, Wasp
from nearfar.lab.bench.peers.libraries import Igraph, Networkit, Networkx, Rustworkx, Scipy
from nearfar.lab.bench.peers.nearfar import Nearfar
from nearfar.lab.bench.peers.pasgal import Pasgal

__all__ = ["PEERS", "Nearfar", "Peer", "contenders"]

#: Adapters by name; SciPy first, because ratios are relative to it.
PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (Scipy, Networkit, Rustworkx, Igraph, Networkx, Gap, Wasp, Pasgal)
}


def contenders(names: Iterable[str], threads: Iterable[int]) -> list[Peer]:
    """Return one adapter per name, and per number of threads if the peer can use several."""
    counts = list(dict.fromkeys(threads)) or [1]
    made: list[Peer] = []
    for name in names:
        made += [PEERS[name](t) for t in (counts if PEERS[name].parallel else [1])]
    return made
