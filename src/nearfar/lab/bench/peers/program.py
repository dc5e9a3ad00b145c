"""Peers that are programs of their own with 32-bit integers: found, given the graph as a file."""

from __future__ import annotations

import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from nearfar.lab.bench.peers.base import Peer

if TYPE_CHECKING:
    from nearfar.graph.graph import Graph

__all__ = ["IntegerProgram"]


class IntegerProgram(Peer):
    """What such peers share; they time themselves.

    Attributes
    ----------
    missing : str
        Why the peer is not available, when its program is not found.
    farthest : int
        Distances that its integers hold.
    """

    parallel = True
    missing: ClassVar[str]
    farthest: ClassVar[int]

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.program = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @abstractmethod
    def find(self) -> str | None:
        """Path of the program, or None."""

    @abstractmethod
    def write(self, graph: Graph, folder: Path) -> None:
        """Write the graph as the program reads it."""

    @property
    def folder(self) -> Path:
        """Where the graph lies, from :meth:`prepare` to :meth:`close`."""
        if self._folder is None:
            raise RuntimeError("prepare comes before solve")
        return Path(self._folder.name)

    def available(self) -> Literal[True] | str:
        """Whether the program is found."""
        return True if self.find() else self.missing

    def takes(self, graph: Graph) -> Literal[True] | str:
        """Integer weights whose sums fit."""
        if graph.weight_dtype.kind != "i":
            return f"the program is built for integers, the weights are {graph.weight_dtype}"
        if graph.n_vertices >= 2**31 - 1:
            return "too many vertices for 32-bit ids"
        if graph.max_weight * graph.n_vertices > self.farthest and graph.weight_dtype.itemsize > 4:
            return "its 32-bit distances may overflow"
        return super().takes(graph)

    def prepare(self, graph: Graph) -> None:
        """Write the graph for the program."""
        program = self.find()
        if program is None:
            raise RuntimeError(f"the program of {self.name} is gone")
        self.program = program
        self._folder = tempfile.TemporaryDirectory(prefix=f"nearfar-{self.name}-")
        self.write(graph, self.folder)

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
