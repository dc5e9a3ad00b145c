"""Loop that runs every CUDA policy of the family with every traversal.

An iteration is the launches gather (when the near set is to be compacted), traverse and, with a
far pile, split. The kernels determine the next step (``state.cuh``), so the loop
launches several iterations, queues a copy of the control block to the host, and launches the
next ones before it reads that copy: the GPU does not wait for the host. Launches after the end
return at once. Bucketing needs the host between iterations for the sort, and organises vertices in
:class:`Buckets`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda.device_graph import device_graph
from nearfar.graph.delta import paper_delta
from nearfar.graph.dtypes import limit_in_dtype, unreached_value
from nearfar.papers.davidson_2014.near_far.buffers import Buffers
from nearfar.registry import Answer
from nearfar.system.devices import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph
    from nearfar.papers.davidson_2014.near_far.options import NearFarOptions, SweepOptions
    from nearfar.registry import Workspace

_FOLDER = "papers/davidson_2014/near_far"
_BLOCK = 256


@dataclass(frozen=True)
class Policy:
    """Policy of the order of updated vertices.

    Attributes
    ----------
    far : bool
        Whether there is a far pile; without one every updated vertex is processed next.
    hybrid : bool
        Whether the threshold is lifted while the frontier does not fill the device.
    buckets : int
        Buckets before the far pile; 0 for none.
    loop : callable or None
        Function that runs the iterations instead of the driver's loop.
    """

    far: bool
    hybrid: bool = False
    buckets: int = 0
    loop: Callable[[Run], None] | None = None


def run(
    graph: Graph,
    source: int,
    options: SweepOptions | NearFarOptions,
    workspace: Workspace,
    policy: Policy,
) -> Answer:
    """Solve one source with a policy and the traversal that the options name."""
    return Run(graph, device_graph(graph), int(source), options, workspace, policy).solve()


class Run:
    """Buffers, kernels and loop of one run.

    ``macros`` and ``frame`` (the struct of state.cuh) are for kernels that a policy adds.
    """

    def __init__(
        self,
        graph: Graph,
        on_device: DeviceGraph,
        source: int,
        options: SweepOptions | NearFarOptions,
        workspace: Workspace,
        policy: Policy,
    ) -> None:
        self.policy = policy
        self.graph = on_device
        self.full = workspace.stats == "full"
        self.balanced = options.traversal == "load_balanced"
        self.owners = options.duplicates == "owners"
        self.gather = self.balanced or self.owners or policy.hybrid
        self.buffers = Buffers(
            on_device,
            owners=self.owners,
            balanced=self.balanced,
            far=policy.far,
            keys=bool(policy.buckets),
            full=self.full,
        )
        self._compile(options.traversal)
        self.delta = paper_delta(graph, getattr(options, "delta", None))
        self._start(source, workspace.limit)

    def _compile(self, traversal: str) -> None:
        policy = self.policy
        macros = {
            **self.graph.macros,
            "FAR": int(policy.far),
            "HYBRID": int(policy.hybrid),
            "BUCKETS": int(bool(policy.buckets)),
            "OWNERS": int(self.owners),
            "GATHER": int(self.gather),
            "STATS": int(self.full),
        }
        here = runtime.device()
        frame = self.buffers.frame()
        arguments = {"f": frame, "iteration": np.uint32(0)}

        def launch(file: str, entry: str) -> runtime.Launch:
            kernel = runtime.program(f"{_FOLDER}/{file}.cuh", macros).kernel(entry)
            # One wave of resident blocks fills the device, and keeps the ticket of the
            # last block cheap.
            grid = min(kernel.resident_blocks(_BLOCK), here.multiprocessors * 8)
            return runtime.Launch(kernel, max(grid, 1), _BLOCK, arguments)

        self.steps = [launch(f"traverse_{traversal}", "traverse")]
        if self.gather:
            self.steps.insert(0, launch("gather", "gather"))
        if policy.far and not policy.buckets:
            self.steps.append(launch("split", "split"))
        self.macros, self.frame = macros, frame
        self._start_kernel = runtime.program(f"{_FOLDER}/start.cuh", macros).kernel("start")

    def _start(self, source: int, limit: float | None) -> None:
        weight = self.graph.weight_dtype
        never = unreached_value(weight)
        far_threshold = self.policy.far and not self.policy.hybrid and not self.policy.buckets
        delta = _clamp(self.delta, weight)
        self.timer = runtime.Timer().start()
        arguments = {
            "f": self.frame,
            "source": np.int64(source),
            "delta": delta,
            "threshold": delta if far_threshold else weight.type(never),
            "limit": limit_in_dtype(limit, weight),
            "saturation": np.uint64(runtime.device().resident_threads // 2),
        }
        self._start_kernel(runtime.device().multiprocessors * 8, _BLOCK, arguments)
        self.never = never

    def launch(self, iteration: int) -> None:
        """Queue the launches of one iteration."""
        number = np.uint32(iteration)
        for step in self.steps:
            step.set(iteration=number)
            step()

    def solve(self) -> Answer:
        """Run to the end and collect the counters."""
        try:
            (self.policy.loop or Run._loop)(self)
            self.timer.stop()
            control = self.buffers.read_control()
        except BaseException:
            # After Ctrl-C, queued work still writes to the buffers.
            runtime.synchronize()
            raise
        return Answer(self.buffers.distance, self._stats(control))

    def _loop(self) -> None:
        iteration, batch = 0, 4
        before = None
        while True:
            for _ in range(batch):
                self.launch(iteration)
                iteration += 1
            now = self.buffers.copy_control()
            if before is not None and self.buffers.wait_control(before)["done"]:
                return
            before = now
            # Long runs read the control block less often: at most two
            # batches of launches run past the end, and these return at once.
            batch = 4 if iteration < 64 else 8 if iteration < 512 else 32

    def _stats(self, control: np.void) -> dict[str, Any]:
        processed, iterations = int(control["vertices_processed"]), int(control["iterations"])
        stats: dict[str, Any] = {
            "iterations": iterations,
            "edges_relaxed": int(control["edges_relaxed"]),
            "vertices_processed": processed,
            "average_parallelism": processed / max(iterations, 1),
            "device_seconds": self.timer.seconds,
        }
        if self.policy.far:
            stats["delta"] = self.delta
            stats["splits"] = int(control["splits"])
        if self.full:
            stats |= self.buffers.records()
        return stats


def _clamp(value: float, dtype: np.dtype[Any]) -> Any:
    """Return a number as a scalar of the weights' dtype, rounded up or at most the greatest."""
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        return dtype.type(max(min(int(value), info.max), info.min))
    with np.errstate(over="ignore"):
        rounded = dtype.type(value)
        return rounded if rounded >= value else np.nextafter(rounded, dtype.type(np.inf))
