"""Measure the effect of each trick of the CPU engine: solves with all tricks, and without one each.

    NEARFAR_DATA=... python benchmarks/ablation.py -o benchmarks/results/ablation.json [--quick]

For each trick a copy of the package without it is built (ablation_tricks.py) and runs in a separate
process. The processes alternate in a different order each round, and only one works at a time. A
turn is one warm-up solve followed by timed ones. Every answer is compared, bit for bit, with a
proven one. A ratio is the time without the trick over the time with all tricks: of the least
processor times of the rounds with one thread, of the least wall times with several. The row
"nothing" is a second process with the same code and shows the noise. The speed of small graphs
differs from process to process: ``--processes`` starts several.

Two tricks concern cores that other programs use as well, so they are also measured with two threads
on two cores while one and two busy loops run. Rewrites ablation.json after each graph. Needs a C++
compiler, CMake, Ninja and nanobind; takes about 5 minutes on 16 cores.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
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
from ablation_tricks import ALONE, BREADTH_FIRST_TRICKS, OWN_CORE, TRICKS, Builds, Trick
from nearfar import _cpu
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.report import table
from nearfar.lab.bench.suite import SUITE, draw_sources, load
from result_file import add_output, write_result
from zoo_graphs import ZOO, make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nearfar.graph.graph import Graph

SCHEMA = "nearfar-ablation/1"
#: Methods on one thread, whose names end in _parallel with several; breadth-first without weights.
METHODS = {"delta_stepping": TRICKS, "breadth_first": BREADTH_FIRST_TRICKS}
WITH_ALL = "with all"
#: Minimum total time of the timed solves of a turn, in milliseconds.
LEAST_MS = 20
#: A trick whose ratio is below this on every graph does not pay.
PAYS = 1.05

# Program of the separate processes: reads one request per line, writes one answer per line.
SERVER = r"""
import hashlib, json, os, sys, time
where, cores = sys.argv[1], json.loads(sys.argv[2])
if cores:
    os.sched_setaffinity(0, cores)
# An editable installation would import the package from elsewhere.
sys.meta_path[:] = [one for one in sys.meta_path if "Redirecting" not in type(one).__name__]
sys.path.insert(0, where)
import numpy as np
import nearfar
if not nearfar.__file__.startswith(where):
    raise SystemExit(f"expected nearfar from {where}, got {nearfar.__file__}")

def clocked(solve, least_ms):
    wall, processor = [], []
    solve()
    while sum(wall) < least_ms:
        began, used = time.perf_counter(), time.process_time()
        solve()
        wall.append(1e3 * (time.perf_counter() - began))
        processor.append(1e3 * (time.process_time() - used))
    return wall, processor

def load(file, family):
    global graph, one_thread
    arrays, one_thread = np.load(file), family
    graph = nearfar.Graph(arrays["indptr"], arrays["indices"], arrays.get("weights"))
    return graph.n_edges

def solve(source, threads, least_ms):
    method = one_thread if threads == 1 else one_thread + "_parallel"
    last = []
    def once():
        last[:] = [nearfar.sssp(graph, source, device="cpu", method=method, threads=threads)]
    wall, processor = clocked(once, least_ms)
    digest = hashlib.sha256(np.ascontiguousarray(last[0].distances)).hexdigest()
    return {"wall": wall, "processor": processor, "digest": digest}

for line in sys.stdin:
    name, *given = json.loads(line)
    print(json.dumps(globals()[name](*given)), flush=True)
