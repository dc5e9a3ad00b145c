"""Rows in files: formats, identity of a run, and resuming after a kill."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import nearfar
from nearfar.errors import DistanceOverflowError, OptionError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs, distances
from nearfar.solve.rows.row_files import read_rows

FORMATS = [".npy", ".parquet", ".zarr"]


def graph_of(seed=1, n=90, m=400):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 60, m).astype(np.int32)
    return Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), weights, n_vertices=n)


def contents(path):
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".parquet":
        sources, rows = read_rows(path)
        assert (np.diff(sources) > 0).all()
        return rows
    zarr = pytest.importorskip("zarr")
    return np.asarray(zarr.open(str(path), mode="r")[:])


@pytest.fixture(params=FORMATS)
def path(request, tmp_path):
    if request.param == ".zarr":
        pytest.importorskip("zarr")
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return tmp_path / f"rows{request.param}"


def manifest(path):
    return json.loads(path.with_name(path.name + ".manifest.json").read_text())


def test_rows_are_those_of_the_matrix(path):
    graph = graph_of()
    all_pairs(graph, out=path, block=13)
    np.testing.assert_array_equal(contents(path), all_pairs(graph))
    known = manifest(path)
    assert known["complete"] is True
    assert len(known["blocks"]) == 7
    assert known["graph"] == graph.digest()


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
@pytest.mark.parametrize("targets", [None, [7, 3, 3, 60]])
def test_values_come_back_as_they_are(path, dtype, targets):
    """Every dtype bit for bit, including unreached values and chosen columns."""
    graph = graph_of(seed=5, n=80, m=110).astype(dtype)
    if np.dtype(dtype).kind == "f":
        graph = Graph.from_csr(graph.indptr, graph.indices, graph.weights / 7)
    sources = [5, 9, 11, 40, 41, 79]
    truth = distances(graph, sources, targets=targets)
    assert (truth == unreached_value(truth.dtype)).any()
    distances(graph, sources, targets=targets, out=path, block=4)
    found = contents(path)
    assert found.dtype == truth.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, truth)
    if path.suffix == ".parquet":
        np.testing.assert_array_equal(read_rows(path)[0], sources)


def test_a_finished_run_solves_nothing_again(path):
    graph = graph_of()
    all_pairs(graph, out=str(path), block=13)
    stats = {}
    all_pairs(graph, out=str(path), stats=stats)
    assert "edges_relaxed" not in stats
    np.testing.assert_array_equal(contents(path), all_pairs(graph))


def test_a_damaged_block_is_solved_again(path):
    graph = graph_of()
    all_pairs(graph, out=path, block=13)
    if path.suffix == ".npy":
        data = np.load(path, mmap_mode="r+")
        data[15, 3] += 1
        data.flush()
        del data
    elif path.suffix == ".parquet":
        (path / "block-000001.parquet").write_bytes(b"PAR1")
    else:
        zarr = pytest.importorskip("zarr")
        zarr.open(str(path), mode="r+")[15, 3] += 1
    stats = {}
    all_pairs(graph, out=path, stats=stats)
    assert stats["edges_relaxed"] > 0
    np.testing.assert_array_equal(contents(path), all_pairs(graph))


def test_another_run_under_the_same_name_is_refused(path):
    graph = graph_of()
    distances(graph, [1, 2, 3], out=path)
    for other in (
        lambda: distances(graph, [1, 2, 4], out=path),
        lambda: distances(graph, [1, 2, 3], targets=[0], out=path),
        lambda: distances(graph, [1, 2, 3], limit=5, out=path),
        lambda: distances(graph_of(2), [1, 2, 3], out=path),
        lambda: distances(graph.astype(np.float64), [1, 2, 3], out=path),
    ):
        with pytest.raises(OptionError, match="another run"):
            other()
    manifest_file = path.with_name(path.name + ".manifest.json")
    manifest_file.write_text("{")
    with pytest.raises(OptionError, match="damaged"):
        distances(graph, [1, 2, 3], out=path)
    manifest_file.unlink()
    with pytest.raises(OptionError, match="without a manifest"):
        distances(graph, [1, 2, 3], out=path)


def test_sums_that_do_not_fit_are_an_error_and_not_a_file_of_two_dtypes(tmp_path):
    graph = Graph.from_edges([0, 1], [1, 2], np.array([2**31 - 2, 9], dtype=np.int32))
    with pytest.raises(DistanceOverflowError, match="int64"):
        all_pairs(graph, out=tmp_path / "d.npy")
    got = all_pairs(graph.astype(np.int64), out=tmp_path / "wide.npy")
    assert got[0].tolist() == [0, 2**31 - 2, 2**31 + 7]


def test_nothing_to_write(tmp_path):
    got = distances(graph_of(), [], out=tmp_path / "none.npy")
    assert got.shape == (0, 90)


GRAPH = """
import contextlib, importlib, os, pathlib, signal, sys, time
import numpy as np
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs
import nearfar.solve.rows.files as store
import nearfar.solve.rows.row_files as forms
rng = np.random.default_rng(1)
w = rng.integers(1, 60, 400).astype(np.int32)
g = Graph.from_edges(rng.integers(0, 90, 400), rng.integers(0, 90, 400), w, n_vertices=90)
"""
CHILD = (
    GRAPH
    + """
