"""Rows on a real cluster of two processes: the same bits, whichever worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nearfar
from nearfar import scale
from nearfar.errors import (
    ClusterError,
    DistanceOverflowError,
    OptionError,
    VariantUnavailable,
    VertexError,
)
from nearfar.generators import generate
from nearfar.graph.graph import Graph
from nearfar.system.devices import runtime
from nearfar.system.output import only_writer
from tests.program import PROGRAM, fail, succeed

distributed = pytest.importorskip("distributed")
zarr = pytest.importorskip("zarr")

SLOW = "dijkstra_array@cpu"  # slow per row


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Provide two workers, each a process with one thread; a killed one is restarted."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0",
        memory_limit="2GiB",
    ) as made:  # fmt: skip
        yield made


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster, set_as_default=False) as made:
        yield made


def mesh(size: int = 30) -> Graph:
    return generate("grid", rows=size, columns=size)


def rows_of(path: Path) -> NDArray[Any]:
    return np.asarray(zarr.open(str(path), mode="r")[:])


def manifest(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(f"{path}.manifest.json").read_text())
    return found


def wait_for(what: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def addresses(client: Any) -> set[str]:
    return set(client.scheduler_info()["workers"])


@pytest.fixture(autouse=True)
def two_workers(client: Any) -> None:
    """Wait for both workers: on a busy machine the scheduler loses one and starts it again."""
    wait_for(lambda: len(addresses(client)) == 2)


def wait_for_two(client: Any, before: set[str]) -> None:
    """Wait until a killed worker has been restarted, for the next test."""
    wait_for(lambda: len(addresses(client)) == 2 and addresses(client) != before)


def notes(path: Path) -> int:
    return len(list(Path(f"{path}.blocks").glob("[0-9]*.json")))


def test_rows_are_those_of_one_machine_and_a_run_goes_on_where_one_stopped(client, tmp_path):
    graph = mesh()
    truth = nearfar.all_pairs(graph, device="cpu")
    here, there = tmp_path / "here.zarr", tmp_path / "there.zarr"
    nearfar.all_pairs(graph, out=here, block=70, device="cpu")
    stats: dict[str, Any] = {}
    told: list[tuple[float, float]] = []
    found = scale.distances(
        client, graph, out=there, block=70, stats=stats, progress=lambda *at: told.append(at)
    )
    np.testing.assert_array_equal(found[:], truth)
    assert (stats["blocks"], stats["kept"], stats["rows_per_block"]) == (13, 0, 70)
    assert sum(stats["engines"].values()) == 13
    assert told[-1] == (900, 900)
    # Files equal those of one machine except for the name of the engine.
    one, other = manifest(here), manifest(there)
    assert one.pop("engine") != other.pop("engine")
    assert one == other
    assert sorted(p.relative_to(here) for p in here.rglob("*")) == sorted(
        p.relative_to(there) for p in there.rglob("*")
    )
    # Each resumes from the other's blocks.
    nearfar.all_pairs(graph, out=there, device="cpu", stats=stats)
    lost = there / "c" / "2" / "0"
    lost.write_bytes(lost.read_bytes()[:-9])
    scale.distances(client, graph, out=there, stats=stats)
    assert (stats["blocks"], stats["kept"]) == (13, 12)
    np.testing.assert_array_equal(rows_of(there), truth)
    assert not Path(f"{there}.blocks").exists()


def test_targets_limits_names_and_reductions(client, tmp_path):
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 80, (2, 400))
    named = Graph.from_edges(
        *[[f"v{i}" for i in side] for side in ends], rng.integers(1, 9, 400).astype(np.int32)
    )
    sources, targets = ["v5", "v9", "v5"], ["v3", "v70"]
    call: dict[str, Any] = {"targets": targets, "limit": 14}
    found = scale.distances(client, named, sources, out=tmp_path / "a.zarr", **call)
    np.testing.assert_array_equal(found[:], nearfar.distances(named, sources, **call))
    for reduce in ("mean", "summary", "nearest:3", ("histogram", [0, 5, 9])):
        got = scale.distances(client, named, reduce=reduce, block=17)
        wanted = nearfar.all_pairs(named, reduce=reduce)
        parts = [x if isinstance(x, tuple) else (x,) for x in (got, wanted)]
        for a, b in zip(*parts, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
    empty = scale.distances(client, named, [], out=tmp_path / "none.zarr")
    assert empty.shape == (0, named.n_vertices)


def test_a_file_is_read_by_each_worker(client, tmp_path):
    graph = mesh(20)
    nearfar.write(graph, tmp_path / "mesh.nfg")
    nearfar.prepare(graph, force=True).save(tmp_path / "mesh.nfp")
    truth = nearfar.all_pairs(graph, reduce="sum", device="cpu")
    for name in ("mesh.nfg", "mesh.nfp"):
        found = scale.distances(client, tmp_path / name, reduce="sum", seconds=0.05)
        np.testing.assert_array_equal(found, truth)


def test_a_worker_that_cannot_read_the_file(client, tmp_path, monkeypatch):
    nearfar.write(mesh(5), tmp_path / "mesh.nfg")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ClusterError, match=r"worker tcp://.* cannot read /proc/self/cwd/mesh.nfg"):
        scale.distances(client, "/proc/self/cwd/mesh.nfg", reduce="max")
    (tmp_path / "there").mkdir()
    nearfar.write(mesh(6), tmp_path / "there" / "mesh.nfg")
    client.run(os.chdir, str(tmp_path / "there"))
    with pytest.raises(ClusterError, match=r"reads a different graph from /proc/self/cwd/mesh.nfg"):
        scale.distances(client, "/proc/self/cwd/mesh.nfg", reduce="max")
    with pytest.raises(ClusterError, match="does not see the client's run in"):
        scale.distances(client, mesh(5), out="/proc/self/cwd/rows.zarr")
    client.run(os.chdir, "/")


def test_a_worker_killed_in_mid_run_costs_its_blocks_alone(client, tmp_path):
    graph, path = mesh(20), tmp_path / "rows.zarr"
    before = addresses(client)
    workers = {w["pid"] for w in client.run(lambda: {"pid": os.getpid()}).values()}

    def kill() -> None:
        wait_for(lambda: notes(path) >= 3)
        os.kill(min(workers), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    stats: dict[str, Any] = {}
    found = scale.distances(client, graph, out=path, block=6, method=SLOW, stats=stats)
    killer.join()
    np.testing.assert_array_equal(found[:], nearfar.all_pairs(graph, device="cpu"))
    assert stats["blocks"] == 67
    assert not list(path.rglob("*.partial"))
    wait_for_two(client, before)


CLIENT = """
import sys, nearfar
from nearfar import scale
from nearfar.generators import generate
if __name__ == "__main__":
    graph = generate("grid", rows=20, columns=20)
    scale.distances(sys.argv[1], graph, out=sys.argv[2], block=6, method=sys.argv[3])
