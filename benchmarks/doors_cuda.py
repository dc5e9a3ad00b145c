"""Compare the interfaces on a GPU: all pairs through six calls, and first calls of a process.

    python benchmarks/doors_cuda.py -o FILE [--only all-pairs first-calls]

``all-pairs``: two graphs of the Johnson paper, built from host arrays and from device arrays, with
rows written to a device array, to a new array, and reduced to a mean each. A round builds a new
graph and uploads it, then calls twice: *fresh* has to determine the edges that no path needs,
*again* reuses that result. A sample is wall time from the call to the end of the work on the
device; ``device`` is the part of it between the first launch and the last. Calls alternate. Rows
are compared with single searches by a binary heap, means with those of the host.

``first-calls``: new processes, one after the other, with the kernel cache empty and full, from the
first line of the program to the distances on the host; for comparison, the time of Python, NumPy,
CuPy and the driver alone. With -o, doors_cuda.json is written after each graph and call; other
parts and graphs keep their earlier results.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from all_pairs import check, snap
from nearfar.cuda.device_graph import device_graph
from nearfar.generators import generate
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import milliseconds, table
from nearfar.solve.many import all_pairs, distances
from nearfar.system.devices import runtime
from result_file import add_output, write_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar.graph.graph import Graph

GRAPHS = ("loc-brightkite", "soc-Slashdot0902")
SAMPLED = 64  # number of sources whose means are compared
KERNELS = ("kernels", "cupy")  # folders of compiled kernels: nearfar's and CuPy's

# Programs of new processes, which print the seconds since their start.
BEGIN = "import time; began = time.perf_counter(); import sys, numpy as np\n"
END = "\nprint(time.perf_counter() - began)"
READ = 'a = [np.load(f"{sys.argv[1]}/{part}.npy") for part in ("indptr", "indices", "weights")]\n'
ALONE = {
    "import of NumPy and CuPy": "import cupy",
    "and the device opened": "import cupy; cupy.cuda.runtime.free(0)",
    "and the arrays of 10 million edges read and copied there": READ
    + "import cupy; [cupy.asarray(x) for x in a]; cupy.cuda.runtime.deviceSynchronize()",
}
MADE = READ + "import nearfar; g = nearfar.Graph.from_csr(*a)\n"
LONGEST = (
    READ + "import nearfar; g = nearfar.Graph.from_csr(*a, directed=False)\n"
    "from nearfar.system.devices import compiler\nlongest = 0\n"
    "for turn in range(40):\n"
    "    before = time.perf_counter()\n"
    "    nearfar.sssp(g, 0, device='cuda').distances\n"
    "    longest = max(longest, turn and time.perf_counter() - before)\n"
    "    if turn == 20: compiler.finish_background()\n"
    "began = time.perf_counter() - longest"
)
CALLS = {
    "sssp(g, 0, device='cuda')": ("large", MADE + "nearfar.sssp(g, 0, device='cuda').distances"),
    "the longest of solves 2 to 40 of an undirected graph": ("skewed", LONGEST),
    "distances(g, range(256), device='cuda')": (
        "small",
        MADE + "nearfar.distances(g, range(256), device='cuda')",
    ),
    "distances(g, range(256), device='cuda', reduce='mean')": (
        "small",
        MADE + "nearfar.distances(g, range(256), device='cuda', reduce='mean')",
    ),
    "sssp of device arrays": (
        "large",
        READ + "import cupy, nearfar; g = nearfar.Graph.from_csr(*map(cupy.asarray, a))\n"
        "nearfar.sssp(g, 0).distances.get()",
    ),
}
GRAPHS_OF_CALLS: dict[str, dict[str, Any]] = {
    "large": {"name": "uniform_random", "vertices": 625_000, "degree": 16},
    "small": {"name": "uniform_random", "vertices": 20_000, "degree": 8},
    "skewed": {"name": "kronecker", "scale": 16},
}


def on_device(graph: Graph) -> Graph:
    """Return the graph built from device arrays."""
    arrays = graph.indptr, graph.indices, graph.weights
    return nearfar.Graph.from_csr(*map(runtime.upload, arrays), directed=graph.directed)


def on_host(graph: Graph) -> Graph:
    """Return a new copy of the graph without cached data."""
    return nearfar.Graph.from_csr(
        graph.indptr, graph.indices, graph.weights, directed=graph.directed
    )


def doors(out: Any) -> dict[str, tuple[Callable[[Graph], Graph], dict[str, Any]]]:
    """Return the interfaces: how the graph is built, and further arguments of the call."""
    return {
        "host graph, rows into a device array": (on_host, {"out": out, "device": "cuda"}),
        "host graph, mean of each row": (on_host, {"reduce": "mean", "device": "cuda"}),
        "device graph, rows into a device array": (on_device, {"out": out}),
        "device graph, rows": (on_device, {}),
        "device graph, mean of each row": (on_device, {"reduce": "mean"}),
    }


def clocked(graph: Graph, call: dict[str, Any]) -> tuple[dict[str, float], Any]:
    """Return wall and device seconds of one call, and its answer."""
    stats: dict[str, Any] = {}
    runtime.synchronize()
    began = time.perf_counter()
    found = all_pairs(graph, stats=stats, **call)
    runtime.synchronize()
    seconds = time.perf_counter() - began
    return {"wall": seconds, "device": stats["device_seconds"]}, found


def through_doors(name: str, rounds: int) -> dict[str, Any]:
    """Measure all pairs of one graph through each interface."""
    graph = snap(name)
    n = graph.n_vertices
    out = runtime.cupy().empty((n, n), dtype=np.int32)
    sources = np.random.default_rng(4).choice(n, SAMPLED, replace=False)
    wanted = distances(graph, sources, reduce="mean", device="cpu")
    samples: dict[str, dict[str, list[dict[str, float]]]] = {}
    for turn in range(rounds + 1):
        for door, (make, call) in doors(out).items():
            made = make(graph)
            device_graph(made)
            for when in ("fresh", "again"):
                sample, found = clocked(made, call)
                if turn:
                    samples.setdefault(door, {}).setdefault(when, []).append(sample)
                    continue
                if "reduce" in call:
                    # A row without reached vertices has the mean NaN on both devices.
                    if not np.array_equal(_host(found)[sources], wanted, equal_nan=True):
                        raise SystemExit(f"{door}: a mean is wrong")
                else:
                    check(graph, np.arange(n), found, 20)
            del found, made
    for door, kinds in samples.items():
        words = "; ".join(
            f"{when} {milliseconds(_median(kind, 'wall'))} ms, "
            f"device {milliseconds(_median(kind, 'device'))}"
            for when, kind in kinds.items()
        )
        print(f"{name}, {door}: {words}", flush=True)
    return {"graph": name, "vertices": n, "edges": graph.n_edges, "samples": samples}


def _host(array: Any) -> Any:
    return runtime.download(array) if runtime.is_device_array(array) else array


def _median(samples: list[dict[str, float]], what: str) -> float:
    return statistics.median(sample[what] for sample in samples)


def first_calls(rounds: int, keep: Callable[[list[dict[str, Any]]], None]) -> None:
    """Return seconds of new processes, with kernel caches empty and full."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, size in GRAPHS_OF_CALLS.items():
            graph = generate(**size)
            Path(folder, name).mkdir()
            for part in ("indptr", "indices", "weights"):
                np.save(Path(folder, name, f"{part}.npy"), getattr(graph, part))
        programs = {what: ("large", program) for what, program in ALONE.items()} | CALLS
        for what, (name, program) in programs.items():
            samples: dict[str, list[float]] = {"empty": [], "full": []}
            caches = ""
            for turn in range(-1, rounds):  # the first round compiles Python's modules
                if what in CALLS or turn < 0:
                    caches = tempfile.mkdtemp(dir=folder)
                for state in samples if what in CALLS else ("full",):
                    seconds = _process(program, folder, name, caches)
                    if turn >= 0:
                        samples[state].append(seconds)
            files = {kind: len(list(Path(caches, kind).glob("*.cubin"))) for kind in KERNELS}
            print(what, samples, files, flush=True)
            found.append({"what": what, "graph": name, "kernel_files": files, "seconds": samples})
            keep(found)