put = store.FileSink.put
def slow(self, number, first, rows):
    put(self, number, first, rows)
    time.sleep(0.05 if number < 20 else 1)  # it is killed in time on a busy machine, too
store.FileSink.put = slow
print("ready", flush=True)
all_pairs(g, out=sys.argv[1], block=3)
"""
)
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(nearfar.__file__).parents[1])}


def slow_writer(path):
    """Start a process that writes blocks of 3 rows, with a pause after each."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path)], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.stdout.close()
    return child


def wait_for_blocks(path, child, wanted):
    file = path.with_name(path.name + ".manifest.json")
    deadline = time.monotonic() + 60
    while not file.exists() or len(manifest(path)["blocks"]) < wanted:
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.005)


@pytest.mark.parametrize("seed", range(2))
def test_resume_after_kill_at_a_random_block(path, seed):
    """SIGKILL after a random number of blocks; the next run keeps them and finishes the rest."""
    child = slow_writer(path)
    wanted = int(np.random.default_rng(seed).integers(1, 20))
    wait_for_blocks(path, child, wanted)
    child.send_signal(signal.SIGKILL)
    child.wait()
    done = len(manifest(path)["blocks"])
    assert wanted <= done < 30
    assert manifest(path)["complete"] is False
    graph, stats = graph_of(), {}
    all_pairs(graph, out=path, method="worker_per_source", device="cpu", stats=stats)
    assert stats["iterations"] == 90 - 3 * done
    assert manifest(path)["complete"] is True
    np.testing.assert_array_equal(contents(path), all_pairs(graph))


#: Worst places for a kill: function, number of the call, before or after it.
KILLS = {
    "before the data": ("DATA", "open", 1, "before"),
    "after the data appeared": ("DATA", "open", 1, "after"),
    "before the first manifest has its name": ("pathlib.Path", "replace", 1, "before"),
    "after the second name": ("pathlib.Path", "replace", 2, "after"),
    "before the third name": ("pathlib.Path", "replace", 3, "before"),
    "before the fourth name": ("pathlib.Path", "replace", 4, "before"),
    "before the disk space is taken": ("forms", "_reserve", 1, "before"),
    "after the disk space was taken": ("forms", "_reserve", 1, "after"),
    "before a later block": ("DATA", "write", 4, "before"),
    "after a later block": ("DATA", "write", 4, "after"),
    "before a later manifest": ("store.FileSink", "save", 5, "before"),
    "in a later manifest": ("store.json", "dumps", 5, "after"),
}
KILLED = (
    GRAPH
    + """
def killed(out, owner, name, nth, when):
    owner, calls = eval(owner), 0
    function = getattr(owner, name)
    def hooked(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == nth and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*args, **kwargs)
        if calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    setattr(owner, name, hooked)
    all_pairs(g, out=out, block=13)

for name in ("pyarrow.parquet", "zarr"):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
all_pairs(g, threads=1)  # which imports the rest, and starts no thread that a child would miss
for line in sys.stdin:
    child = os.fork()
    if not child:
        killed(*eval(line))
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""
)


@pytest.fixture(scope="module")
def killer():
    """A function that runs KILLS in children of one process, which imports everything once."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", KILLED]
    with subprocess.Popen(words, env=ENVIRONMENT, stdin=pipe, stdout=pipe, text=True) as parent:

        def kill(*words):
            print(words, file=parent.stdin, flush=True)
            return os.waitstatus_to_exitcode(int(parent.stdout.readline()))

        yield kill
        parent.stdin.close()


def places():
    """Return a form of output and a place; only a mapped file reserves disk space first."""
    for form in FORMATS:
        for place, (_, name, _, _) in KILLS.items():
            if name != "_reserve" or form == ".npy":
                yield pytest.param(form, place, id=f"{form[1:]}, {place}")


