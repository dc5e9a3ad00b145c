"""Measure rows of a graph that is many times larger than the memory limit of the run.

``python benchmarks/beyond_memory.py -o benchmarks/results/beyond_memory.json`` writes a native
container of ``--times`` times ``--limit`` (a random graph, 400 edges per vertex, integer weights
1..100), drops it from the page cache, and runs ``nearfar distances --memory LIMIT -o rows.npy`` for
some sources in a control group whose memory, page cache included, is limited to LIMIT. Creating the
group requires permission; without it, the run is measured without enforcement. The same command
without a limit is the other sample. Peaks are those of the group and of the process's anonymous
memory (``RssAnon``, sampled every 20 ms); bytes read are those of the process. Rows of both runs
are compared.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from nearfar.cli.arguments import byte_count
from nearfar.graph.graph import Graph
from nearfar.lab.bench.environment import environment
from result_file import add_output, write_result

DEGREE = 400
#: Folder of control groups, file of a group's limit, and file of its peak, for versions 1 and 2.
GROUPS = (
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
    ("/sys/fs/cgroup", "memory.max", "memory.peak"),
)
ENTER = (
    "import os, sys\n"
    "if sys.argv[1]: open(sys.argv[1], 'w').write(str(os.getpid()))\n"
    "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)


def make(path: Path, size: int) -> None:
    """Write a container of about the given number of bytes."""
    n = size // (8 * DEGREE)
    rng = np.random.default_rng(1)
    heads = rng.integers(0, n, n * DEGREE, dtype=np.int32)
    weights = rng.integers(1, 101, n * DEGREE, dtype=np.int32)
    indptr = np.arange(0, n * DEGREE + 1, DEGREE, dtype=np.int32)
    nearfar.write(Graph.from_csr(indptr, heads, weights, copy=False), path)


@contextlib.contextmanager
def group(limit: int) -> Iterator[tuple[Path | None, Path | None]]:
    """Return the file that adds processes to a group with a limit, and the file of its peak."""
    for root, bound, peak in GROUPS:
        place = Path(root) / f"nearfar-{os.getpid()}"
        try:
            place.mkdir()
        except OSError:
            continue
        try:
            (place / bound).write_text(str(limit))
            yield place / "cgroup.procs", place / peak
            return
        except FileNotFoundError:
            continue
        finally:
            with contextlib.suppress(OSError):
                place.rmdir()
    print("no control group can be created: the limit is not enforced", flush=True)
    yield None, None


def forget(path: Path) -> None:
    """Drop a file from the page cache."""
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def status(pid: int) -> dict[str, int]:
    """Return the anonymous and file memory of a process, and the bytes that it has read."""
    found = {}
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in ("RssAnon", "RssFile"):
                found[name] = int(rest.split()[0]) * 1024
        for line in Path(f"/proc/{pid}/io").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "read_bytes":
                found[name] = int(rest)
    return found


def run(graph: Path, out: Path, limit: int | None, words: list[str]) -> dict[str, Any]:
    """Return seconds, peaks and bytes read of one run of the program."""
    command = ["-m", "nearfar", "distances", str(graph), "-o", str(out), "--json", *words]
    if limit is not None:
        command += ["--memory", str(limit)]
    held = group(limit) if limit is not None else contextlib.nullcontext((None, None))
    peaks: dict[str, int] = {}
    forget(graph)
    faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt
    with held as (enter, peak):
        began = time.perf_counter()
        program = [sys.executable, "-c", ENTER, str(enter or ""), *command]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                for name, value in status(process.pid).items():
                    peaks[name] = max(peaks.get(name, 0), value)
                time.sleep(0.02)
            assert process.stdout is not None
            said = process.stdout.read()
        seconds = time.perf_counter() - began
        if process.returncode:
            raise SystemExit(f"the run ended with {process.returncode}")
        held_at_most = int(peak.read_text()) if peak is not None else None
    return {
        "seconds": seconds,
        "solve_seconds": json.loads(said)["seconds"],
        "group_peak_bytes": held_at_most,
        "peak_bytes": peaks,
        "major_faults": resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt - faults,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_output(parser)
    parser.add_argument("--limit", type=byte_count, default=byte_count("256M"))
    parser.add_argument("--times", type=float, default=10)
    parser.add_argument("--sources", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="on a disk; default: a temporary one")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        graph = Path(folder) / "random.nfg"
        make(graph, int(arguments.limit * arguments.times))
        size = graph.stat().st_size
        n, m = size // (8 * DEGREE), size // 8
        print(f"{size / 2**20:,.0f} MiB, limit {arguments.limit / 2**20:,.0f} MiB", flush=True)
        sources = [str(i * (n // arguments.sources - 1)) for i in range(arguments.sources)]
        words = ["--source", *sources, "--threads", str(arguments.threads), "--device", "cpu"]
        words += ["--method", "worker_per_source"]
        for name, limit in (("in memory", None), ("limited", arguments.limit)):
            out = Path(folder) / f"{name.replace(' ', '-')}.npy"
            results[name] = found = run(graph, out, limit, words)
            rate = arguments.sources * m / found["solve_seconds"] / 1e6
            found["edges_per_second"] = rate * 1e6
            mib = {key: value / 2**20 for key, value in found["peak_bytes"].items()}
            mib["group"] = (found["group_peak_bytes"] or 0) / 2**20
            print(
                f"{name}: {found['seconds']:.1f} s in all, {found['solve_seconds']:.1f} s solving, "
                f"{rate:,.0f} M edges per second, own memory at most {mib['RssAnon']:,.0f} MiB, "
                f"group at most {mib['group']:,.0f} MiB, {mib['read_bytes']:,.0f} MiB "
                f"read, {found['major_faults']:,} major faults",
                flush=True,
            )
        same = filecmp.cmp(Path(folder) / "in-memory.npy", Path(folder) / "limited.npy", False)
        if not same:
            raise SystemExit("other rows")
    document = {
        "environment": environment(),
        "limit": arguments.limit,
        "graph_bytes": size,
        "sources": arguments.sources,
        "threads": arguments.threads,
        "results": results,
    }
    write_result(arguments.output, document)


if __name__ == "__main__":
    main()
