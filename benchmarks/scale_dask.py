"""Compare rows by the workers of a Dask cluster with the same number of threads of one process.

``python benchmarks/scale_dask.py -o benchmarks/results/scale_dask.json`` starts a cluster of
``--workers`` processes with one thread each on this machine and writes the rows of one request to a
Zarr folder, with ``nearfar.distances(threads=...)`` and with ``nearfar.scale.distances`` in
alternation. A sample is a whole call into an empty folder, with the cluster running and the graph
loaded; efficiency is the time of the threads over that of the workers. ``client`` is the processor
time of the client. All samples are kept, and the rows of both are compared.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from all_pairs import snap
from nearfar import scale
from nearfar.graph.graph import Graph
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.suite import load
from result_file import add_output, write_result


def cases() -> Iterator[tuple[str, Graph, np.ndarray, str]]:
    """Yield name, graph, sources, and the method, which is the same for both."""
    roads = load("newyork")
    rng = np.random.default_rng(0)
    some = rng.choice(roads.n_vertices, 256, replace=False)
    yield "New York, 256 sources", roads, some, "worker_per_source@cpu"
    social = snap("p2p-Gnutella31")
    some = rng.choice(social.n_vertices, 1024, replace=False)
    yield "p2p-Gnutella31, 1,024 sources", social, some, "lanes@cpu"


def timed(work: Callable[[Path], Any], folder: Path) -> tuple[float, float]:
    """Return seconds, and processor seconds of this process, of a call into an empty folder."""
    out = folder / "rows.zarr"
    began, cpu = time.perf_counter(), time.process_time()
    work(out)
    return time.perf_counter() - began, time.process_time() - cpu


def measure(
    client: Any, case: tuple[str, Graph, np.ndarray, str], workers: int, rounds: int, folder: Path
) -> dict[str, Any]:
    """Return samples of threads and of workers, in alternation."""
    name, graph, sources, method = case
    stats: dict[str, Any] = {}
    call: dict[str, Any] = {"method": method, "device": "cpu"}

    def threads(out: Path) -> None:
        nearfar.distances(graph, sources, out=out, threads=workers, **call)

    def cluster(out: Path) -> None:
        scale.distances(client, graph, sources, out=out, stats=stats, **call)

    samples: dict[str, list[float]] = {"threads": [], "workers": [], "client": []}
    for turn in range(rounds + 1):
        rows = []
        for kind, work in (("threads", threads), ("workers", cluster)):
            place = Path(tempfile.mkdtemp(dir=folder))
            seconds, processor = timed(work, place)
            rows.append(np.asarray(read(place / "rows.zarr")[::97]))
            if turn:
                samples[kind].append(seconds)
                if kind == "workers":
                    samples["client"].append(processor)
            shutil.rmtree(place)
        if not np.array_equal(*rows):
            raise SystemExit(f"{name}: other rows")
    middle = {kind: statistics.median(values) for kind, values in samples.items()}
    efficiency = middle["threads"] / middle["workers"]
    print(
        f"{name}: {workers} threads {middle['threads']:.2f} s, {workers} workers "
        f"{middle['workers']:.2f} s (efficiency {efficiency:.2f}, client {middle['client']:.2f} s, "
        f"{stats['blocks']} blocks of {stats['rows_per_block']} rows)",
        flush=True,
    )
    return {
        "sources": len(sources),
        "samples": samples,
        "efficiency": efficiency,
        "least": min(samples["threads"]) / min(samples["workers"]),
        "blocks": stats["blocks"],
        "rows_per_block": stats["rows_per_block"],
    }


def read(path: Path) -> Any:
    import zarr

    return zarr.open(str(path), mode="r")


def main() -> None:
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_output(parser)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="for the rows; default: a temporary one")
    arguments = parser.parse_args()
    results = {}
    with (
        LocalCluster(
            n_workers=arguments.workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory(dir=arguments.folder) as folder,
    ):
        for case in cases():
            results[case[0]] = measure(
                client, case, arguments.workers, arguments.rounds, Path(folder)
            )
            document = {
                "environment": environment(),
                "workers": arguments.workers,
                "rounds": arguments.rounds,
                "results": results,
            }
            write_result(arguments.output, document)


if __name__ == "__main__":
    main()
