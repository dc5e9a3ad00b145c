"""Linking of programs whose kernels launch kernels with CUDA's device runtime.

A kernel file requests it by the line ``// links: cudadevrt``. The device runtime is a static
library, ``libcudadevrt.a``, which is part of the wheel ``nvidia-cuda-runtime`` (installed by the
``cuda13`` extra) and of the CUDA toolkit. The linker is part of the driver.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearfar.errors import KernelCompileError, VariantUnavailable
from nearfar.system.devices.nvrtc import in_wheels

_NAME = "libcudadevrt.a"
_CUBIN, _LIBRARY = 0, 4  # CU_JIT_INPUT_CUBIN, CU_JIT_INPUT_LIBRARY


def _folders() -> Iterator[Path]:
    """Yield possible folders of the library, of NVIDIA's wheels first, then of toolkits."""
    yield from in_wheels("cu*/lib", "cuda_runtime/lib")
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            yield from (Path(os.environ[variable]) / part for part in ("lib64", "lib"))
    for root in sorted(Path("/usr/local").glob("cuda*"), reverse=True):
        yield from (root / part for part in ("lib64", "lib"))


@functools.cache
def device_runtime() -> str:
    """Return the path of ``libcudadevrt.a``."""
    for folder in _folders():
        if (folder / _NAME).is_file():
            return str(folder / _NAME)
    raise VariantUnavailable(
        f"device-side launches cannot be linked: {_NAME} was not found; "
        "pip install nvidia-cuda-runtime (part of nearfar[cuda13]) or set CUDA_PATH"
    )


def link(cupy: Any, name: str, code: bytes) -> bytes:
    """Link a relocatable cubin with the device runtime, and return a loadable cubin."""
    library = device_runtime()
    driver = cupy.cuda.driver
    state = driver.linkCreate()
    try:
        driver.linkAddData(state, _CUBIN, code, name)
        driver.linkAddFile(state, _LIBRARY, library)
        return bytes(driver.linkComplete(state))
    except driver.CUDADriverError as error:
        raise KernelCompileError(
            f"kernel {name} cannot be linked with {library}: {error}"
        ) from None
    finally:
        driver.linkDestroy(state)
