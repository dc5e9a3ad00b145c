"""Run the GPU suite on this machine's GPUs and write the outcome: ``python -m tests.gpu.record``.

The result, ``tests/gpu/validation.json``, has device, driver, versions, the outcome of every test,
the kernel files that each module of tests launched with their digest and its device, and the
verdict of compute-sanitizer. ``tests/test_gpu_validation.py`` fails, on any machine, if a digest
differs from that of the tree's files (comments and folders aside), if no test launches a file, or
if a test did not pass.

Like ``make``, it runs only what is out of date: tests that are missing from the record or failed,
and modules whose kernels have changed. An interrupted run can be resumed. ``--adopt RECORD`` takes
these from the record of another run instead, and needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from nearfar.system.devices import compiler, cupy_module, runtime
from tests.gpu.digest import VALIDATION, digest, fresh_modules

ROOT = Path(__file__).resolve().parents[2]
_TOOLS = ("memcheck", "initcheck")
# fields that must agree for recorded results to count
_SAME = ("compute_capability", "driver_cuda", "cupy", "nvrtc")
_FEW = 12  # maximum number of failed tests that run again one by one


def run_tests(record: dict[str, Any], limit: int, workers: int) -> None:
    """Run the tests that the record lacks in separate processes, and record their outcomes.

    A test that was not reached stays missing, and the exit code shows it.
    """
    fresh = fresh_modules(record)
    with tempfile.TemporaryDirectory() as folder:
        outcomes, before = Path(folder) / "outcomes", Path(folder) / "record"
        outcomes.touch()
        before.write_text(json.dumps(record), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.gpu.launched", "tests/gpu"]
        command += ["-W", "default", "--timeout=120", "--timeout-method=thread", "-o", "addopts="]
        if workers > 1:
            command += ["-n", str(workers), "--maxschedchunk", "1"]
        count = runtime.device_count()
        environment = {**os.environ, "NEARFAR_GPU_OUTCOMES": str(outcomes)}
        environment["NEARFAR_GPU_RECORD"] = str(before)
        environment |= {"NEARFAR_GPU_COUNT": str(count)} if count > 1 else {}
        process = subprocess.Popen(command, cwd=ROOT, env=environment)
        try:
            record["exit_code"] = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            record["exit_code"] = -9
        rows = [json.loads(line) for line in outcomes.read_text(encoding="utf-8").splitlines()]
    if record["exit_code"] == 5:  # pytest's exit code if no test was left to run
        record["exit_code"] = 0
    tests = {name: t for name, t in record["tests"].items() if name.split("::")[0] in fresh}
    launched = {name: set(m["kernels"]) for name, m in record["modules"].items() if name in fresh}
    for row in rows:
        name, kernels = row.pop("test"), row.pop("kernels")
        tests[name] = row
        launched.setdefault(name.split("::")[0], set()).update(kernels)
    record["tests"] = dict(sorted(tests.items()))
    record["modules"] = {
        name: {
            "digest": digest(files),
            "kernels": sorted(files),
            "device": record["modules"][name]["device"] if name in fresh else record["device"],
        }
        for name, files in sorted(launched.items())
    }


def sanitize(limit: int) -> dict[str, Any]:
    """Return the verdict of compute-sanitizer's memcheck and initcheck over the sanitizer suite."""
    program = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin"
    )
    if program is None:
        return {"available": False}
    found: dict[str, Any] = {"available": True}
    for tool in _TOOLS:
        command = [program, "--tool", tool, "--error-exitcode", "9", "--print-limit", "20"]
        command += [sys.executable, "-m", "tests.gpu.sanitizer_suite"]
        begun = time.monotonic()
        try:
            done = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=limit, check=False
            )
            output, code = done.stdout + done.stderr, done.returncode
        except subprocess.TimeoutExpired as error:
            output, code = str(error.stdout)[-2000:], -9
        summary = re.search(r"ERROR SUMMARY: (\d+) error", output)
        solves = re.search(r"^(\d+) solves$", output, re.MULTILINE)
        found[tool] = {
            "exit_code": code,
            "errors": int(summary[1]) if summary else None,
            "solves": int(solves[1]) if solves else 0,
            "seconds": round(time.monotonic() - begun, 1),
        }
        if code:
            found[tool]["text"] = output[:3000] + "\n...\n" + output[-1500:]
    return found


