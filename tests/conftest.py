"""Fixtures that several test files use."""

from tests.emulator import emulated_gpu
from tests.program import cycle_file, graph_file, named_file

__all__ = ["cycle_file", "emulated_gpu", "graph_file", "named_file"]