def test_a_full_disk_names_the_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zarr = pytest.importorskip("zarr")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zarr.Array, "__setitem__", full)
    with pytest.raises(OSError, match="No space left") as refused:
        all_pairs(graph_of(), out=tmp_path / "rows.zarr")
    assert refused.value.filename == str(tmp_path / "rows.zarr")


@pytest.mark.parametrize(("path", "place"), list(places()), indirect=["path"])
def test_resume_after_a_kill_at_the_worst_places(path, place, killer):
    """No kill blocks the next run, which leaves only the data and its manifest."""
    owner, name, nth, when = KILLS[place]
    form = {".npy": "store.NpyRows", ".zarr": "store.ZarrRows", ".parquet": "store.ParquetRows"}
    owner = owner.replace("DATA", form[path.suffix])
    assert killer(str(path), owner, name, nth, when) == -signal.SIGKILL
    all_pairs(graph_of(), out=path, block=13)
    np.testing.assert_array_equal(contents(path), all_pairs(graph_of()))
    assert manifest(path)["complete"] is True
    found = sorted(file.name for file in path.parent.iterdir())
    assert found == [path.name, path.name + ".manifest.json"]
    if path.is_dir():
        undisturbed = path.with_name("other" + path.suffix)
        all_pairs(graph_of(), out=undisturbed, block=13)
        names = [file.relative_to(path) for file in files_of(path)]
        assert names == [file.relative_to(undisturbed) for file in files_of(undisturbed)]


def test_a_second_writer_is_told_of_the_first(path):
    """Regression: two writers left 2,000 rows of 1,500 in Parquet, and unreadable Zarr."""
    child = slow_writer(path)
    wait_for_blocks(path, child, 2)
    want = rf"process {child.pid} on {socket.gethostname()} since 2\d\d\d-.*wait until it ends"
    with pytest.raises(OptionError, match=want):
        all_pairs(graph_of(), out=path, block=20)
    child.send_signal(signal.SIGKILL)
    child.wait()
    all_pairs(graph_of(), out=path, block=20)
    assert manifest(path)["block"] == 3
    np.testing.assert_array_equal(contents(path), all_pairs(graph_of()))


def test_a_writer_lets_go_after_an_error_too(path):
    def second(done, of):
        with pytest.raises(OptionError, match=f"being written by process {os.getpid()} on"):
            all_pairs(graph_of(), out=path)
        raise EOFError

    with pytest.raises(EOFError):
        all_pairs(graph_of(), out=path, block=13, progress=second)
    all_pairs(graph_of(), out=path)
    np.testing.assert_array_equal(contents(path), all_pairs(graph_of()))
    assert len(list(path.parent.iterdir())) == 2


def test_a_file_that_cannot_be_mapped_leaves_nothing(tmp_path):
    """Regression: if mapping failed after sizing, a sparse file of 3.2 GB remained."""
    program = """
import resource, sys
from nearfar import Graph, all_pairs
graph = Graph.from_edges([0], [1], [1], n_vertices=20_000)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**29,) * 2)
try:
    all_pairs(graph, out=sys.argv[1], threads=1)
except (MemoryError, OSError) as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "rows.npy")],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert list(tmp_path.iterdir()) == []
    assert done.stdout.startswith("MemoryError 3,200,000,128 bytes of ")
    assert "rows.npy cannot be mapped: raise the limit" in done.stdout


def test_matrix_larger_than_the_memory_allowed(tmp_path):
    """40 MB of rows with 8 MB allowed: written in blocks that fit."""
    graph = graph_of(n=3200, m=9000)
    got = all_pairs(graph, out=tmp_path / "big.npy", memory=8 * 2**20, threads=1)
    assert len(manifest(tmp_path / "big.npy")["blocks"]) > 10
    np.testing.assert_array_equal(got[77], nearfar.sssp(graph, 77).distances)
    with pytest.raises(nearfar.OutOfMemoryError):
        all_pairs(graph, memory=8 * 2**20, threads=1)


def files_of(path):
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "flip"])
def test_damaged_data_is_written_anew(path, damage):
    graph = graph_of()
    want = all_pairs(graph)
    all_pairs(graph, out=path, block=10)
    for i, file in enumerate(files_of(path)):
        if i % 2 and damage == "gone":
            continue
        whole = file.read_bytes()
        middle = len(whole) // 2
        if damage == "gone":
            file.unlink()
        else:
            flipped = whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]
            file.write_bytes({"cut": whole[:middle], "empty": b"", "flip": flipped}[damage])
    all_pairs(graph, out=path, block=10)
    np.testing.assert_array_equal(contents(path), want)


def test_another_matrix_in_the_place_of_the_data(tmp_path):
    graph, path = graph_of(), tmp_path / "rows.npy"
    want = all_pairs(graph, out=path)
    for other in (np.zeros((3, 3)), np.asarray(want, dtype=np.float64)):
        np.save(path, other)
        found = all_pairs(graph, out=path)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, all_pairs(graph))


def test_another_array_in_the_place_of_the_chunks(tmp_path):
    """Regression: rows were cut to the width in the array's damaged description."""
    zarr = pytest.importorskip("zarr")
    graph, path = graph_of(), tmp_path / "rows.zarr"
    want = np.asarray(all_pairs(graph, out=path)[:])
    zarr.open(str(path), mode="r+").resize((len(want), 7))
    np.testing.assert_array_equal(all_pairs(graph, out=path)[:], want)


