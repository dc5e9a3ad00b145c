"""Workers on cores that other programs use too: a solve does not wait for an absent one twice."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np

import nearfar
from nearfar import _cpu

MS = 1_000_000  # ns
MANY = 8  # helpers; the calling thread can do without one of so many


def test_a_helper_that_is_there_is_never_let_go() -> None:
    helper = _cpu.Attendance()
    now = 0
    helper.joined(now)
    for _ in range(100_000):  # ten seconds of rounds of 100 us, a tenth of each waited for
        now += MS // 10
        assert not helper.late(now, MS // 100, helpers=MANY)
        assert helper.wanted(now)


def test_work_explains_waiting() -> None:
    helper = _cpu.Attendance()
    helper.joined(0)
    assert not helper.late(50 * MS, 40 * MS, owed=40 * MS, helpers=MANY)
    assert not helper.late(
        60 * MS, 5 * MS, owed=40 * MS, helpers=MANY
    )  # and does not count as credit later
    assert helper.late(70 * MS, 5 * MS, owed=MS, helpers=MANY)


def test_one_time_slice_away_is_enough_to_be_let_go_for_eight() -> None:
    helper = _cpu.Attendance()
    helper.joined(0)
    assert helper.late(10 * MS, 4 * MS, helpers=MANY)
    assert helper.pause == 32 * MS
    assert not helper.wanted(10 * MS)
    assert not helper.wanted(42 * MS - 1)
    assert helper.wanted(42 * MS)


def test_one_of_two_workers_may_be_away_for_a_time_slice_now_and_then() -> None:
    helper = _cpu.Attendance()
    helper.joined(0)
    assert not helper.late(10 * MS, 4 * MS)
    assert not helper.late(30 * MS, 4 * MS)  # the first is forgotten
    assert helper.late(36 * MS, 4 * MS)
    assert helper.pause == 32 * MS


def test_one_long_absence_says_little_about_the_next() -> None:
    helper = _cpu.Attendance()
    helper.joined(0)
    assert helper.late(100 * MS, 60 * MS, helpers=MANY)
    assert helper.pause == 32 * MS
    helper.joined(140 * MS)
    assert helper.late(200 * MS, 60 * MS, helpers=MANY)
    assert helper.pause == 32 * MS  # it had been there for 60 ms
    helper.joined(240 * MS)
    assert helper.late(241 * MS, MS, helpers=MANY)
    assert helper.pause == 62 * MS


def test_many_short_waits_add_up() -> None:
    helper = _cpu.Attendance()
    helper.joined(0)
    rounds = 0
    while not helper.late((rounds + 1) * MS // 10, MS // 20, helpers=MANY):  # half of every 100 us
        rounds += 1
        assert rounds < 100
    assert rounds > 5


def test_pauses_double_up_to_a_second_and_service_makes_good() -> None:
    helper = _cpu.Attendance()
    now = 0
    pauses = []
    for _ in range(10):
        helper.joined(now)
        now += 2 * MS
        assert helper.late(now, 2 * MS, helpers=MANY)
        pauses.append(helper.pause)
        now += helper.pause
        assert helper.wanted(now)
    assert pauses[0] == 16 * MS
    assert all(1.5 * a < b <= 2 * a or b == 1000 * MS for a, b in itertools.pairwise(pauses))
    assert pauses[-1] == 1000 * MS
    for _ in range(2000):  # in many short runs it is there
        helper.joined(now)
        now += MS
        helper.left(now)
    helper.joined(now)
    assert helper.late(now + MS, MS, helpers=MANY)
    assert helper.pause == 8 * MS


def test_one_that_comes_to_the_core_of_its_caller_is_spared_for_a_while() -> None:
    helper = _cpu.Attendance()
    now, spared = 0, []
    for _ in range(8):
        helper.joined(now)
        helper.declined(now)
        began = now
        while not helper.wanted(now):
            now += MS // 2
        spared.append(now - began)
    assert spared[:4] == [MS // 2, MS, 2 * MS, 4 * MS]
    assert spared[-1] == 16 * MS
    helper.joined(now)
    helper.left(now + MS)  # it worked elsewhere
    helper.declined(now + MS)
    assert helper.wanted(now + MS + MS // 2)


# On one core, which a busy loop uses as well: eight workers, and one, in turns.
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
    # Measured 2 to 6; 190 while workers met at a barrier that yields its time slice.
    assert ratio < 20
    assert stopped == 8


def test_an_offer_that_was_taken_back_and_stands_again_is_seen() -> None:
    """Helpers that a search did not need meet at barriers in the next call, round after round."""
    grid = nearfar.generate("grid", rows=12, columns=12)
    small = nearfar.generate("uniform_random", vertices=64, degree=4)
    want = nearfar.all_pairs(small, method="floyd_warshall@cpu", threads=1)
    for _ in range(400):
        nearfar.sssp(grid, 0, method="delta_stepping_parallel@cpu", threads=2)
        found = nearfar.all_pairs(small, method="floyd_warshall@cpu", threads=2)
        np.testing.assert_array_equal(found, want)