"""


def test_a_killed_client_goes_on_and_solves_no_finished_block_again(cluster, client, tmp_path):
    path = tmp_path / "rows.zarr"
    words = [sys.executable, "-c", CLIENT, cluster.scheduler_address, str(path), SLOW]
    with subprocess.Popen(words) as process:
        wait_for(lambda: notes(path) >= 5)
        with pytest.raises(OptionError, match="is being written by process"):
            scale.distances(client, mesh(20), out=path)
        process.send_signal(signal.SIGKILL)
    assert Path(f"{path}.blocks").exists()
    assert not manifest(path)["complete"]
    written = {
        note.name: note.stat().st_mtime_ns for note in Path(f"{path}.blocks").glob("[0-9]*.json")
    }
    seen: dict[str, int] = {}

    def look(done: float, rows: float) -> None:
        for note in Path(f"{path}.blocks").glob("[0-9]*.json"):
            seen[note.name] = note.stat().st_mtime_ns

    stats: dict[str, Any] = {}
    graph = mesh(20)
    found = scale.distances(client, graph, out=path, method=SLOW, stats=stats, progress=look)
    np.testing.assert_array_equal(found[:], nearfar.all_pairs(graph, device="cpu"))
    assert stats["kept"] >= len(written) >= 5
    assert stats["rows_per_block"] == 6
    assert {name: seen[name] for name in written} == written
    assert manifest(path)["complete"]


def test_an_output_with_another_request_and_a_run_that_is_under_way(client, tmp_path):
    path = tmp_path / "rows.zarr"
    scale.distances(client, mesh(6), out=path)
    with pytest.raises(OptionError, match=r"holds another run .different graph"):
        scale.distances(client, mesh(7), out=path)
    with pytest.raises(OptionError, match=r"holds another run .different limit"):
        scale.distances(client, mesh(6), out=path, limit=3)
    with only_writer(path), pytest.raises(OptionError, match="is being written by"):
        scale.distances(client, mesh(6), out=path)
    np.testing.assert_array_equal(rows_of(path), nearfar.all_pairs(mesh(6)))


def test_a_worker_whose_client_has_gone_writes_nothing(tmp_path):
    """Its block could otherwise enter a later run of the folder."""
    from nearfar.scale.work import Given, Job, solve_block

    graph, path = mesh(4), tmp_path / "rows.zarr"
    nearfar.all_pairs(graph, out=path, block=16, device="cpu")
    before = {p: p.stat().st_mtime_ns for p in path.rglob("*")}
    call = {"method": "auto", "device": "cpu", "threads": 1}
    job = Job(call, "other", str(path), str(tmp_path / "token"), (16, 16), np.dtype(np.int32), 16)
    given = Given(graph, graph.digest(), None)
    distributed_worker = type("Worker", (), {"address": "tcp://here"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed, "get_worker", distributed_worker)
        with pytest.raises(ClusterError, match="tcp://here does not see the client's run"):
            solve_block(given, job, 0, np.arange(16), None)
    assert {p: p.stat().st_mtime_ns for p in path.rglob("*")} == before


def test_what_a_worker_raises_arrives_and_the_cluster_stays_usable(client, tmp_path):
    n = 40
    path = Graph.from_edges(range(n - 1), range(1, n), np.full(n - 1, 2**27, np.int32))
    with pytest.raises(DistanceOverflowError, match="does not fit int32"):
        scale.distances(client, path, out=tmp_path / "a.zarr", block=3)
    cycle = Graph.from_edges([0, 1], [1, 0], [-2, 1])
    with pytest.raises(nearfar.NegativeCycleError):
        scale.distances(client, cycle, reduce="max")
    with pytest.raises(OptionError, match="has no option 'detla'"):
        scale.distances(client, mesh(4), reduce="max", method="delta_stepping", detla=3)
    with pytest.raises(VertexError):
        scale.distances(client, mesh(4), [99], reduce="max")
    for wrong, words in (
        ({}, "give out='rows.zarr'"),
        ({"out": "a.zarr", "reduce": "max"}, "give out='rows.zarr'"),
        ({"out": "rows.npy"}, "a cluster writes .zarr"),
        ({"reduce": "max", "block": 0}, "at least 1 row"),
        ({"reduce": "max", "seconds": 0}, "greater than 0"),
        ({"reduce": "most"}, "reduce is 'most'"),
    ):
        with pytest.raises(OptionError, match=words):
            scale.distances(client, mesh(4), **wrong)
    assert scale.distances(client, mesh(4), reduce="count").tolist() == [15] * 16


def test_versions_that_differ_and_workers_without_the_package(client, monkeypatch):
    monkeypatch.setattr(nearfar, "__version__", "9.9")
    with pytest.raises(ClusterError, match=r"nearfar is \S+ on workers? tcp://.*, but 9.9 on"):
        scale.distances(client, mesh(4), reduce="max")
    monkeypatch.undo()

    def hide(away: bool) -> None:
        import sys

        if away:
            sys.modules["hidden nearfar"] = sys.modules["nearfar"]
            sys.modules["nearfar"] = None
        else:
            sys.modules["nearfar"] = sys.modules.pop("hidden nearfar")

    one = sorted(client.run(os.getpid))[0]
    client.run(hide, True, workers=[one])
    try:
        with pytest.raises(ClusterError, match=f"nearfar is not installed on worker '?{one}"):
            scale.distances(client, mesh(4), reduce="max")
    finally:
        client.run(hide, False, workers=[one])


def test_no_cluster_at_the_address_and_one_without_workers(client):
    with pytest.raises(ClusterError, match=r"no cluster answers at tcp://127.0.0.1:9"):
        scale.connect("tcp://127.0.0.1:9", timeout=0.2)
    with pytest.raises(ClusterError, match=r"'nonsense' is not the address of a cluster"):
        scale.connect("nonsense")
    graph = nearfar.Graph.from_edges([0], [1], [3])
    with pytest.raises(ClusterError, match="client is None: give a distributed"):
        scale.distances(None, graph, reduce="max")
    with pytest.raises(OptionError, match="block is 'all': give an integer"):
        scale.distances(client, graph, reduce="max", block="all")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty,
        pytest.raises(ClusterError, match="has no workers"),
    ):
        scale.distances(empty.scheduler_address, mesh(4), reduce="max")


def test_resources_and_devices_that_no_worker_has(client, tmp_path):
    with pytest.raises(ClusterError, match=r'no worker has the resources .*--resources "GPU=1"'):
        scale.distances(client, mesh(4), reduce="max", resources={"GPU": 1})
    if runtime.available() is not True:
        for wrong in ({"device": "cuda"}, {"devices": [7]}):
            with pytest.raises(VariantUnavailable, match=r"worker tcp://\S+: no CUDA device"):
                scale.distances(client, mesh(4), out=tmp_path / "a.zarr", **wrong)
            assert not (tmp_path / "a.zarr").exists()
    (tmp_path / "b.zarr").mkdir()
    with pytest.raises(OptionError, match="exists without a manifest"):
        scale.distances(client, mesh(4), out=tmp_path / "b.zarr")


def test_a_block_that_ends_its_workers(client, monkeypatch, tmp_path):
    """Lack of memory looks like this; the run must end."""
    from nearfar.scale import rows

    def ends(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    before = addresses(client)
    ends.__module__ = "__main__"  # sent by value
    monkeypatch.setattr(rows, "solve_block", ends)
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    with pytest.raises(
        ClusterError, match=r"ended while solving the same block.* finished blocks are kept"
    ):
        scale.distances(client, mesh(4), out=tmp_path / "a.zarr", block=16)
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 3))
    wait_for_two(client, before)


def test_from_a_shell(cluster, tmp_path):
    nearfar.write(mesh(8), tmp_path / "mesh.nfg")
    words = ["distances", tmp_path / "mesh.nfg", "--cluster", cluster.scheduler_address]
    path = tmp_path / "rows.zarr"
    succeed(*words, "-o", path)
    np.testing.assert_array_equal(rows_of(path), nearfar.all_pairs(mesh(8)))
    wanted = json.loads(succeed(*words[:2], "--reduce", "mean", "--json"))
    assert json.loads(succeed(*words, "--reduce", "mean", "--json")) == wanted
    assert "--pair cannot be combined with --cluster" in fail(2, *words, "--pair", "1", "2")
    before = ["--predecessors-output", tmp_path / "before.npy"]
    assert "--cluster cannot be combined with --predecessors-output" in fail(2, *words, *before)
    assert "a cluster writes .zarr" in fail(2, *words, "-o", tmp_path / "a.npy")
    assert PROGRAM