@pytest.mark.parametrize(
    "text",
    ["[]", "null", "{}", '{"a":', '{"block": 0, "blocks": {}}', '{"block": 3, "blocks": []}'],
)
def test_a_damaged_manifest_is_an_error(tmp_path, text):
    path = tmp_path / "rows.npy"
    all_pairs(graph_of(), out=path)
    path.with_name("rows.npy.manifest.json").write_text(text)
    with pytest.raises(OptionError, match=r"manifest.json is damaged: remove it"):
        all_pairs(graph_of(), out=path)


def test_a_full_disk_is_an_error_before_the_work(tmp_path, monkeypatch):
    """Regression: writing to a mapped sparse file on a full disk raised SIGBUS."""
    path, asked = tmp_path / "rows.npy", []

    def full(handle, start, size):
        asked.append((start, size))
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="No space left on device: 32,528 bytes needed"):
            all_pairs(graph_of(), out=path)
    assert asked == [(0, 90 * 90 * 4 + 128)]
    assert list(tmp_path.iterdir()) == []
    all_pairs(graph_of(), out=path)
    assert path.stat().st_blocks * 512 >= 90 * 90 * 4


def test_rows_are_not_resumed_under_other_names(tmp_path):
    """Regression: a Parquet folder had rows with the names of both runs."""
    pytest.importorskip("pyarrow")
    plain = graph_of()
    count = plain.n_vertices
    one, other = (
        Graph(
            plain.indptr,
            plain.indices,
            plain.weights,
            vertex_names=[f"{c}{v}" for v in range(count)],
        )
        for c in "ab"
    )
    path = tmp_path / "rows.parquet"
    distances(one, ["a1", "a2"], out=path, block=1)
    (path / "block-000001.parquet").unlink()
    with pytest.raises(OptionError, match=r"another run \(different names\)"):
        distances(other, ["b1", "b2"], out=path)
    with pytest.raises(OptionError, match=r"another run \(different names\)"):
        distances(plain, [1, 2], out=path)
    distances(one, ["a1", "a2"], out=path)
    assert read_rows(path)[0].tolist() == ["a1", "a2"]
    numbers = tmp_path / "rows.npy"  # .npy stores no names
    distances(one, ["a1"], out=numbers)
    distances(other, ["b1"], out=numbers)


@pytest.mark.parametrize("block", [1, 3, 4])
def test_a_manifest_with_another_block_size(block, tmp_path):
    """Regression: a changed number of rows passed the checksum, and rows occurred twice."""
    pytest.importorskip("pyarrow")
    graph = graph_of()
    path, manifest = tmp_path / "rows.parquet", tmp_path / "rows.parquet.manifest.json"
    distances(graph, range(8), out=path, block=2)
    known = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**known, "block": block}))
    distances(graph, range(8), out=path)
    sources, rows = read_rows(path)
    assert sources.tolist() == list(range(8))
    np.testing.assert_array_equal(rows, distances(graph, range(8)))


def test_no_targets_leave_no_columns_for_parquet(path):
    """Arrow refused lists of length 0 in words of its own, after the folder was made."""
    if path.suffix == ".parquet":
        with pytest.raises(OptionError, match="at least one target"):
            distances(graph_of(), [1, 2], targets=[], out=path)
        assert not path.exists()
    else:
        distances(graph_of(), [1, 2], targets=[], out=path)
        assert contents(path).shape == (2, 0)