def _process(program: str, folder: str, graph: str, caches: str) -> float:
    """Return the seconds reported by a new process; CuPy's kernels are cached next to nearfar's.

    The driver's cache is there as well: since CUDA 12.9 NVRTC uses it first.
    """
    own, theirs = (f"{caches}/{kind}" for kind in KERNELS)
    variables = {
        **os.environ,
        "NEARFAR_CACHE": str(Path(own).parent),
        "CUPY_CACHE_DIR": theirs,
        "CUDA_CACHE_PATH": f"{caches}/driver",
        "PYTHONPYCACHEPREFIX": f"{folder}/bytecode",
    }
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have compiled modules
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program + END, f"{folder}/{graph}"],
        capture_output=True,
        text=True,
        check=True,
        env=variables,
    )
    return float(done.stdout)


def _device() -> dict[str, Any]:
    """Describe the device; a separate process is used, so that this one does not open it."""
    program = (
        "import json; from nearfar.system.devices import runtime\n"
        "print(json.dumps(runtime.device()._asdict()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Run the chosen parts and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parts = ("all-pairs", "first-calls")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=GRAPHS)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    path = args.output
    document = json.loads(path.read_text()) if path and path.exists() else {}
    device = _device()

    def keep(part: str, results: Any) -> None:
        document[part] = {
            "environment": environment(),
            "device": device,
            "settings": {"rounds": args.rounds},
            "results": results,
        }
        if path:
            write_result(path, document)

    if "first-calls" in args.only:
        first_calls(args.rounds, lambda results: keep("first-calls", results))
    if "all-pairs" in args.only:
        before = document.get("all-pairs", {"device": device, "results": []})
        kept = {row["graph"]: row for row in before["results"] if before["device"] == device}
        for name in args.graphs:
            measured = through_doors(name, args.rounds)
            kept[name] = {**measured, "environment": environment()}
            results = [kept[graph] for graph in GRAPHS if graph in kept]
            keep("all-pairs", results)
        rows = [
            [one["graph"], door, milliseconds(_median(kinds["fresh"], "wall"))]
            for one in results
            for door, kinds in one["samples"].items()
        ]
        print("\n".join(table(["graph", "door", "ms"], rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