"""


class Process:
    """Separate process that runs one build of the package and answers requests."""

    def __init__(
        self,
        where: Path,
        variables: dict[str, str],
        cores: list[int] | None = None,
        server: str = SERVER,
    ) -> None:
        words = [sys.executable, "-c", server, str(where.resolve()), json.dumps(cores)]
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )

    def ask(self, *request: Any) -> None:
        """Send a request: a function's name and its arguments."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Return the result of the requested function."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a process ended with {self._process.wait()}: see its message above")
        return json.loads(line)

    def call(self, *request: Any) -> Any:
        """Send a request and return its result."""
        self.ask(*request)
        return self.answer()

    def close(self) -> None:
        """Close the request stream and wait for the process to end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@contextlib.contextmanager
def processes(
    trees: dict[str, Path],
    tricks: list[Trick],
    cores: list[int] | None = None,
    server: str = SERVER,
) -> Iterator[dict[str, Process]]:
    """Start one process per trick, and one with all tricks; end them when the block is left."""
    variables = {trick.name: trick.environment for trick in tricks}
    started = {
        name: Process(trees[name], variables.get(name, {}), cores, server)
        for name in [WITH_ALL, *variables]
    }
    try:
        yield started
    finally:
        for one in started.values():
            one.close()


def take_turns(
    started: dict[str, Process], rounds: int, request: tuple[Any, ...], digest: str | None
) -> dict[str, Any]:
    """Return all samples in milliseconds by name, after comparing the answers.

    Raises
    ------
    SystemExit
        For a wrong answer.
    """
    names = list(started)
    found: dict[str, Any] = {name: {"wall": [], "processor": []} for name in names}
    for turn in range(rounds):
        shift = turn * 5 % len(names)
        for name in names[shift:] + names[:shift]:
            got = started[name].call(*request)
            digest = digest or got["digest"]
            if got["digest"] != digest:
                raise SystemExit(f"without {name}, {request}: a wrong answer")
            for clock in ("wall", "processor"):
                found[name][clock].append(min(got[clock]))
    return found


def summary(samples: dict[str, Any], clock: str) -> dict[str, Any]:
    """Return least and median times without each trick, and both over those with all tricks."""
    base = samples[WITH_ALL][clock]
    return {
        name: {
            "least_ms": min(one[clock]),
            "median_ms": statistics.median(one[clock]),
            "ratio": min(one[clock]) / min(base),
            "ratio_of_medians": statistics.median(one[clock]) / statistics.median(base),
            "samples_ms": one[clock],
        }
        for name, one in samples.items()
    }


def proven(graph: Graph, source: int) -> str:
    """Return the digest of the proven distances."""
    paths = nearfar.sssp(graph, source, device="cpu", method="dijkstra_dary_heap", threads=1)
    nearfar.verify(graph, paths)
    return hashlib.sha256(np.ascontiguousarray(paths.distances)).hexdigest()


def save(graph: Graph, file: Path) -> Path:
    weights = {"weights": graph.weights} if graph.is_weighted else {}
    np.savez(file, indptr=graph.indptr, indices=graph.indices, **weights)
    return file


def solves(
    started: dict[str, Process],
    tricks: list[Trick],
    name: str,
    args: argparse.Namespace,
    at: Path,
    earlier: dict[str, Any],
) -> dict[str, Any]:
    """Measure every trick with every number of threads on one graph, and add to earlier samples."""
    if name in SUITE:
        graph = load(name, args.shrink)
        source = draw_sources(graph, 1, SUITE[name].source)[0]
    else:
        graph = make(name, args.most)
        source = draw_sources(graph, 1)[0]
    if args.method == "breadth_first":
        graph = graph.without_weights()
    digest = proven(graph, source)
    file = save(graph, at / "graph.npz")
    for one in started.values():
        one.ask("load", str(file), args.method)
    for one in started.values():
        one.answer()
    several = {trick.name for trick in tricks if trick.several}
    found: dict[str, Any] = {}
    for threads in args.threads:
        clock = "processor" if threads == 1 else "wall"
        names = [one for one in started if threads > 1 or one not in several]
        samples = take_turns(
            {one: started[one] for one in names},
            args.rounds,
            ("solve", source, threads, LEAST_MS),
            digest,
        )
        before = earlier["threads"][str(threads)] if earlier else {}
        for trick, known in before.items():
            samples[trick][clock] = [*known["samples_ms"], *samples[trick][clock]]
        found[str(threads)] = summary(samples, clock)
    return {
        "n_vertices": graph.n_vertices,
        "n_edges": graph.n_edges,
        "dtype": graph.weight_dtype.name,
        "source": source,
        "threads": found,
    }


@contextlib.contextmanager
def busy(cores: list[int]) -> Iterator[None]:
    """Run a busy loop on each core while the block runs."""
    code = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
    loops = [subprocess.Popen([sys.executable, "-c", code, str(core)]) for core in cores]
    try:
        time.sleep(0.3)
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


def beside_busy_loops(
    trees: dict[str, Path], tricks: list[Trick], args: argparse.Namespace, at: Path
) -> dict[str, Any] | None:
    """Measure two threads on two cores while one and two busy loops run; None on one core."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        return None
    name = "newyork" if SUITE["newyork"].available() is True and args.shrink == 1 else "small"
    graph = load(name)
    source = draw_sources(graph, 1, SUITE[name].source)[0]
    digest, file = proven(graph, source), save(graph, at / "graph.npz")
    loops: dict[str, Any] = {}
    for number in (1, 2):
        samples: dict[str, Any] = {}
        with processes(trees, tricks, cores) as started, busy(cores[:number]):
            for one in started.values():
                one.call("load", str(file), args.method)
            for turn in range(args.rounds):
                for who in list(started)[:: -1 if turn % 2 else 1]:
                    got = started[who].call("solve", source, 2, args.stretch_ms)
                    if got["digest"] != digest:
                        raise SystemExit(f"without {who}, with busy loops: a wrong answer")
                    # Slow solves matter here, so a sample is the mean of consecutive solves.
                    mean = statistics.fmean(got["wall"])
                    samples.setdefault(who, {"wall": []})["wall"].append(mean)
        found = summary(samples, "wall")
        for one in found.values():
            one["ratio"] = one["ratio_of_medians"]
        loops[str(number)] = found
    return {"graph": name, "n_vertices": graph.n_vertices, "loops": loops}


