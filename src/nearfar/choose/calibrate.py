"""Measure how fast this machine is, so that ``auto`` ranks by its speeds and not by the defaults'.

A few generated graphs of different kinds are solved with each variant that could win on some graph;
the factor of a variant is the median over the graphs of measured over modelled seconds. A GPU adds
the speed of a transfer and the cost of a call. Variants that were not run get the median factor of
the others on their device, so that a slower machine does not make them look good.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.choose import machine as choose_machine
from nearfar.choose.cpu import cpu_ranking
from nearfar.choose.cuda import cuda_ranking
from nearfar.choose.machine import CPU, H100, Machine
from nearfar.graph.build import default_threads
from nearfar.registry import Request, Workspace, registered, variants

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar.graph.graph import Graph

__all__ = ["PROBES", "calibrate"]

#: Graphs to measure on: generator and parameters; about a second in all.
PROBES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("uniform_random", {"vertices": 60_000, "degree": 8}),
    ("uniform_random", {"vertices": 8_000, "degree": 100}),
    ("grid", {"rows": 250, "columns": 250}),
    ("kronecker", {"scale": 14}),
)
_CPU = (
    "delta_stepping@cpu",
    "delta_stepping_parallel@cpu",
    "dijkstra_dary_heap@cpu",
    "dijkstra_binary_heap@cpu",
    "dijkstra_radix_heap@cpu",
    "breadth_first@cpu",
)
_CUDA = (
    "near_far@cuda",
    "near_far_host_loop@cuda",
    "workfront_sweep@cuda",
    "crauser_fused@cuda",
    "bellman_ford_persistent@cuda",
    "breadth_first@cuda",
)


def calibrate(
    device: str = "cpu",
    *,
    rounds: int = 5,
    probes: tuple[tuple[str, dict[str, Any]], ...] = PROBES,
    store: bool = True,
    progress: Callable[[float, float], None] = lambda done, total: None,
) -> Machine:
    """Measure the processor or the GPU and keep the result for ``auto``.

    Parameters
    ----------
    device : {"cpu", "cuda"}
    rounds : int
        Solves a variant and graph after one that is not counted; the fastest counts, since what
        disturbs only ever adds.
    probes : tuple of (generator, parameters)
        Graphs to measure on.
    store : bool
        Keep it in :func:`nearfar.choose.machine.profile_path`.
    progress : callable
        Called with (done, total).

    Returns
    -------
    Machine

    Raises
    ------
    VariantUnavailable
        For ``"cuda"`` without a CUDA device.
    CacheError
        If the file cannot be written.
    """
    from nearfar.generators import generate

    name = choose_machine.graphics() if device == "cuda" else choose_machine.processor()
    base = H100 if device == "cuda" else CPU
    if device == "cuda":
        base = _transfers(base)
    wanted = _CUDA if device == "cuda" else _CPU
    ratios: dict[str, list[float]] = {}
    gains = []
    for done, (family, parameters) in enumerate(probes):
        weighted = generate(family, **parameters)
        for graph in (weighted, weighted.without_weights()):
            progress(2 * done + (graph is not weighted), 2 * len(probes))
            source = int(np.argmax(graph.degrees))
            request = Request(device=device, sources=(source,), threads=1)
            for identity, modelled in _modelled(graph, request, device, base).items():
                if identity in wanted:
                    seconds = _fastest(graph, identity, source, 1, rounds)
                    ratios.setdefault(identity, []).append(seconds / modelled)
        if device == "cpu" and default_threads() > 1:
            one = _fastest(weighted, "delta_stepping_parallel@cpu", source, 1, rounds)
            two = _fastest(weighted, "delta_stepping_parallel@cpu", source, 2, rounds)
            gains.append(one / two)
    factors = {identity: statistics.median(found) for identity, found in ratios.items()}
    usual = statistics.median(factors.values())
    every = (v.id for v in variants(device=device))
    found = dataclasses.replace(
        base,
        factors={identity: factors.get(identity, usual) for identity in every},
        gain=statistics.median(gains) if gains else base.gain,
        measured=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    if store:
        choose_machine.store(name, found)
    return found


def _modelled(graph: Graph, request: Request, device: str, base: Machine) -> dict[str, float]:
    """What the models say with factors of 1, calls and transfers left out."""
    with choose_machine.assumed(device, base):
        if device == "cpu":
            return {name: cost for name, cost, _ in cpu_ranking(graph, request)}
        from nearfar.cuda.device_graph import device_graph

        device_graph(graph)
        back = graph.n_vertices * graph.weight_dtype.itemsize / base.transfer
        ranked = cuda_ranking(graph, request)
    return {name: cost - base.launch - back for name, cost, _ in ranked}


def _fastest(graph: Graph, identity: str, source: int, threads: int, rounds: int) -> float:
    """Seconds of the fastest of some solves by a variant with its default options."""
    variant = registered(identity)
    assert variant is not None
    options, work = variant.options(), Workspace(threads)
    taken = []
    for _ in range(max(rounds, 1) + 1):
        began = time.perf_counter()
        stats = variant.run(graph, source, options, work).stats
        wall = time.perf_counter() - began
        taken.append(float(stats.get("device_seconds", wall)))
    return min(taken[1:])


def _transfers(base: Machine) -> Machine:
    """Bytes a second to the device, and seconds of a launch that the host waits for."""
    from nearfar.system.devices import runtime

    block = np.zeros(1 << 24, dtype=np.int32)
    speeds, calls = [], []
    for _ in range(5):
        runtime.synchronize()
        began = time.perf_counter()
        there = runtime.upload(block)
        runtime.synchronize()
        speeds.append(block.nbytes / (time.perf_counter() - began))
        little = there[:16]
        began = time.perf_counter()
        runtime.download(little)
        calls.append(time.perf_counter() - began)
    return dataclasses.replace(
        base, transfer=statistics.median(speeds), launch=2 * statistics.median(calls)
    )
