"""Answers of other systems, as far as they can be simulated."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from nearfar.system import host


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
