"""Peers that are separate programs with 32-bit weights, which read the graph from a file.

The program is named by an environment variable, such as ``NEARFAR_WASP_SSSP``, or found on PATH by
its own name, such as ``wasp-sssp``. A peer that can be built for floats has two programs: the
second's variable ends in ``_FLOAT`` and its name in ``-float``.
"""

from __future__ import annotations

import os
import tempfile
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from nearfar.graph.graph import Graph
from nearfar.lab.bench.peers.base import Peer, on_path


class Program(Peer):
    """Base of peers that are programs; each measures its own times."""

    parallel = True
    command: ClassVar[str]  # its name on PATH
    floats: ClassVar[bool] = False  # whether it can be built for floats
    farthest: ClassVar[int]  # largest distance that its integers can represent

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self.program = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lender: Program | None = None

    @property
    def variable(self) -> str:
        """Environment variable that names the program for integers."""
        return f"NEARFAR_{self.name.upper()}_SSSP"

    def find(self, floats: bool = False) -> str | None:
        """Return the path of the program for integers or for floats; None if not installed."""
        named = os.environ.get(self.variable + ("_FLOAT" if floats else ""))
        return named or on_path(self.command + ("-float" if floats else ""))

    @abstractmethod
    def write(self, graph: Graph, folder: Path) -> None:
        """Write the graph as the program reads it."""

    @property
    def folder(self) -> Path:
        """Path of the graph's file, from :meth:`prepare` to :meth:`close`."""
        if self._lender is not None:
            return self._lender.folder
        if self._folder is None:
            raise RuntimeError("prepare comes before solve")
        return Path(self._folder.name)

    def missing(self, floats: bool = False) -> str:
        """Return a message that says how to install the program."""
        name, variable = ("-float", "_FLOAT") if floats else ("", "")
        return f"no {self.command}{name} on PATH: set {self.variable}{variable}"

    def available(self) -> Literal[True] | str:
        """Return whether one of the programs is found."""
        if self.find() or (self.floats and self.find(floats=True)):
            return True
        return self.missing()

    def takes(self, graph: Graph) -> Literal[True] | str:
        """Return whether weights have 32 bits, or are integers whose sums fit 32 bits."""
        dtype = graph.weight_dtype
        if dtype.kind == "f":
            if not self.floats:
                return f"the program is built for integers, the weights are {dtype}"
            if dtype != np.float32:
                return f"its floats have 32 bits, the weights are {dtype}"
            if self.find(floats=True) is None:
                return self.missing(floats=True)
            return super().takes(graph)
        if self.find() is None:
            return self.missing()
        if graph.n_vertices >= 2**31 - 1:
            return "too many vertices for 32-bit ids"
        if graph.max_weight * graph.n_vertices > self.farthest and graph.weight_dtype.itemsize > 4:
            return "its 32-bit distances may overflow"
        return super().takes(graph)

    def prepare(self, graph: Graph) -> None:
        """Write the graph for the program."""
        program = self.find(floats=graph.weight_dtype.kind == "f")
        if program is None:
            raise RuntimeError(f"the program of {self.name} is missing")
        self.program = program
        self._folder = tempfile.TemporaryDirectory(prefix=f"nearfar-{self.name}-")
        self.write(graph, self.folder)

    def borrow(self, lender: Program) -> None:
        """Read the graph's file of another instance, which is closed after this one."""
        self.program, self._lender = lender.program, lender

    def close(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
