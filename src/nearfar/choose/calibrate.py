"""Calibration of ``auto`` by measuring the speed of this machine.

Several generated graphs of different kinds are solved with each variant whose estimated cost is
near the lowest; the factor of a variant is the median ratio of measured to estimated seconds. For a
GPU the speed of a transfer and the cost of a call are measured too. The other variants with a cost
get the median factor of their device, so that a slower machine does not make them look fast.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, get_args

import numpy as np

from nearfar.choose import machine as choose_machine
from nearfar.choose.machine import CPU, H200, Machine
from nearfar.graph.facts import Facts
from nearfar.graph.graph import Graph
from nearfar.registry import Problem, Request, Variant, Workspace, priced
from nearfar.system.devices import runtime
from nearfar.system.threads import default_threads

__all__ = ["PROBES", "calibrate"]

#: Graphs to measure on: generator and parameters; about one second in total.
PROBES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("uniform_random", {"vertices": 60_000, "degree": 8}),
    ("uniform_random", {"vertices": 8_000, "degree": 100}),
    ("grid", {"rows": 250, "columns": 250}),
    ("kronecker", {"scale": 14}),
)
_WITHIN = 10.0  # variants beyond this multiple of the lowest cost are not measured


def calibrate(
    device: str = "cpu",
    *,
    rounds: int = 5,
    probes: tuple[tuple[str, dict[str, Any]], ...] = PROBES,
    store: bool = True,
    progress: Callable[[float, float], None] = lambda done, total: None,
) -> Machine:
    """Measure the processor or the GPU and store the result for ``auto``.

    Parameters
    ----------
    device : {"cpu", "cuda"}
    rounds : int
        Timed solves per variant and graph, after a warm-up. The fastest is used, since disturbances
        only add time.
    probes : tuple of (generator, parameters)
        Graphs to measure on.
    store : bool
        Store the result in :func:`nearfar.choose.machine.profile_path`.
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
    base = H200 if device == "cuda" else CPU
    if device == "cuda":
        base = _transfers(base)
    ratios: dict[str, list[float]] = {}
    gains = []
    for done, (family, parameters) in enumerate(probes):
        weighted = generate(family, **parameters)
        for graph in (weighted, weighted.without_weights()):
            progress(2 * done + (graph is not weighted), 2 * len(probes))
            source = int(np.argmax(graph.degrees))
            request = Request(device=device, sources=(source,), threads=1)
            stated = _stated(graph, request, device, base)
            most = _WITHIN * min(seconds for _, seconds in stated)
            for variant, seconds in stated:
                if seconds <= most:
                    found = _fastest(graph, variant, source, 1, rounds)
                    ratios.setdefault(variant.id, []).append(found / seconds)
        if device == "cpu" and default_threads() > 1:
            for variant in (v for v in priced(device, "sssp") if v.parallel):
                one, two = (_fastest(weighted, variant, source, t, rounds) for t in (1, 2))
                gains.append(one / two)
    factors = {identity: statistics.median(found) for identity, found in ratios.items()}
    usual = statistics.median(factors.values())
    every = {v.id for problem in get_args(Problem) for v in priced(device, problem)}
    measured = dataclasses.replace(
        base,
        factors={identity: factors.get(identity, usual) for identity in sorted(every)},
        gain=statistics.median(gains) if gains else base.gain,
        measured=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    if store:
        choose_machine.store(name, measured)
    return measured


def _stated(
    graph: Graph, request: Request, device: str, base: Machine
) -> list[tuple[Variant, float]]:
    """Return the estimated costs of applicable variants, with the graph on their device."""
    if device == "cuda":
        from nearfar.cuda.device_graph import device_graph

        device_graph(graph)
    facts = Facts(graph, base.gain)
    found = []
    for variant in priced(device, "sssp"):
        if variant.fits(graph, request) is True:
            cost = variant.estimate(facts, request)
            found += [] if cost is None else [(variant, cost.seconds)]
    return found


def _fastest(graph: Graph, variant: Variant, source: int, threads: int, rounds: int) -> float:
    """Return the seconds of a variant's fastest solve with its default options."""
    options, work = variant.options(), Workspace(threads)
    taken = []
    for _ in range(max(rounds, 1) + 1):
        began = time.perf_counter()
        stats = variant.run(graph, source, options, work).stats
        wall = time.perf_counter() - began
        taken.append(float(stats.get("device_seconds", wall)))
    return min(taken[1:])


def _transfers(base: Machine) -> Machine:
    """Measure bytes per second to the device, and seconds of a synchronised launch."""
    block = np.zeros(1 << 24, dtype=np.int32)
    speeds, calls = [], []
    for _ in range(5):
        runtime.synchronize()
        began = time.perf_counter()
        uploaded = runtime.upload(block)
        runtime.synchronize()
        speeds.append(block.nbytes / (time.perf_counter() - began))
        little = uploaded[:16]
        began = time.perf_counter()
        runtime.download(little)
        calls.append(time.perf_counter() - began)
    return dataclasses.replace(
        base, transfer=statistics.median(speeds), launch=2 * statistics.median(calls)
    )
