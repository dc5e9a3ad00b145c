"""Blocks of work over several devices: distribution and failures."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import numpy as np
import pytest

import nearfar
from nearfar.cuda.graph import longer_edges
from nearfar.errors import OptionError, OutOfMemoryError
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.graph.same_distances import backbone
from nearfar.graph.saturation import narrowed
from nearfar.solve.many import all_pairs, distances
from nearfar.solve.rows import files
from nearfar.system.devices import runtime, several
from nearfar.system.devices.several import chosen, each_block, in_turns
from tests.covering import each_value
from tests.graph.test_backbone import hubs

METHOD = "elimination_tree_rows@cuda"


@pytest.fixture
def three(emulated_gpu, monkeypatch):
    """Provide three emulated devices."""
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


@pytest.mark.usefixtures("emulated_gpu")
def test_a_thread_gets_a_context_before_it_calls_the_driver(monkeypatch):
    """A launch in a new thread fails without one, and querying the device creates none."""
    made = []
    plain = runtime.cupy().cuda.runtime.setDevice

    def noted(ordinal):
        made.append((threading.get_ident(), ordinal))
        plain(ordinal)

    monkeypatch.setattr(runtime.cupy().cuda.runtime, "setDevice", noted)

    def work():
        with runtime.on_device(0):
            runtime.device()
            runtime.device()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ordinal for _, ordinal in made] == [0, 0]


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
    """The last block is returned when the others have nothing left to take."""
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
@pytest.mark.parametrize("failing", [{1}, {0, 1, 2}])
@pytest.mark.parametrize(("owner", "name"), [("cuda", "Event"), ("runtime", "on_device")])
def test_a_device_that_fails_outside_its_work(owner, name, failing, monkeypatch):
    """Regression: a taken but unrecorded block made the other devices wait for ever."""
    place = runtime.cupy().cuda if owner == "cuda" else runtime
    original = getattr(place, name)
    done: list[int] = []

    def fails(*given, **named):
        device = given[0] if owner == "runtime" else runtime.device().ordinal
        if device in failing:
            raise RuntimeError(f"device {device} fell off the bus")
        return original(*given, **named)

    monkeypatch.setattr(place, name, fails)
    if len(failing) == 3:
        with pytest.raises(RuntimeError, match="fell off the bus"):
            each_block([0, 1, 2], range(9), lambda: done.append)
    else:
        failed = each_block([0, 1, 2], range(9), lambda: done.append)
        assert set(done) == set(range(9))
        assert set(failed) <= failing


def test_a_device_at_work_leaves_a_block_to_each_that_has_none():
    """Otherwise two blocks for two devices both go to the device whose thread starts first."""
    queue = several._Blocks("abcd", devices=2)
    assert queue.take(first=True) == "a"
    # two more are left, one reserved for a device without work
    assert queue.take(first=False) == "b"
    assert queue.take(first=False) == "c"
    assert queue.take(first=False) is None
    assert queue.take(first=True) == "d"  # the other device
    for _ in range(2):
        queue.done(last=False)
    queue.give_back("d")  # it fails, and takes no more
    assert queue.free == 0
    assert queue.take(first=False) == "d"
    queue.done(last=False)
    queue.done(last=True)
    assert queue.take(first=True) is None
    assert queue.done_ones == 4


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


def plain(dtype, n=90, m=500, unit=0.1):
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 60, m) * (1 if np.dtype(dtype).kind == "i" else unit)
    ends = rng.integers(0, n, (2, m))
    return Graph.from_edges(*ends, weights.astype(dtype), n_vertices=n)


def there(graph):
    """Return the graph built from arrays on the current device."""
    cp = runtime.cupy()
    arrays = (graph.indptr, graph.indices, graph.weights)
    return Graph.from_csr(*(cp.asarray(array) for array in arrays))


@pytest.fixture
def launched(monkeypatch):
    """Record the devices on which kernels for many sources run."""
    seen = set()
    program = runtime.program

    def recorded(files, macros):
        if "batched/" in str(files):
            seen.add(runtime.device().ordinal)
        return program(files, macros)

    monkeypatch.setattr(runtime, "program", recorded)
    return seen


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("method", "dtype"),
    each_value(["block_per_source", "block_per_source_global", "lanes"], [np.int32, np.float64]),
)
def test_rows_of_a_plain_graph_over_devices(method, dtype, launched, tmp_path):
    graph = plain(dtype)
    truth = all_pairs(graph, device="cpu")
    call = {"method": f"{method}@cuda", "devices": "all"}
    stats = {}
    np.testing.assert_array_equal(all_pairs(graph, stats=stats, **call), truth)
    assert stats["devices"] == [0, 1, 2]
    assert launched == {0, 1, 2}
    given = np.empty(truth.shape, dtype)
    assert all_pairs(graph, out=given, block=8, **call) is given
    np.testing.assert_array_equal(given, truth)
    np.testing.assert_array_equal(
        distances(graph, range(40), targets=[5, 80, 5], **call), truth[:40][:, [5, 80, 5]]
    )
    for name in ("rows.npy", "rows.zarr", "rows.parquet"):
        all_pairs(graph, out=tmp_path / name, block=7, **call)
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), truth)
    sparse = all_pairs(graph, out="csr", limit=60, block=11, **call)
    wanted = all_pairs(graph, out="csr", limit=60, device="cpu")
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(sparse, part), getattr(wanted, part))
    pairs = [(3, 4), (77, 2), (3, 9)]
    np.testing.assert_array_equal(
        distances(graph, pairs=pairs, **call), distances(graph, pairs=pairs, device="cpu")
    )
    found, before = all_pairs(graph, predecessors=True, **call)
    np.testing.assert_array_equal(found, truth)
    np.testing.assert_array_equal(before, all_pairs(graph, predecessors=True, device="cpu")[1])


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("reduce", ["sum", "mean", "summary", "nearest:4", ("histogram", [0, 9])])
@pytest.mark.parametrize("on_device", [False, True])
def test_reductions_over_devices(reduce, on_device, launched):
    graph = plain(np.int32)
    wanted = distances(graph, range(80), reduce=reduce, device="cpu")
    used = there(graph) if on_device else graph
    call = {"method": "block_per_source@cuda", "devices": "all", "block": 9}
    found = distances(used, range(80), reduce=reduce, **call)
    found, wanted = (a if isinstance(a, tuple) else (a,) for a in (found, wanted))
    for part, truth in zip(found, wanted, strict=True):
        assert runtime.is_device_array(part) is on_device
        np.testing.assert_array_equal(np.asarray(part), truth)
    assert launched == {0, 1, 2}


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("method", ["block_per_source", "block_per_source_global", "lanes"])
@pytest.mark.parametrize("reach", [True, False])
def test_rows_that_stay_on_a_device(method, reach, launched, monkeypatch):
    """With a link each device writes to the rows; without one, rows are copied."""
    several.open_way.cache_clear()
    module = runtime.cupy().cuda.runtime
    monkeypatch.setattr(module, "deviceCanAccessPeer", lambda *_: int(reach))
    graph = plain(np.int32, m=900)
    truth = all_pairs(graph, device="cpu")
    call = {"method": f"{method}@cuda", "devices": "all"}
    out = runtime.cupy().empty(truth.shape, np.int32)
    assert all_pairs(graph, out=out, **call) is out
    np.testing.assert_array_equal(out.get(), truth)
    assert launched == {0, 1, 2}
    found = all_pairs(there(graph), **call)
    assert runtime.is_device_array(found)
    np.testing.assert_array_equal(found.get(), truth)
    wide = runtime.cupy().empty(truth.shape, np.int64)
    all_pairs(graph, out=wide, **call)
    np.testing.assert_array_equal(narrowed(wide.get(), np.dtype(np.int32)), truth)
    several.open_way.cache_clear()


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_fewer_edges_over_devices(dtype, launched, monkeypatch):
    monkeypatch.setattr(backbone, "MANY_EDGES", 1)
    monkeypatch.setattr(longer_edges, "_SECONDS", (1e-15, 0.0))
    monkeypatch.setattr(runtime, "compiling_in_background", lambda _=True: nullcontext())
    graph, stats = hubs(dtype, False, 300), {}
    wanted = distances(graph, method="dijkstra", device="cpu")
    for _ in range(2):
        found = distances(graph, device="cuda", devices="all", stats=stats)
        assert "without edges that are longer" in stats["reason"]
        np.testing.assert_array_equal(found, wanted)
    assert launched == {0, 1, 2}
    sums = distances(graph, device="cuda", devices="all", reduce="sum")
    np.testing.assert_array_equal(sums, distances(graph, device="cpu", reduce="sum"))


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("reduce", [None, "max"])
def test_rows_that_need_64_bits_over_devices(reduce):
    n = 40
    graph = Graph.from_edges(range(n - 1), range(1, n), np.full(n - 1, 2**27, np.int32))
    call = {"method": "block_per_source@cuda", "devices": "all", "block": 5}
    found = all_pairs(graph, reduce=reduce, **call)
    wanted = all_pairs(graph, reduce=reduce, device="cpu")
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    if reduce is None:
        np.testing.assert_array_equal(all_pairs(there(graph), **call).get(), wanted)


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize("stay", [False, True])
def test_a_device_that_fails_leaves_its_rows_to_the_others(stay, monkeypatch):
    graph = plain(np.int32)
    truth = all_pairs(graph, device="cpu")
    free = runtime.memory

    def memory():
        return (100, 100) if runtime.device().ordinal == 1 else free()

    monkeypatch.setattr(runtime, "memory", memory)
    stats = {}
    out = runtime.cupy().empty(truth.shape, np.int32) if stay else None
    call = {"method": "block_per_source@cuda", "stats": stats}
    if not stay:
        call["block"] = 2  # enough for each device to take one
    found = all_pairs(graph, out=out, devices="all", **call)
    np.testing.assert_array_equal(found.get() if stay else found, truth)
    assert set(stats.get("failed_devices", {})) <= {1}
    with pytest.raises(OutOfMemoryError):
        all_pairs(graph, out=out, devices=[1], **call)


@pytest.mark.usefixtures("three")
def test_an_error_of_the_request_ends_the_run_at_once(tmp_path, monkeypatch):
    """A full disk is full for every device."""
    graph, tried = plain(np.int32), []

    def full(self, number, first, rows):
        tried.append(number)
        raise OSError(28, "no space left")

    monkeypatch.setattr(files.FileSink, "put", full)
    with pytest.raises(OSError, match="no space left"):
        all_pairs(graph, out=tmp_path / "a.npy", block=1, devices="all", method="lanes@cuda")
    assert len(tried) <= 3


@pytest.mark.usefixtures("three")
def test_progress_is_told_in_the_callers_thread():
    told = []
    here = threading.current_thread()

    def progress(done, rows):
        assert threading.current_thread() is here
        told.append((done, rows))

    all_pairs(plain(np.int32), block=20, devices="all", method="lanes@cuda", progress=progress)
    assert told == sorted(told)
    all_pairs(plain(np.int32), block=20, devices=[2], method="lanes@cuda", progress=progress)
    assert told[-1] == (90, 90)


@pytest.mark.usefixtures("three")
def test_devices_go_with_cuda_methods():
    graph = plain(np.int32)
    with pytest.raises(OptionError, match="devices requires device='cuda'"):
        all_pairs(graph, devices="all", device="cpu")
    with pytest.raises(OptionError, match="names cpu, but device is 'cuda'"):
        all_pairs(graph, devices="all", method="lanes@cpu")
    with pytest.raises(OptionError, match="names 3: there are 3"):
        all_pairs(graph, devices=[3])
    stats = {}
    found = all_pairs(graph, devices="all", stats=stats)  # the chooser ranks CUDA methods only
    np.testing.assert_array_equal(found, all_pairs(graph, device="cpu"))
    assert stats["devices"] == [0, 1, 2]
    singly = distances(graph, range(20), devices="all", method="near_far@cuda")
    np.testing.assert_array_equal(singly, distances(graph, range(20), device="cpu"))


@pytest.mark.usefixtures("three")
def test_devices_in_turns():
    """All get work before one is waited for; a failed block goes to another device."""
    told = []
    broken = {1}

    def work(block):
        here = runtime.device().ordinal
        told.append(("launch", block, here))
        yield
        if here in broken:
            raise OutOfMemoryError(2, 1, "")
        told.append(("wait", block, here))
        yield
        return block * 10

    found, failed = in_turns([5, 6, 7], [0, 1, 2], work)
    assert found == [50, 60, 70]
    assert list(failed) == [1]
    assert told[:5] == [
        *(("launch", block, here) for block, here in ((5, 0), (6, 1), (7, 2))),
        *(("wait", block, here) for block, here in ((5, 0), (7, 2))),
    ]
    assert told[5:] == [("launch", 6, 0), ("wait", 6, 0)]
    assert in_turns([], [0], work) == ([], {})
    broken |= {0, 2}
    with pytest.raises(OutOfMemoryError):
        in_turns([1, 2], [0, 1, 2], work)

    def refuses(block):
        yield
        raise OptionError("wrong on every device")

    with pytest.raises(OptionError):
        in_turns([1], [0, 1], refuses)


@pytest.mark.usefixtures("three")
def test_a_reduction_whose_device_has_no_memory(monkeypatch):
    prepared = nearfar.prepare(generate("grid", rows=12, columns=15), force=True)
    truth = all_pairs(prepared, reduce="summary", device="cpu")
    plenty = runtime.memory()
    monkeypatch.setattr(
        runtime, "memory", lambda: (5000, 5000) if runtime.device().ordinal == 1 else plenty
    )
    stats = {}
    found = all_pairs(prepared, method=METHOD, reduce="summary", devices="all", stats=stats)
    for one, other in zip(found, truth, strict=True):
        np.testing.assert_array_equal(one, other)
    assert list(stats["failed_devices"]) == [1]
    assert stats["rows_never_made"] == 180
