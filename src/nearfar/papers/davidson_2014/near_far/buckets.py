"""Organise updated vertices between two traversals of Bucketing: classify, sort, take.

Paper: Davidson et al. 2014, section IV.C. The sort is CuPy's (a radix sort from CUB), over keys
that contain bucket and vertex. The host reads one control block per iteration. The paper reports
the same overhead (82% of the run time), which is why Near-Far is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from nearfar.papers.davidson_2014.near_far.driver import Run

_FILE = "papers/davidson_2014/near_far/bucketing.cuh"


class Buckets:
    """Bucket array of a run on the device, and the bounds of the far pile."""

    def __init__(self, run: Run) -> None:
        self.run = run
        buffers = run.buffers
        self.fresh = buffers.arrays["keys"]
        kind = "unsigned int" if self.fresh.dtype.itemsize == 4 else "unsigned long long"
        macros = {**run.macros, "KEY_T": kind, "BUCKET_COUNT": run.policy.buckets}
        program = runtime.program(_FILE, macros)
        self.classify_kernel, self.take_kernel = program.kernel("classify"), program.kernel("take")
        self.grid = runtime.device().multiprocessors * 4
        self.weight = run.graph.weight_dtype
        self.base = self.weight.type(0)
        self.held: Any = None  # sorted keys that are not processed yet

    def loop(self) -> None:
        """Alternate traversals and reorganisations until buckets and far pile are empty."""
        iteration = 0
        while True:
            self.run.launch(iteration)
            self._classify(iteration, self.base, self.base, from_far=False)
            control = self._absorb()
            while self.held is None:
                if not control["far_size"][int(control["side"])]:
                    return
                old, self.base = self.base, self.weight.type(control["far_min"])
                self._forget_far_min()
                self._classify(iteration, self.base, old, from_far=True)
                control = self._absorb()
            self._take(iteration)
            iteration += 1

    def _classify(self, iteration: int, base: Any, old_base: Any, *, from_far: bool) -> None:
        arguments = {
            "f": self.run.frame,
            "iteration": np.uint32(iteration),
            "keys": self.fresh,
            "base": base,
            "old_base": old_base,
            "from_far": np.uint32(from_far),
        }
        self.classify_kernel(self.grid, 256, arguments)

    def _absorb(self) -> np.void:
        """Merge the classified keys into the sorted ones; return the control block."""
        buffers = self.run.buffers
        control = buffers.read_control()
        fresh, taken = int(control["keys"]), int(control["taken"])
        held = None if self.held is None or taken >= len(self.held) else self.held[taken:]
        if fresh:
            cp = runtime.cupy()
            newcomers = self.fresh[:fresh]
            held = cp.sort(newcomers if held is None else cp.concatenate((held, newcomers)))
        self.held = held
        self._set("keys", np.uint64(0))
        self._set("taken", np.uint64(0))
        return control

    def _take(self, iteration: int) -> None:
        arguments = {
            "f": self.run.frame,
            "iteration": np.uint32(iteration),
            "keys": self.held,
            "count": np.uint64(len(self.held)),
            "base": self.base,
        }
        self.take_kernel(self.grid, 256, arguments)

    def _forget_far_min(self) -> None:
        self._set("far_min", self.weight.type(self.run.never))

    def _set(self, field: str, value: Any) -> None:
        """Write one field of the control block."""
        buffers = self.run.buffers
        fields: Any = buffers.kind.fields or {}
        at = int(fields[field][1])
        raw = np.frombuffer(value.tobytes(), dtype=np.uint8)
        buffers.control[at : at + len(raw)] = runtime.upload(raw)
