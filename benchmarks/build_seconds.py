"""Measure the processor seconds of compiling each file of the C++ module, without a compiler cache.

The build starts the compiler through this script, which records the time of each process. The
module is discarded unless ``--folder`` names an empty folder for the build.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOG = "NEARFAR_BUILD_SECONDS_LOG"


def compile_one(command: list[str]) -> int:
    """Run a compiler; append its object and user seconds to the log."""
    status = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    output = command[command.index("-o") + 1] if "-o" in command else command[-1]
    with Path(os.environ[LOG]).open("a", encoding="utf-8") as log:
        log.write(json.dumps([output, used]) + "\n")
    return status


def build(levels: str, jobs: int, folder: Path | None) -> dict[str, float]:
    """Return the user seconds per object, greatest first."""
    with contextlib.ExitStack() as stack:
        work = folder or stack.enter_context(tempfile.TemporaryDirectory())
        log = Path(work) / "build_seconds.log"
        around = {**os.environ, LOG: str(log)}
        around.pop("CMAKE_CXX_COMPILER_LAUNCHER", None)
        launcher = f"{sys.executable};{Path(__file__).resolve()};--compile"
        configure = [
            *("cmake", "-S", str(ROOT), "-B", str(work), "-G", "Ninja"),
            *("-DCMAKE_BUILD_TYPE=Release", "-DSKBUILD=2", "-DSKBUILD_STATE=wheel"),
            f"-DPython_EXECUTABLE={sys.executable}",
            *(f"-DNEARFAR_LEVELS={levels}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"),
        ]
        subprocess.run(configure, check=True, env=around, stdout=subprocess.DEVNULL)
        make = ["cmake", "--build", str(work), "--target", "_cpu", "--parallel", str(jobs)]
        done = subprocess.run(make, check=False, env=around, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stdout[-3000:])
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return dict(sorted(lines, key=lambda line: -line[1]))


def main() -> int:
    """Measure, print, write."""
    if sys.argv[1:2] == ["--compile"]:
        return compile_one(sys.argv[2:])
    # Imported late, because the compiler is started through this file a hundred times.
    from nearfar.lab.bench.environment import environment
    from result_file import add_output, write_result

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", default="all", choices=["all", "native"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to build, and to leave the module")
    add_output(parser)
    given = parser.parse_args()
    seconds = build(given.levels, given.jobs, given.folder)
    total = sum(seconds.values())
    for name, used in list(seconds.items())[:25]:
        print(f"{used:7.1f}  {name}")
    print(f"{total:7.1f}  in all, {len(seconds)} objects, levels: {given.levels}")
    if given.output:
        whole = {"schema": "nearfar-build-seconds/1", "environment": environment()}
        write_result(
            given.output, {**whole, "levels": given.levels, "total": total, "seconds": seconds}
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
