"""Record where nearfar was built, run or emulated: writes ``platforms.json``, one row each.

    python -m pytest --junitxml=tests.xml @tests/core.txt      # with the Python of the platform
    python benchmarks/platforms.py tests WHAT --python PYTHON --junit tests.xml -o FILE
    python benchmarks/platforms.py stress WHAT -o FILE -- qemu-aarch64 build/arm64/stress 1 120
    python benchmarks/platforms.py compiler "clang++-16 -stdlib=libc++" -o FILE
    python benchmarks/platforms.py wheels dist/wheels.json -o FILE

``tests`` reads the properties of PYTHON and counts the outcomes; ``--state emulated`` records that
no such machine ran it. ``stress`` runs a build of ``tests/stress``. ``compiler`` passes every
source file of the module to a compiler with warnings as errors, without generating code. ``wheels``
stores the report of ``make wheels`` on each wheel.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from nearfar.lab.bench.environment import environment
from result_file import add_output, write_result

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "nearfar"
KINDS = ("tests", "stress", "compiler", "wheel")
#: Program that prints the properties of a platform's Python.
FACTS = """
import json, platform, sys, sysconfig
import numpy, scipy
from nearfar import _cpu
print(json.dumps({
    "machine": platform.machine(),
    "python": platform.python_version(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "interpreter_lock": getattr(sys, "_is_gil_enabled", lambda: True)(),
    "numpy": numpy.__version__,
    "scipy": scipy.__version__,
    "compiler": _cpu.compiler,
    "vectors": _cpu.isa(),
}))
"""


def tested(what: str, python: str, junit: Path, state: str) -> dict[str, Any]:
    """Return a row of test outcomes."""
    said = subprocess.run([python, "-c", FACTS], capture_output=True, text=True, check=True)
    suites = list(ElementTree.parse(junit).getroot().iter("testsuite"))
    counts = {
        name: sum(int(suite.get(name, 0)) for suite in suites)
        for name in ("tests", "failures", "errors", "skipped")
    }
    failed = counts["failures"] + counts["errors"]
    return {
        "kind": "tests",
        "what": what,
        "state": state,
        **json.loads(said.stdout),
        "passed": counts["tests"] - failed - counts["skipped"],
        "failed": failed,
        "skipped": counts["skipped"],
        "seconds": sum(float(suite.get("time", 0)) for suite in suites),
    }


def stressed(what: str, command: list[str], state: str) -> dict[str, Any]:
    """Return a row of solves by several threads while busy loops run."""
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)} failed: {done.stdout}{done.stderr}")
    counts = {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", done.stdout)}
    seconds = time.perf_counter() - began
    return {"kind": "stress", "what": what, "state": state, **counts, "seconds": seconds}


def includes() -> list[str]:
    """Return the folders of headers: nearfar's, Python's, and nanobind's."""
    import nanobind

    binding = Path(nanobind.include_dir())
    folders = [SOURCES, sysconfig.get_path("include"), binding]
    folders.append(binding.parent / "ext" / "robin_map" / "include")
    return [f"-I{folder}" for folder in folders]


def units() -> list[list[str]]:
    """Return every source file with its macros; hot loops occur once per level of vector code."""
    found = []
    for path in sorted(SOURCES.rglob("*.cpp")):
        if not path.name.endswith(".simd.cpp"):
            found.append([str(path)])
            continue
        for level in ("v2", "v3", "v4"):
            found.append([str(path), f"-DNEARFAR_ISA={level}", f"-march=x86-64-{level}"])
    return found


def compiled(compiler: str, jobs: int) -> dict[str, Any]:
    """Return a row of one compiler that accepts every file without warnings."""
    words = shlex.split(compiler)
    version = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True)
    flags = [
        "-std=c++20",
        "-fsyntax-only",
        "-fvisibility=hidden",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fno-math-errno",
    ]
    common = [*words, *flags, *includes()]

    def one(unit: list[str]) -> str:
        done = subprocess.run([*common, *unit], capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""

    began = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        wrong = [text for text in pool.map(one, units()) if text]
    for text in wrong:
        print(text[:3000], file=sys.stderr)
    return {
        "kind": "compiler",
        "what": compiler,
        "version": version.stdout.splitlines()[0],
        "files": len(units()),
        "refused": len(wrong),
        "seconds": time.perf_counter() - began,
    }


def keep(file: Path | None, rows: list[dict[str, Any]]) -> None:
    """Put rows into the file, in place of rows of the same names."""
    old = json.loads(file.read_text())["results"] if file and file.is_file() else []
    names = {(row["kind"], row["what"]) for row in rows}
    now = environment()
    held = [row for row in old if (row["kind"], row["what"]) not in names]
    held += [{**row, "environment": now} for row in rows]
    held.sort(key=lambda row: (KINDS.index(row["kind"]), row["what"]))
    write_result(file, {"results": held})


def main() -> int:
    """Collect the requested rows; return 1 if a check failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked = parser.add_subparsers(dest="asked", required=True)
    tests = asked.add_parser("tests", help="outcomes of tests")
    tests.add_argument("what", help="name of the platform")
    tests.add_argument("--python", default=sys.executable, help="its Python")
    tests.add_argument("--junit", type=Path, required=True, help="JUnit file of pytest")
    stress = asked.add_parser("stress", help="solves under load")
    stress.add_argument("what", help="name of the platform")
    stress.add_argument("command", nargs="+", help="program, with numbers of loops and rounds")
    for one in (tests, stress):
        one.add_argument("--state", choices=("run", "emulated"), default="run")
    compiler = asked.add_parser("compiler", help="a compiler that reads everything")
    compiler.add_argument("what", help="its command")
    compiler.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    wheels = asked.add_parser("wheels", help="wheels that were made")
    wheels.add_argument("made", type=Path, help="dist/wheels.json of `make wheels`")
    for one in (tests, stress, compiler, wheels):
        add_output(one)
    args = parser.parse_args()
    if args.asked == "tests":
        rows = [tested(args.what, args.python, args.junit, args.state)]
    elif args.asked == "stress":
        rows = [stressed(args.what, args.command, args.state)]
    elif args.asked == "compiler":
        rows = [compiled(args.what, args.jobs)]
    else:
        rows = [{"kind": "wheel", **row} for row in json.loads(args.made.read_text())]
    for row in rows:
        print(json.dumps(row))
    keep(args.output, rows)
    return int(any(row.get("failed") or row.get("refused") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
