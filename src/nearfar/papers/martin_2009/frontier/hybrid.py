"""The hybrids of Martin et al. (2009), section 4.1: the minimum stays on the host.

U-H1 runs the update on the GPU, U-H2 the relax step, U-H3 both; all relax over predecessors. Each
array that the host writes and the GPU reads, or vice versa, is transferred in every iteration, the
cost that the paper measures. Transfers put the valid copy where the next step needs it:

======  ===================================  ===================================
hybrid  to the device                        to the host
======  ===================================  ===================================
U-H1    distances, before the update         frontier and unsettled, after it
U-H2    frontier, unsettled, before relax    distances, after it
U-H3    nothing                              distances and unsettled, for the minimum
======  ===================================  ===================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cuda.loops.settle import Criterion, Settle, Steps, pinned_like

if TYPE_CHECKING:
    from nearfar.cuda.device_graph import DeviceGraph
    from nearfar.graph.graph import Graph


class HostSteps:
    """Host copies of the three arrays, and the steps that use them."""

    def __init__(self, run: Settle, graph: Graph) -> None:
        self.run, self.graph = run, graph
        self.distance = pinned_like(run.distance)
        self.frontier = pinned_like(run.frontier)
        self.unsettled = pinned_like(run.unsettled)
        self.least = np.empty(1, dtype=run.dtype)
        self.working = self.edges = self.settled = 0
        self.download("distance", "frontier", "unsettled")

    def download(self, *names: str) -> None:
        """Copy arrays from the device to the host."""
        for name in names:
            getattr(self.run, name).get(out=getattr(self, name))

    def upload(self, *names: str) -> None:
        """Copy arrays from the host to the device."""
        for name in names:
            getattr(self.run, name).set(getattr(self, name))

    def relax(self) -> None:
        """Run relax_U on the host."""
        from nearfar import _cpu

        working, edges = _cpu.frontier_relax_predecessors(
            self.graph.transpose().view, self.distance, self.frontier, self.unsettled
        )
        self.run.add_counts(0, working, edges)

    def minimum(self) -> tuple[Any, ...]:
        """Return the sequential minimum on the host."""
        from nearfar import _cpu

        _cpu.frontier_minimum(self.distance, self.unsettled, self.least)
        return (self.least[0],)

    def update(self) -> None:
        """Run the update on the host, for the latest minimum."""
        from nearfar import _cpu

        settled = _cpu.frontier_update(self.distance, self.frontier, self.unsettled, self.least)
        self.run.add_counts(settled, 0, 0)


def hybrid_steps(run: Settle, graph: Graph, device: DeviceGraph, which: int) -> Steps:
    """Return the steps of U-H1, U-H2 or U-H3; ``device`` is the transposed graph."""
    host = HostSteps(run, graph)
    lists = {"offsets": device.offsets, "edges": device.edges}
    relax_on_device = run.relax("relax_predecessors", **lists)
    update_on_device = run.update(Criterion())

    if which == 1:

        def update_h1(values: tuple[Any, ...]) -> None:
            host.upload("distance")
            update_on_device(values)
            host.download("frontier", "unsettled")

        # The device's distances are one step behind when the loop ends: copy the last ones.
        return Steps(host.relax, host.minimum, update_h1, lambda: host.upload("distance"))

    if which == 2:

        def relax_h2() -> None:
            host.upload("frontier", "unsettled")
            relax_on_device()
            host.download("distance")

        return Steps(relax_h2, host.minimum, lambda values: host.update())

    def minimum_h3() -> tuple[Any, ...]:
        host.download("distance", "unsettled")
        return host.minimum()

    return Steps(relax_on_device, minimum_h3, update_on_device)
