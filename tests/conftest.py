"""Fixtures that several test files use, and how long Hypothesis may take."""

from hypothesis import HealthCheck, settings

from tests.emulator import emulated_gpu
from tests.program import cycle_file, graph_file, named_file

__all__ = ["cycle_file", "emulated_gpu", "graph_file", "named_file"]

# A busy machine is no reason to fail: time is bounded by the runs of the tests, not by examples.
settings.register_profile("nearfar", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("nearfar")
