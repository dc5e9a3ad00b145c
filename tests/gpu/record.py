"""Run the GPU suite on this machine's GPU and write what happened: ``python -m tests.gpu.record``.

The result, ``tests/gpu/validation.json``, names device, driver, versions, the outcome of every
test, the verdict of compute-sanitizer and the digest of all device code.
``tests/test_gpu_validation.py`` fails, on any machine, when the digest of the tree's device code
is another one or when a test did not pass.
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

from nearfar.system.devices import cupy_module, runtime
from tests.gpu.digest import VALIDATION, device_code_digest

ROOT = Path(__file__).resolve().parents[2]
_FEW = 12  # tests that failed beside others and are run again by themselves


class Outcomes:
    """pytest plugin: writes one line a finished test, so that a crash loses nothing."""

    def __init__(self) -> None:
        path = os.environ.get("NEARFAR_GPU_OUTCOMES")
        self.file = None
        if path is not None:
            self.file = open(path, "a", encoding="utf-8")  # noqa: SIM115

    def pytest_runtest_logreport(self, report: Any) -> None:
        decided = report.when == "call" or report.outcome != "passed"
        if decided and self.file is not None:
            text = "" if report.passed else str(report.longrepr)[-1500:].replace(f"{ROOT}/", "")
            row = [report.nodeid, report.outcome, round(report.duration, 3), text]
            self.file.write(json.dumps(row) + "\n")
            self.file.flush()


def pytest_configure(config: Any) -> None:
    if not hasattr(config, "workerinput"):  # under xdist only the controller writes
        config.pluginmanager.register(Outcomes(), "nearfar-gpu-outcomes")
    elif count := int(os.environ.get("NEARFAR_GPU_COUNT", "0")):
        # Workers are dealt out to the devices before one of them asks for any.
        worker = int(config.workerinput["workerid"].removeprefix("gw"))
        os.environ["CUDA_VISIBLE_DEVICES"] = str(worker % count)


def run_tests(arguments: list[str], limit: int, workers: int) -> dict[str, Any]:
    """Run pytest in a process of its own; what it never reached is missing from the answer."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Path(folder) / "outcomes"
        outcomes.touch()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.gpu.record", "-W", "default"]
        command += ["--timeout=120", "--timeout-method=thread", "-o", "addopts=", *arguments]
        if workers > 1:
            command += ["-n", str(workers)]
        count = runtime.device_count()
        environment = {**os.environ, "NEARFAR_GPU_OUTCOMES": str(outcomes)}
        environment |= {"NEARFAR_GPU_COUNT": str(count)} if count > 1 else {}
        process = subprocess.Popen(command, cwd=ROOT, env=environment)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            code = -9
        rows = [json.loads(line) for line in outcomes.read_text().splitlines()]
    tests = {name: {"outcome": outcome, "seconds": seconds} for name, outcome, seconds, _ in rows}
    for name, _, _, text in rows:
        if text:
            tests[name]["text"] = text
    return {"exit_code": code, "tests": dict(sorted(tests.items()))}


def sanitize(limit: int) -> dict[str, Any]:
    """Verdict of compute-sanitizer's memcheck and initcheck over ``tests.gpu.sanitizer_suite``."""
    program = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin"
    )
    if program is None:
        return {"available": False}
    found: dict[str, Any] = {"available": True}
    for tool in ("memcheck", "initcheck"):
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
    """Record a run; exit code 1 when something failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=VALIDATION)
    parser.add_argument("-k", dest="only", help="as in pytest; the file then is not a full record")
    parser.add_argument("-n", dest="workers", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--limit", type=int, default=420, help="seconds for all tests")
    parser.add_argument("--no-sanitizer", action="store_true")
    parser.add_argument(
        "--amend",
        type=Path,
        help="a record of the same device code: run its failed tests and the sanitizers again",
    )
    given = parser.parse_args()
    here = runtime.available()
    if here is not True:
        print(here, file=sys.stderr)
        return 2
    device = runtime.device()
    arguments = ["tests/gpu", *(["-k", given.only] if given.only else [])]
    before = json.loads(given.amend.read_text()) if given.amend else None
    if before is not None:
        if before["digest"] != device_code_digest():
            print(f"{given.amend} is of other device code: record all of it", file=sys.stderr)
            return 2
        arguments = [name for name, t in before["tests"].items() if t["outcome"] == "failed"]
    result = run_tests(arguments, given.limit, given.workers)
    failed = [name for name, test in result["tests"].items() if test["outcome"] == "failed"]
    if before is None and 0 < len(failed) <= _FEW:
        before, result = result, run_tests(failed, _FEW * 5, 1)
    if before is not None:
        again = {name: {**test, "run": 2} for name, test in result["tests"].items()}
        result["tests"] = {**before["tests"], **again}
    record = {
        "digest": device_code_digest(),
        "complete": given.only is None,
        "device": device.name,
        "compute_capability": list(device.compute_capability),
        "driver_cuda": device.driver,
        "cupy": device.cupy,
        "nvrtc": cupy_module.load().version,
        "recorded": time.strftime("%Y-%m-%d", time.gmtime()),
        **result,
    }
    if not given.no_sanitizer:
        record["sanitizer"] = sanitize(150)
    given.output.write_text(json.dumps(record, indent=1) + "\n")
    counts: dict[str, int] = {}
    for name, test in record["tests"].items():
        counts[test["outcome"]] = counts.get(test["outcome"], 0) + 1
        if test["outcome"] == "failed":
            print(f"FAILED {name}: {test.get('text', '')[-300:]}")
    print(device.name, counts, "exit code", record["exit_code"])
    print({k: v for k, v in record.get("sanitizer", {}).items() if k != "text"})
    return 1 if record["exit_code"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
