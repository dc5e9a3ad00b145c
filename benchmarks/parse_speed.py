"""Measure reading and writing files, in megabytes of file per second, checks included.

    python benchmarks/parse_speed.py -o benchmarks/results/parse_speed.json

One random graph of a million vertices and five million edges (integer weights; floats for one row)
is written in every format to a temporary folder and read back three times. A read is timed from the
call to the finished Graph: parsing, counting sort into rows if the format needs it, and validation.
The file is in the page cache; every answer is compared with the graph that was written. Megabytes
are those of the uncompressed file, so a compressed row shows the cost of its codec. CPU seconds of
all threads are recorded with wall seconds, because other processes affect only the latter. The file
is written after every format.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from nearfar import Graph
from nearfar.formats import read, write
from nearfar.lab.bench.environment import environment
from result_file import add_output, write_result

VERTICES, EDGES, ROUNDS = 1_000_000, 5_000_000, 3
# suffix, kind of graph, options for reading
FILES: list[tuple[str, str, dict[str, Any]]] = [
    (".gr", "integer", {}),
    (".gr.gz", "integer", {}),
    (".gr.zst", "integer", {}),
    (".txt", "integer", {}),
    (".txt", "float", {}),
    (".wel", "integer", {}),
    (".mtx", "integer", {}),
    (".graph", "undirected", {}),
    (".jlg", "unweighted", {}),
    (".csv", "integer", {}),
    (".parquet", "integer", {}),
    (".wsg", "integer", {}),
    (".npz", "integer", {}),
    (".nfg", "integer", {}),
    (".nfg", "integer", {"verify": False}),
    (".map", "grid", {}),
]


def graphs() -> dict[str, Graph]:
    """Return the graph in the kinds that the formats require."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, VERTICES, (2, EDGES))
    ends = ends[:, ends[0] != ends[1]]
    k = ends.shape[1]
    half = ends[:, : k // 2]
    return {
        "integer": Graph.from_edges(
            *ends, rng.integers(1, 100_000, k).astype(np.int32), n_vertices=VERTICES
        ),
        "float": Graph.from_edges(*ends, rng.random(k) * 1000, n_vertices=VERTICES),
        "unweighted": Graph.from_edges(*ends, n_vertices=VERTICES),
        "undirected": Graph.from_edges(
            *half,
            rng.integers(1, 1000, k // 2).astype(np.int32),
            n_vertices=VERTICES,
            directed=False,
        ),
        "grid": grid_map(3000),
    }


def grid_map(side: int) -> Graph:
    """Return a square map with a tenth of its cells blocked, built by reading its text."""
    cells = np.full((side, side + 1), ord("."), dtype=np.uint8)
    cells[np.random.default_rng(1).random(cells.shape) < 0.1] = ord("@")
    cells[:, side] = ord("\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "g.map"
        head = f"type octile\nheight {side}\nwidth {side}\nmap\n"
        path.write_bytes(head.encode() + cells.tobytes())
        return read(path)


def measure(suffix: str, graph: Graph, options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Write once, read several times, and compare."""
    path = folder / f"graph{suffix}"
    began = time.perf_counter()
    write(graph, path)
    writing = time.perf_counter() - began
    plain = path
    if path.suffix in (".gz", ".zst", ".xz"):
        plain = folder / f"plain{Path(suffix).stem}"
        write(graph, plain)
    megabytes = plain.stat().st_size / 1e6
    seconds, cpu_seconds = [], []
    for _ in range(ROUNDS):
        began, cpu_began = time.perf_counter(), time.process_time()
        found = read(path, **options)
        seconds.append(time.perf_counter() - began)
        cpu_seconds.append(time.process_time() - cpu_began)
    same = found.n_edges == graph.n_edges and np.array_equal(
        np.sort(found.effective_weights), np.sort(graph.effective_weights)
    )
    if not same:
        raise SystemExit(f"{suffix}: what was read is not what was written")
    for file in (path, plain):
        file.unlink(missing_ok=True)
    median, cpu = float(np.median(seconds)), float(np.median(cpu_seconds))
    return {
        "megabytes": round(megabytes, 1),
        "read_seconds": [round(s, 4) for s in seconds],
        "read_cpu_seconds": [round(s, 4) for s in cpu_seconds],
        "read_megabytes_per_cpu_second": round(megabytes / cpu, 1),
        "read_megabytes_per_second": round(megabytes / median, 1),
        "read_million_edges_per_second": round(graph.n_edges / median / 1e6, 2),
        "write_seconds": round(writing, 4),
        "write_megabytes_per_second": round(megabytes / writing, 1),
    }


def main() -> None:
    """Measure all formats and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_output(parser)
    args = parser.parse_args()
    about = {"environment": environment(), "vertices": VERTICES, "edges": EDGES, "rounds": ROUNDS}
    made = graphs()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for suffix, kind, options in FILES:
            found = measure(suffix, made[kind], options, Path(folder))
            row = {"file": suffix, "graph": kind, "options": options, **found}
            rows.append(row)
            print(
                f"{suffix:10} {kind:11} {row['megabytes']:8.1f} MB   "
                f"read {row['read_megabytes_per_second']:8.1f} MB/s, "
                f"{row['read_megabytes_per_cpu_second']:8.1f} MB per CPU second   "
                f"write {row['write_megabytes_per_second']:8.1f} MB/s",
                flush=True,
            )
            write_result(args.output, {**about, "rows": rows})


if __name__ == "__main__":
    main()