def lines(data: dict[str, Any]) -> list[str]:
    """Return tables of the ratios, with a row per trick and a column per graph."""
    said: list[str] = []
    graphs = data["graphs"]
    counts = list(next(iter(graphs.values()))["threads"]) if graphs else []
    for threads in counts:
        rows = [
            [name, *(_cell(graph["threads"][threads].get(name)) for graph in graphs.values())]
            for name in data["tricks"]
            if any(name in graph["threads"][threads] for graph in graphs.values())
        ]
        base = [f"{g['threads'][threads][WITH_ALL]['least_ms']:.3g} ms" for g in graphs.values()]
        head = [f"without, {threads} thread{'s' * (threads != '1')}", *graphs]
        said += [*table(head, [*rows, [WITH_ALL, *base]]), ""]
    for number, found in (data["busy"] or {"loops": {}})["loops"].items():
        ratios = ", ".join(f"{w} {one['ratio']:.2f}" for w, one in found.items() if w != WITH_ALL)
        said.append(f"with {number} busy loops, {data['busy']['graph']}: {ratios}")
    idle = not_paying(data)
    said.append(f"below {PAYS:g} everywhere: {', '.join(idle) or 'none'}")
    return said


def _cell(found: dict[str, Any] | None) -> str:
    return "-" if found is None else f"{found['ratio']:.2f}"


def not_paying(data: dict[str, Any]) -> list[str]:
    """Return the tricks without which no solve takes 5 % longer, by least and by median times."""
    best: dict[str, float] = {}
    parts = [part for graph in data["graphs"].values() for part in graph["threads"].values()]
    parts += data["busy"]["loops"].values() if data["busy"] else []
    for part in parts:
        for name, found in part.items():
            sure = min(found["ratio"], found["ratio_of_medians"])
            best[name] = max(best.get(name, 0.0), sure)
    return [name for name in data["tricks"] if name in best and best[name] < PAYS]


def built(folder: Path, tricks: Sequence[Trick]) -> tuple[list[Trick], dict[str, Path]]:
    """Build the package without each trick that this machine can omit; the first is "nothing"."""
    level = _cpu.isa()
    some = [one for one in tricks if not one.environment or level not in ("baseline", "v2")]
    trees = Builds(folder, level).make(some)
    trees[WITH_ALL] = trees[tricks[0].name]
    return some, trees


