"""Description of the environment that measurements depend on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import nearfar
from nearfar.lab.checkout import ROOT
from nearfar.system.devices import runtime
from nearfar.system.host import processor_name, total_memory
from nearfar.system.threads import default_threads


def _git(*arguments: str) -> str:
    """Return the output of git in the checkout of this file; empty outside a checkout."""
    if not (ROOT / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


_DRIVER = Path("/proc/driver/nvidia/version")


def _driver(file: Path = _DRIVER) -> str:
    """Return the version of NVIDIA's kernel module, such as 570.86.15; empty if unknown."""
    try:
        found = re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)", file.read_text())
        if found:
            return found[1]
    except OSError:
        pass
    try:
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stdout.split() or [""])[0] if done.returncode == 0 else ""


def _gpu() -> dict[str, Any] | None:
    """Return the current CUDA device, or None without one.

    ``driver`` is the CUDA version that the driver brings, ``driver_version`` its own number.
    """
    if runtime.available() is not True:
        return None
    return {**runtime.device()._asdict(), "driver_version": _driver()}


def environment() -> dict[str, Any]:
    """Return processor, GPU, cores, versions, commit and load, without the host name."""
    versions = {"nearfar": nearfar.__version__, "python": platform.python_version()}
    for package in ("numpy", "scipy"):
        versions[package] = metadata.version(package)
    # For a copy of the tree without its history, the variable gives the commit.
    commit = _git("rev-parse", "HEAD") or os.environ.get("NEARFAR_COMMIT", "")
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": processor_name(),
        "cores": default_threads(),
        "gpu": _gpu(),
        "system": f"{platform.system()} {platform.machine()}",
        "memory_bytes": total_memory(),
        "load_average": os.getloadavg()[0],
        "versions": versions,
        "commit": commit or "unknown",
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no", "src")),
    }
