"""Workers on cores that other programs use as well."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import nearfar
from nearfar import _cpu

MS = 1_000_000  # ns


def test_one_that_comes_to_the_core_of_its_caller_is_spared_for_a_while() -> None:
    helper = _cpu.Backoff()
    assert helper.over(0)
    now, spared = 0, []
    for _ in range(8):
        helper.declined(now)
        began = now
        while not helper.over(now):
            now += MS // 2
        spared.append(now - began)
    assert spared == [MS // 2, MS, 2 * MS, 4 * MS, 8 * MS, 16 * MS, 16 * MS, 16 * MS]
    helper.reset()  # the helper ran on another core
    helper.declined(now)
    assert not helper.over(now + MS // 2 - 1)
    assert helper.over(now + MS // 2)


# Eight workers and one worker, in alternation, on one core with a busy loop.
CROWDED = """
import os, signal, subprocess, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # inherited by all that follows
import numpy as np
import nearfar
from nearfar.generators import generate

graph = generate("grid", rows=200, columns=200)
truth = nearfar.sssp(graph, 0, method="dijkstra_dary_heap").distances

def solve(threads):
    began = time.perf_counter()
    paths = nearfar.sssp(graph, 0, method="delta_stepping_parallel", threads=threads)
    taken = time.perf_counter() - began
    assert np.array_equal(paths.distances, truth)
    return taken

class Stop(BaseException):
    pass

def stop(*_):
    raise Stop

signal.signal(signal.SIGALRM, stop)
hog = subprocess.Popen([sys.executable, "-c", "while True: pass"])
try:
    one, many, stopped = 0.0, 0.0, 0
    for turn in range(24):
        one += solve(1)
        many += solve(8)
    for turn in range(8):  # from the outside, in the middle of a solve
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.06)
            while True:
                solve(8)
        except Stop:
            stopped += 1
    solve(8)
finally:
    hog.kill()
    hog.wait()
print(many / one, stopped)
"""


def test_eight_workers_on_one_busy_core_cost_little_more_than_one() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CROWDED], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    ratio, stopped = (float(word) for word in done.stdout.split())
    # Measured 2 to 6; 190 with a barrier that yields its time slice.
    assert ratio < 20
    assert stopped == 8


def test_an_offer_that_was_taken_back_and_stands_again_is_seen() -> None:
    """Unneeded helpers of a search meet at barriers in the next call, repeatedly."""
    grid = nearfar.generate("grid", rows=12, columns=12)
    small = nearfar.generate("uniform_random", vertices=64, degree=4)
    want = nearfar.all_pairs(small, method="floyd_warshall@cpu", threads=1)
    for _ in range(400):
        nearfar.sssp(grid, 0, method="delta_stepping_parallel@cpu", threads=2)
        found = nearfar.all_pairs(small, method="floyd_warshall@cpu", threads=2)
        np.testing.assert_array_equal(found, want)
