"""Fixtures that several test files use."""

from tests.emulator import emulated_gpu

__all__ = ["emulated_gpu"]