def main() -> int:
    """Record a run; return 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=VALIDATION)
    parser.add_argument("--all", action="store_true", help="run every test, whatever is known")
    parser.add_argument("-n", dest="workers", type=int, help="processes, by default 8 per GPU")
    parser.add_argument("--limit", type=int, default=420, help="seconds for all tests")
    parser.add_argument("--no-sanitizer", action="store_true")
    parser.add_argument("--adopt", type=Path, help="record of another run that completes this one")
    given = parser.parse_args()
    if given.adopt is not None:
        record = json.loads(VALIDATION.read_text(encoding="utf-8"))
        print(*adopt(record, json.loads(given.adopt.read_text(encoding="utf-8"))), sep="\n")
        write(given.output, record)
        return 0
    here = runtime.available()
    if here is not True:
        print(here, file=sys.stderr)
        return 2
    device = runtime.device()
    machine = {
        "device": device.name,
        "compute_capability": list(device.compute_capability),
        "driver_cuda": device.driver,
        "cupy": device.cupy,
        "nvrtc": cupy_module.load().version,
    }
    known = json.loads(VALIDATION.read_text(encoding="utf-8")) if VALIDATION.exists() else {}
    # Devices of one architecture run the same machine code; each module records its device.
    if given.all or any(known.get(name) != machine[name] for name in _SAME):
        known = {}
    record = {
        **machine,
        "recorded": time.strftime("%Y-%m-%d", time.gmtime()),
        "tests": known.get("tests", {}),
        "modules": known.get("modules", {}),
        "sanitizer": known.get("sanitizer", {}),
    }
    workers = given.workers or min(8 * runtime.device_count(), os.cpu_count() or 1)
    run_tests(record, given.limit, workers)
    if 0 < len(failed(record)) <= _FEW:
        write(given.output, record)
        run_tests(record, _FEW * 5, 1)
    write(given.output, record)
    code = digest(compiler.kernel_files())
    if not given.no_sanitizer and not sanitized(record, code):
        record["sanitizer"] = {"digest": code, **sanitize(150)}
        write(given.output, record)
    for name in failed(record):
        print(f"FAILED {name}: {record['tests'][name].get('text', '')[-300:]}")
    print(device.name, len(record["tests"]), "tests, exit code", record["exit_code"])
    print({k: v for k, v in record["sanitizer"].items() if k != "text"})
    return 1 if record["exit_code"] else 0


def adopt(record: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Complete a record by another of the tree's kernels; return the modules taken over.

    They are those that the record lacks, wholly or in part, or whose kernels have changed, if all
    of their tests passed.
    """
    if any(record[name] != other[name] for name in _SAME):
        raise SystemExit("the records are of different machines or compilers")
    fresh, adopted = fresh_modules(record), []
    for name in sorted(fresh_modules(other)):
        tests = {t: outcome for t, outcome in other["tests"].items() if t.split("::")[0] == name}
        passed = all(outcome["outcome"] != "failed" for outcome in tests.values())
        if passed and not (name in fresh and tests.keys() <= record["tests"].keys()):
            rest = {t: o for t, o in record["tests"].items() if t.split("::")[0] != name}
            record["tests"] = dict(sorted({**rest, **tests}.items()))
            record["modules"][name] = other["modules"][name]
            adopted.append(name)
    if sanitized(other, digest(compiler.kernel_files())):
        record["sanitizer"] = other["sanitizer"]
    return adopted


def sanitized(record: dict[str, Any], code: str) -> bool:
    """Return whether the sanitizers checked this device code and found nothing."""
    seen = record["sanitizer"]
    tools = (seen.get(tool, {"exit_code": None}) for tool in _TOOLS)
    return seen.get("digest") == code and all(tool["exit_code"] == 0 for tool in tools)


def failed(record: dict[str, Any]) -> list[str]:
    """Return the names of tests that failed."""
    return [name for name, test in record["tests"].items() if test["outcome"] == "failed"]


def write(path: Path, record: dict[str, Any]) -> None:
    """Write under a temporary name, then rename."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    raise SystemExit(main())
