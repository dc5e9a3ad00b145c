"""Forbidden reads of kernels, as found by compute-sanitizer, on the emulated device."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from nearfar.system.devices import runtime
from tests.emulator import compile_for_host
from tests.gpu import sanitizer_suite

LAST = """
extern "C" __global__ void last(const int* values, int* out) {
  extern __shared__ __align__(16) int mine[];
  mine[0] = values[0];
  *out = mine[values[1]];
}
"""
LAUNCH = """
import ctypes, sys
values = (ctypes.c_int * 2)(7, int(sys.argv[2]))
out = ctypes.c_int(0)
given = [ctypes.c_void_p(ctypes.addressof(each)) for each in (values, out)]
pointers = (ctypes.c_void_p * 2)(*map(ctypes.addressof, given))
library = ctypes.CDLL(sys.argv[1])
library.emulation_launch_last((ctypes.c_uint * 6)(1, 1, 1, 1, 1, 1), 16, 0, pointers)
"""


def to_rows(values: Any, shared: int = 0) -> Any:
    """Return rows from columns; `shared` bytes that the kernel does not need."""
    cp = runtime.cupy()
    types: dict[str, str | int] = {"VALUE_T": "unsigned int", "OUT_T": "int", "SIGNED_VALUES": 0}
    kernel = runtime.program("prepared/cuda/sinks/rows.cuh", types).kernel("to_rows")
    some, count = values.shape
    out = cp.zeros((count, some), np.int32)
    place = cp.arange(some, dtype=np.int32)
    arguments = {"values": values, "pitch": np.int64(count), "place": place, "out": out}
    arguments |= {"some": np.int32(some), "width": np.int64(some), "count": np.int32(count)}
    kernel((2, 1), 256, {**arguments, "step": np.float64(1)}, shared=shared)
    return out


@pytest.mark.usefixtures("checked_loads")
def test_prepared_graphs_read_what_was_written():
    assert sanitizer_suite.prepared_graphs(("int32",))  # which have reductions too


@pytest.mark.slow
@pytest.mark.usefixtures("checked_loads")
def test_all_methods_read_what_was_written():
    sanitizer_suite.main()


@pytest.mark.usefixtures("checked_loads")
def test_a_load_of_fresh_memory_is_found():
    values = runtime.cupy().empty((5, 40), np.uint32)
    values[:] = np.arange(200).reshape(5, 40)
    np.testing.assert_array_equal(to_rows(values).get(), values.get().T)
    values[3] = runtime.cupy().empty(40, np.uint32)
    with pytest.raises(AssertionError, match=r"to_rows: .* loads of what nobody"):
        to_rows(values)


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("size", [0, 1, 16, 152, 155])
def test_shared_memory_is_whole_vectors(size):
    """The compiler loads up to 16 bytes for a single value, also for the last ones."""
    given = []
    driver = runtime.cupy().cuda.driver
    launch = driver.launchKernel

    def seen(*arguments: Any) -> None:
        given.append(arguments[7])
        launch(*arguments)

    driver.launchKernel = seen
    values = runtime.cupy().asarray(np.arange(200, dtype=np.uint32).reshape(5, 40))
    np.testing.assert_array_equal(to_rows(values, size).get(), values.get().T)
    assert given == [-(-size // 16) * 16]


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize(("place", "status"), [(0, 0), (3, 0), (4, -signal.SIGSEGV)])
def test_a_load_beyond_shared_memory_ends_the_program(place, status):
    library = compile_for_host("last", LAST, ()).decode()
    command = [sys.executable, "-c", LAUNCH, library, str(place)]
    assert subprocess.run(command, check=False).returncode == status
