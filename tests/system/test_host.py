"""Answers of other systems, as far as they can be simulated."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from nearfar.system import host
from nearfar.system.threads import default_threads


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor\t: 0\nmodel name\t: Xeon 8488C\nflags\t\t: fpu\n", "Xeon 8488C"),
        (
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n",
            f"{platform.machine()}, implementer 0x41, part 0xd4f",
        ),
        ("processor\t: 0\n", platform.processor() or platform.machine()),
    ],
)
def test_name_of_a_processor(
    text: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(host, "_CPUINFO", str(tmp_path / "cpuinfo"))
    assert host.processor_name() == name


def test_memory_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS has neither the file nor the number of free pages."""
    total = host.total_memory()
    known = os.sysconf

    def sysconf(name: str) -> int:
        if name == "SC_AVPHYS_PAGES":
            raise ValueError("unrecognized configuration name")
        return known(name)

    monkeypatch.setattr(host, "_MEMINFO", str(tmp_path / "none"))
    assert 0 < (host.available_memory() or 0) <= (total or 0)
    monkeypatch.setattr(os, "sysconf", sysconf)
    assert host.available_memory() == total
    monkeypatch.delattr(os, "sysconf")
    assert host.available_memory() is None


def test_a_lock_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte far beyond the content is locked, so that other processes can read."""
    places: list[int] = []
    refusals = [PermissionError(), PermissionError()]

    def locking(number: int, mode: int, count: int) -> None:
        assert (mode, count) == (2, 1)
        places.append(os.lseek(number, 0, os.SEEK_CUR))
        if refusals:
            raise refusals.pop()

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    with open(tmp_path / "lock", "a+", encoding="utf-8") as file:
        with pytest.raises(BlockingIOError):
            host.lock_file(file, wait=False)
        host.lock_file(file, wait=True)
        assert file.tell() == 0
    assert places == [1 << 30] * 3


@pytest.fixture
def group_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of control groups, and forget those of this process during the test."""
    cached = host.control_groups, host.core_quota
    monkeypatch.setattr(host, "_OWN_GROUPS", str(tmp_path / "own"))
    monkeypatch.setattr(host, "_GROUPS", str(tmp_path / "groups"))
    for function in cached:
        function.cache_clear()
    yield tmp_path
    for function in cached:
        function.cache_clear()


def with_files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"own": "0::/a/b\n", "groups/a/cpu.max": "250000 100000\n", "groups/a/b/x": ""}, 2.5),
        ({"own": "0::/\n", "groups/cpu.max": "50000 100000\n"}, 0.5),
        ({"own": "0::/\n", "groups/cpu.max": "max 100000\n"}, math.inf),
        (
            {
                "own": "9:memory:/m\n4:cpu,cpuacct:/docker/12\n0::/\n",
                "groups/cpu/cpu.cfs_quota_us": "300000\n",
                "groups/cpu/cpu.cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            {
                "own": "4:cpu:/\n",
                "groups/cpu/cpu.cfs_quota_us": "-1\n",
                "groups/cpu/cpu.cfs_period_us": "100000\n",
            },
            math.inf,
        ),
        ({"own": "0::/gone\n"}, math.inf),
        ({}, math.inf),
    ],
)
def test_threads_are_as_many_as_a_quota_of_processor_time_keeps_running(
    group_root: Path, files: dict[str, str], quota: float
) -> None:
    """Regression: in a container with a quota, more threads than it allows were all stopped."""
    with_files(group_root, files)
    assert host.core_quota() == quota
    host.core_quota.cache_clear()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert cores is not None
    assert default_threads() == max(1, int(min(cores, quota)))


def test_control_groups_are_those_of_the_process_and_above(group_root: Path) -> None:
    with_files(group_root, {"own": "0::/a/b\n", "groups/a/b/memory.max": "5\n"})
    names = ("groups/a/b", "groups/a", "groups")
    assert host.control_groups("memory") == (tuple(str(group_root / n) for n in names), ())
