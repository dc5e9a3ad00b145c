"""Main memory: amounts available to a run, and answers that keep theirs."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import nearfar
from nearfar import _cpu
from nearfar.generators import generate
from nearfar.system import memory
from nearfar.system.memory import empty, free_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray


def test_free_memory_is_a_number_of_bytes() -> None:
    assert 1 << 20 < free_memory() < 1 << 50


@pytest.mark.parametrize("version", [2, 1], ids=["version 2", "version 1"])
def test_a_container_has_what_the_cache_of_files_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Regression: after reading a large file, a container had no memory left for a run."""
    limit, used, idle = memory._FILES[2 - version]
    for name, text in (
        (limit, "900000"),
        (used, "850000"),
        ("memory.stat", f"anon 1\n{idle} 300000\nslab 4\n"),
    ):
        (tmp_path / name).write_text(f"{text}\n")
    groups = (str(tmp_path),), ()
    monkeypatch.setattr(
        memory, "control_groups", lambda _: groups if version == 2 else groups[::-1]
    )
    assert free_memory() == 350_000
    (tmp_path / limit).write_text("max\n" if version == 2 else "9223372036854771712\n")
    assert free_memory() > 1 << 20


def test_a_large_answer_is_kept_after_the_next_solve() -> None:
    graph = generate("uniform_random", vertices=600_000, degree=3)
    paths = [nearfar.sssp(graph, source) for source in (0, 1, 0)]
    assert np.array_equal(paths[0].distances, paths[2].distances)
    nearfar.verify(graph, paths[1])


def test_touching_changes_no_byte() -> None:
    page = 1 << 21
    whole = np.full(5 << 20, 7, dtype=np.uint8)
    for first, count in ((0, len(whole)), (3, 1), (5, 0), (1000, page), (17, 2 * page + 9)):
        _cpu.touch(whole[first : first + count], 3)
        assert (whole == 7).all()


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel of Linux")
def test_touching_makes_a_part_of_every_huge_page() -> None:
    page, small = 1 << 21, mmap.PAGESIZE
    memory_map = mmap.mmap(-1, 8 * page)
    fresh = np.frombuffer(memory_map, dtype=np.uint8)
    skipped = -fresh.ctypes.data % page
    part = fresh[skipped + 1000 : skipped + 5 * page + 9]
    resident = np.zeros(5 * page // small, dtype=np.uint8)

    def made() -> list[bool]:
        kernel = ctypes.CDLL(None, use_errno=True)
        at = ctypes.c_void_p(fresh.ctypes.data + skipped)
        assert (
            kernel.mincore(at, ctypes.c_size_t(5 * page), ctypes.c_void_p(resident.ctypes.data))
            == 0
        )
        return (resident.reshape(5, -1) & 1).any(axis=1).tolist()

    assert not any(made())
    _cpu.touch(part, 3)
    assert all(made())


def test_memory_for_a_result_has_the_shape_and_dtype_asked_for() -> None:
    for threads in (1, 4):
        for shape in ((0, 5), (2, 3), (700, 1000)):
            made = empty(shape, np.float64, threads)
            assert made.shape == shape
            assert made.dtype == np.dtype(np.float64)
            assert made.flags.c_contiguous
            assert made.flags.writeable


_PACKS_AFTER_OTHER_WORK = r"""
import re
import numpy as np
import nearfar

def huge() -> int:
    with open("/proc/self/smaps_rollup") as lines:
        return int(re.search(r"AnonHugePages:\s+(\d+)", lines.read())[1])

def refused() -> int:
    with open("/proc/vmstat") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith("thp_fault_fallback "))

graph = nearfar.generate("grid", rows=1100, columns=1100)
made = [np.ones(100_000, dtype=np.int8) for _ in range(1000)]  # 100 MB of small pages
del made[:-1]  # the allocator keeps what lies below the last one
before, fallbacks = huge(), refused()
_ = graph.view.pack()
print((huge() - before) * 1024 / graph.view.packed_bytes, refused() - fallbacks)
"""


def test_packed_edges_lie_on_huge_pages_whatever_was_freed_before() -> None:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not setting.is_file() or "[never]" in setting.read_text():
        pytest.skip("this system gives no huge pages")
    done = subprocess.run(
        [sys.executable, "-c", _PACKS_AFTER_OTHER_WORK], capture_output=True, text=True, check=True
    )
    share, refused = done.stdout.split()
    if int(refused):
        pytest.skip("the system had no huge page left")
    assert float(share) > 0.9


def test_rows_that_are_written_in_place_are_one_block(tmp_path: Path) -> None:
    graph = generate("uniform_random", vertices=600, degree=3)
    k, n = 600, graph.n_vertices
    truth = nearfar.all_pairs(graph)

    def blocks(out: NDArray[Any]) -> int:
        done: list[float] = []
        found = nearfar.distances(
            graph,
            out=out,
            progress=lambda part, whole: done.append(part),
            memory=1 << 21,
            method="worker_per_source",
            device="cpu",
            threads=2,
        )
        assert found is out
        assert np.array_equal(found, truth)
        assert done[-1] == k
        return len([part for part in done if part > 0])

    assert blocks(np.empty((k, n), graph.weight_dtype)) == 1
    # rows are copied to the host
    assert blocks(np.empty((k, 2 * n), graph.weight_dtype)[:, :n]) > 1
    mapped = np.memmap(tmp_path / "rows", graph.weight_dtype, "w+", shape=(k, n))
    assert blocks(mapped) > 1