def show_columns(columns: dict[str, dict[str, Any]]) -> None:
    """Print a row per trick and a column per kind of call, with a star if a trick pays."""
    rows = []
    for trick in next(iter(columns.values())):
        cells = [column[trick] for column in columns.values()]
        if trick == WITH_ALL:
            rows.append([f"{trick}, ms", *(f"{cell['least_ms']:.3g}" for cell in cells)])
        else:
            ratios = [cell["ratio"] for cell in cells]
            rows.append([trick, *(f"{r:.2f}{'*' if r >= PAYS else ''}" for r in ratios)])
    print("\n".join(table(["without", *columns], rows)))


def run_part(
    about: str,
    names: Sequence[str],
    rounds: int,
    quick: tuple[str, int],
    measure: Callable[[Path, list[str], int], list[dict[str, Any]]],
    show: Callable[[list[dict[str, Any]]], None],
    part: str,
) -> int:
    """Run the command line of an ablation of one part: measure, print, write."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=list(names), choices=names)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--quick", action="store_true", help=f"{quick[0]} alone, {quick[1]} rounds")
    parser.add_argument(
        "--folder", type=Path, default=None, help="folder for the builds, kept for later runs"
    )
    add_output(parser)
    given = parser.parse_args()
    graphs, turns = ([quick[0]], quick[1]) if given.quick else (given.graphs, given.rounds)
    with tempfile.TemporaryDirectory() as temporary:
        results = measure(given.folder or Path(temporary), graphs, turns)
    show(results)
    if given.output:
        whole = {"schema": f"nearfar-ablation-{part}/1", "environment": environment()}
        write_result(given.output, {**whole, "results": results})
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument(
        "--graphs",
        nargs="+",
        default=list(SUITE),
        choices=[*SUITE, *ZOO],
        metavar="GRAPH",
        help="of the suite (default: all) and of zoo_graphs.py",
    )
    parser.add_argument("--method", choices=METHODS, default="delta_stepping")
    parser.add_argument("--most", type=int, help="vertices of a graph of zoo_graphs.py")
    parser.add_argument("--tricks", nargs="+", help="beginnings of their names")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=1, help="per trick, one after the other")
    parser.add_argument("--quick", action="store_true", help="small graphs, two rounds")
    parser.add_argument("--folder", type=Path, help="for the builds; kept, and used again")
    args = parser.parse_args()
    args.shrink, args.stretch_ms = (16, 100) if args.quick else (1, 500)
    args.rounds = min(args.rounds, 2) if args.quick else args.rounds
    around = environment()
    tricks = [
        trick
        for trick in METHODS[args.method]
        if not args.tricks or any(trick.name.startswith(one) for one in args.tricks)
    ]
    everything = Trick(WITH_ALL, "")
    with contextlib.ExitStack() as stack:
        folder = args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        began = time.perf_counter()
        trees = Builds(folder.resolve(), _cpu.isa()).make([everything, *tricks])
        print(f"built in {time.perf_counter() - began:.0f} s", flush=True)
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "environment": around,
            "quick": args.quick,
            "tricks": {trick.name: trick.without for trick in tricks},
            "graphs": {},
            "busy": None,
        }
        for name in args.graphs:
            if name in SUITE and SUITE[name].available() is not True:
                print(f"{name} left out: {SUITE[name].available()}")
                continue
            for _ in range(args.processes):
                with processes(trees, tricks) as started:
                    earlier = data["graphs"].get(name, {})
                    data["graphs"][name] = solves(started, tricks, name, args, folder, earlier)
            print(f"{name} done, {time.perf_counter() - began:.0f} s", flush=True)
            keep(data, args.output)
        on_busy_cores = [trick for trick in (ALONE, OWN_CORE) if trick in tricks]
        if on_busy_cores:
            data["busy"] = beside_busy_loops(trees, on_busy_cores, args, folder)
    print("\n".join(lines(data)))
    keep(data, args.output)
    return 0


def keep(data: dict[str, Any], file: Path | None) -> None:
    """Write the results so far, so that an interrupted run keeps them."""
    if file:
        write_result(file, data)


if __name__ == "__main__":
    sys.exit(main())
