"""Blocks of work over several devices: who takes what, and what happens when one fails."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import nearfar
from nearfar.errors import OptionError, OutOfMemoryError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs, distances
from nearfar.system.devices import runtime
from nearfar.system.devices.several import chosen, each_block

METHOD = "elimination_tree_rows@cuda"


@pytest.fixture
def three(emulated_gpu, monkeypatch):
    """Three emulated devices."""
    monkeypatch.setattr(runtime.cupy().cuda.runtime, "getDeviceCount", lambda: 3)


@pytest.mark.usefixtures("three")
def test_names_of_devices():
    assert chosen(None) == [0]
    assert chosen("all") == [0, 1, 2]
    assert chosen([2, 0]) == [2, 0]
    assert chosen("1,2") == [1, 2]
    assert chosen(1) == [1]
    with runtime.on_device(2):
        assert chosen(None) == [2]
    for wrong in ("", "gpu", [0, 0], [], [0.5, "x"], True, object()):
        with pytest.raises(OptionError, match="devices is"):
            chosen(wrong)
    with pytest.raises(OptionError, match="names 3: there are 3"):
        chosen([0, 3])


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("failing", [(), (1,), (0, 2)])
def test_every_block_is_done_once_and_a_failing_device_gives_its_block_back(failing):
    done: dict[int, int] = {}
    lock = threading.Lock()

    def begin():
        here = runtime.device().ordinal
        if here in failing:
            raise OutOfMemoryError(10, 5, f"device {here}")

        def work(block):
            assert runtime.device().ordinal == here
            with lock:
                assert block not in done
                done[block] = here

        return work

    failed = each_block([0, 1, 2], range(50), begin)
    assert sorted(done) == list(range(50))
    assert set(done.values()) <= {0, 1, 2} - set(failing)
    assert set(failed) <= set(failing)


@pytest.mark.usefixtures("three")
def test_a_device_that_fails_late_leaves_its_block_to_one_that_waits():
    """The last block is given back when the others have nothing left to take."""
    taken = threading.Event()
    done = []

    def begin():
        here = runtime.device().ordinal

        def work(block):
            if block == 0 and not taken.is_set():
                taken.set()
                while len(done) < 2:
                    pass
                raise RuntimeError("the device fell off the bus")
            taken.wait()
            done.append((block, here))

        return work

    failed = each_block([0, 1, 2], [0, 1, 2], begin)
    assert sorted(block for block, _ in done) == [0, 1, 2]
    assert len(failed) == 1


@pytest.mark.usefixtures("three")
def test_when_all_fail_the_first_error_is_raised():
    def begin():
        raise OutOfMemoryError(10, 5, "use less")

    with pytest.raises(OutOfMemoryError, match="use less"):
        each_block([0, 1, 2], range(4), begin)
    with pytest.raises(OutOfMemoryError, match="use less"):
        each_block([1], range(4), begin)


@pytest.mark.usefixtures("three")
def test_ctrl_c_ends_the_run(monkeypatch):
    done = []

    def join(self, timeout=None):
        if threading.current_thread() is threading.main_thread() and timeout is not None:
            raise KeyboardInterrupt
        original(self, timeout)

    original = threading.Thread.join
    monkeypatch.setattr(threading.Thread, "join", join)
    go = threading.Event()

    def begin():
        def work(block):
            go.wait(0.05)
            done.append(block)

        return work

    with pytest.raises(KeyboardInterrupt):
        each_block([0, 1], range(1000), begin)
    assert len(done) < 1000


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_rows_of_a_prepared_graph_over_devices(dtype):
    graph = generate("grid", rows=12, columns=15)
    rng = np.random.default_rng(1)
    weights = (rng.integers(1, 50, graph.n_edges) * (1 if dtype == np.int32 else 0.1)).astype(dtype)
    prepared = nearfar.prepare(Graph(graph.indptr, graph.indices, weights), force=True)
    truth = all_pairs(prepared, device="cpu")
    stats = {}
    found = all_pairs(prepared, method=METHOD, devices="all", sweep=32, stats=stats)
    np.testing.assert_array_equal(found, truth)
    assert stats["devices"] == [0, 1, 2]
    assert stats["sweeps"] == 6
    out = runtime.cupy().empty(truth.shape, dtype)
    all_pairs(prepared, method=METHOD, devices=[2, 1], sweep=32, out=out)
    np.testing.assert_array_equal(out.get(), truth)
    columns = [5, 100, 5]
    table = distances(prepared, range(90), targets=columns, method=METHOD, devices="all", sweep=16)
    np.testing.assert_array_equal(table, truth[:90][:, columns])


@pytest.mark.usefixtures("three")
def test_a_device_without_memory_is_reported(monkeypatch):
    prepared = nearfar.prepare(generate("grid", rows=12, columns=15), force=True)
    truth = all_pairs(prepared, device="cpu")
    plenty = runtime.memory()
    monkeypatch.setattr(
        runtime, "memory", lambda: (5000, 5000) if runtime.device().ordinal == 1 else plenty
    )
    stats = {}
    found = all_pairs(prepared, method=METHOD, devices="all", sweep=8, stats=stats)
    np.testing.assert_array_equal(found, truth)
    assert list(stats["failed_devices"]) in ([1], [])
    with pytest.raises(OutOfMemoryError):
        all_pairs(prepared, method=METHOD, devices=[1])
