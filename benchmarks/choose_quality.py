"""Measure the automatic choice: ``auto`` against the best of all CPU variants on every graph.

    python benchmarks/choose_quality.py -o benchmarks/results/choose_quality.json

For each graph of the suite and each number of threads, every suitable variant is tried once with a
time limit; the fastest eight and ``auto`` then alternate for several rounds. Reported are ``auto /
best`` per graph (1 is perfect; noise can move it either way), the geometric mean and the worst
value. Writes choose_quality.json.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from nearfar.choose.ranking import best
from nearfar.errors import SolverError
from nearfar.lab.bench.environment import environment
from nearfar.lab.bench.measure import measure
from nearfar.lab.bench.peers import Nearfar
from nearfar.lab.bench.report import milliseconds, table
from nearfar.lab.bench.suite import SUITE, draw_sources, load
from nearfar.registry import Request, variants
from result_file import add_output, write_result

if TYPE_CHECKING:
    from nearfar.answer.paths import Paths
    from nearfar.graph.graph import Graph

FINALISTS = 8


class Limited(Nearfar):
    """Variant that is stopped by a signal, as by Ctrl-C, when it exceeds a time limit."""

    limit = 2.0

    def solve(self, source: int) -> Paths:
        """Run the variant under an alarm; solvers check for signals as they run."""

        def stop(*_: object) -> None:
            raise TimeoutError

        before = signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, self.limit)
        try:
            return super().solve(source)
        except TimeoutError:
            raise SolverError(f"stopped after {self.limit:g} s of processor time") from None
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            signal.signal(signal.SIGVTALRM, before)


def try_out(graph: Graph, variant: str, threads: int, source: int, limit: float) -> float | str:
    """Return the seconds of the faster of two solves, or the reason why there is no time."""
    peer = Limited(threads, variant)
    peer.limit = limit
    peer.prepare(graph)
    taken = []
    try:
        for _ in range(2):
            began = time.perf_counter()
            peer.solve(source)
            taken.append(time.perf_counter() - began)
    except SolverError as error:
        return str(error)
    return min(taken)


def judge(name: str, graph: Graph, threads: int, rounds: int, limit: float) -> dict[str, Any]:
    """Try all variants, then measure the fastest ones and ``auto`` in alternation."""
    sources = draw_sources(graph, 2, SUITE[name].source)
    request = Request(device="cpu", threads=threads)
    fitting = [
        v.id for v in variants(device="cpu", problem="sssp") if v.can_run(graph, request) is True
    ]
    tried = {v: try_out(graph, v, threads, sources[0], limit) for v in fitting}
    tries = {v: taken for v, taken in tried.items() if not isinstance(taken, str)}
    finalists = sorted(tries, key=lambda v: tries[v])[:FINALISTS]
    chosen = best(graph, request)[0].id
    if chosen not in finalists:  # the choice is always a finalist
        finalists.append(chosen)
    final = measure(
        graph,
        [Nearfar(threads), *(Nearfar(threads, v) for v in finalists)],
        sources,
        rounds=rounds,
        patience=math.inf,
        name=name,
    )
    auto, *others = final.results
    medians = {v: result.median for v, result in zip(finalists, others, strict=True)}
    winner = min(medians, key=lambda v: medians[v])
    return {
        "graph": name,
        "threads": threads,
        "chosen": auto.engine,
        "auto_seconds": auto.median,
        "best": winner,
        "best_seconds": medians[winner],
        "auto_over_best": auto.median / medians[winner],
        "finalists": medians,
        "tried": tried,
        "samples": {"auto": auto.seconds, winner: others[finalists.index(winner)].seconds},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_output(parser)
    parser.add_argument("--graphs", nargs="+", metavar="NAME")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--limit", type=float, default=2.0, help="processor seconds a try (default: 2)"
    )
    parser.add_argument("--shrink", type=int, default=1)
    args = parser.parse_args()
    surroundings = environment()
    names = args.graphs or [g.name for g in SUITE.values() if g.available() is True]
    judged = []
    for name in names:
        graph = load(name, args.shrink)
        for threads in args.threads:
            judged.append(judge(name, graph, threads, args.rounds, args.limit))
            found = judged[-1]
            print(f"{name}, {threads} thr: {found['auto_over_best']:.3f}", file=sys.stderr)
    ratios = [found["auto_over_best"] for found in judged]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    worst = max(judged, key=lambda found: found["auto_over_best"])
    shown = [
        [
            f"{f['graph']}, {f['threads']} thr",
            f"{f['chosen']} {milliseconds(f['auto_seconds'])}",
            f"{f['best']} {milliseconds(f['best_seconds'])}",
            f"{f['auto_over_best']:.3f}",
        ]
        for f in judged
    ]
    print("\n".join(table(["graph", "auto, ms", "best, ms", "auto / best"], shown)))
    print(f"\nGeometric mean {mean:.3f}, worst {max(ratios):.3f} ({worst['graph']}).")
    if args.output:
        data = {
            "schema": "nearfar-choose-quality/1",
            "environment": surroundings,
            "shrink": args.shrink,
            "geometric_mean": mean,
            "worst": max(ratios),
            "worst_graph": worst["graph"],
            "graphs": judged,
        }
        write_result(args.output, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
