"""Run random solves over all variants, dtypes and interfaces, and compare with an oracle.

``python benchmarks/soak.py --seconds 3600 -o benchmarks/results/soak.json`` draws graphs from a
seed (``soak_graphs.py``), calls every interface of the package with random arguments
(``soak_solves.py``, ``soak_doors.py``: every variant of the device, batches, files, SciPy's and
NetworkX's functions, the command line, prepared graphs), and compares the answers with distances
computed independently (``soak_oracle.py``). The output has the counts by interface ("door"),
variant and dtype, one part per device; a run on the other device adds its part to the same file.
Ctrl-C ends a run early and keeps its counts.

A long run can be divided: with ``--add`` a run continues after the cases in the output and adds its
counts to the part, until ``--goal`` solves and rows are reached; ``--merge A B ... -o C`` adds the
parts of files from runs with different seeds. ``runs`` in a part records time and place of each.

Each worker process takes every n-th case. If it dies or hangs, that counts as a wrong answer, and a
new process continues with the next case. For a wrong answer, a file with the arrays of the graph
and a description of the call is written to ``--failures``, and the exit code is 1. ``--case
SEED:NUMBER`` runs one case again and shows the fault.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import soak_graphs
import soak_oracle
from nearfar.errors import quoted
from nearfar.lab.bench.environment import environment
from nearfar.registry import Declined, variants
from result_file import add_output, write_result
from soak_doors import DOORS, folder
from soak_graphs import Case
from soak_trial import Soak, Trial

QUIET = 300.0  # seconds without output after which a process counts as hung
Emit = Callable[[dict[str, Any]], None]


# ---- one case -----------------------------------------------------------------------------------


def ending(error: BaseException, lines: int) -> str:
    """Return the end of a traceback, with files relative to the checkout."""
    text = "".join(traceback.format_exception(error)[-lines:])
    return text.replace(f"{Path(__file__).resolve().parents[1]}/", "")


def wrong_with(trial: Trial) -> str | None:
    """Make the call of a trial and return its fault, or None."""
    try:
        found = trial.call()
    except Exception as error:  # every error except an expected one is a fault
        if isinstance(error, trial.error + trial.refusals):
            return None
        if isinstance(error.__cause__, Declined):
            return None  # a variant declined the graph
        return ending(error, 3)
    if trial.error:
        return f"an answer instead of {' or '.join(e.__name__ for e in trial.error)}"
    try:
        return trial.judge(found)
    except Exception as error:  # the answer has another type
        return f"{str(found)[:500]}: {ending(error, 3)}"


def trials(soak: Soak, without: list[str]) -> Iterator[tuple[str, Trial]]:
    """Yield all trials of a case with their interfaces; sometimes the oracle is checked as well."""
    yield "oracle", Trial("heap search", lambda: _other_oracle(soak), _no_difference, 0, "oracle")
    for name, (door, share) in DOORS.items():
        if soak.chance(share) and name not in without:
            for trial in door(soak):
                yield name, trial


def _other_oracle(soak: Soak) -> str | None:
    """Return whether a row of the oracle differs from a much slower textbook search."""
    truth = soak.truth
    if soak.case.number % 20 or truth.edges.negative or soak.n > 400:
        return None
    row = soak.row()
    found = soak_oracle.heap_search(truth.edges, int(truth.sources[row]))
    there = np.flatnonzero(truth.reached[row]).tolist()
    same = sorted(found) == there and all(found[v] == truth.values[row, v] for v in there)
    return None if same else f"row {row}: {found}"


def _no_difference(found: Any) -> str | None:
    return found if isinstance(found, str) else None


def run_case(case: Case, device: str, place: Path, without: list[str], emit: Emit) -> None:
    """Run all trials of a case; pass counts and faults to ``emit``."""
    soak = Soak(case, device, place, np.random.default_rng([case.seed, case.number, 2]))
    counts: Counter[str] = Counter()
    walk = trials(soak, without)
    while True:
        try:
            door, trial = next(walk)
        except StopIteration:
            break
        except Exception as error:  # an interface failed outside of a call
            text = ending(error, 6)
            emit({"wrong": {"case": case.title, "call": "(between calls)", "found": text}})
            break
        found = wrong_with(trial)
        engine = str(trial.stats.get("engine") or trial.engine or door)
        for key in (f"door\t{door}", f"variant\t{engine}", f"dtype\t{case.kind}"):
            counts[f"{key}\tsolves"] += 1
            counts[f"{key}\trows"] += trial.rows
        if found is not None:
            emit(
                {"wrong": {"case": case.title, "door": door, "variant": engine,
                           "call": trial.words[:4000], "found": found[:4000]}}
            )  # fmt: skip
    emit({"counts": counts})


def reproducer(case: Case, about: dict[str, Any], place: Path) -> Path:
    """Write a file with the edges of a case as they were drawn, and the fault."""
    place.mkdir(parents=True, exist_ok=True)
    file = place / f"soak-{case.seed}-{case.number}-{len(list(place.iterdir()))}.npz"
    tails, heads, weights = case.drawn
    arrays = {"tails": tails, "heads": heads} | ({} if weights is None else {"weights": weights})
    np.savez_compressed(
        file,
        **arrays,
        n_vertices=case.edges.n,
        directed=case.directed,
        about=json.dumps({"seed": case.seed, "number": case.number, **about}),
    )
    return file


def work(given: argparse.Namespace, first: int, step: int, end: float, emit: Emit) -> None:
    """Run case after case until the time is over."""
    warnings.simplefilter("ignore")
    number = first
    with folder() as place:
        while time.monotonic() < end:
            emit({"begin": number})
            case = soak_graphs.make(given.seed, number)
            run_case(case, given.device, place, given.without, emit)
            number += step


# ---- many processes -----------------------------------------------------------------------------


@dataclass
class Totals:
    """Counts of all processes."""

    counts: Counter[str] = field(default_factory=Counter)
    cases: int = 0
    wrong: list[dict[str, Any]] = field(default_factory=list)

    def grouped(self, kind: str) -> dict[str, dict[str, int]]:
        """Return solves and rows by interface, variant or dtype."""
        found: dict[str, dict[str, int]] = {}
        for key, count in sorted(self.counts.items()):
            group, name, what = key.split("\t")
            if group == kind:
                found.setdefault(name, {})[what] = count
        return found

    def sum_of(self, what: str) -> int:
        """Return the number of all solves, or of all rows."""
        return sum(door[what] for door in self.grouped("door").values())


class Worker(threading.Thread):
    """Process that runs every ``step``-th case, and is restarted if it dies."""

    def __init__(self, first: int, given: argparse.Namespace, end: float, totals: Totals) -> None:
        super().__init__(daemon=True)
        self.number, self.given, self.end, self.totals = first, given, end, totals
        self.lock, self.process = threading.Lock(), None  # type: Any, Any
        self.heard = time.monotonic()

    def run(self) -> None:
        """Run the process until the time is over; restart it after a case in which it died."""
        while (left := self.end - time.monotonic()) > 0:
            step = self.given.processes
            share = [f"{self.number}", f"{step}", f"{left}"]
            command = [sys.executable, __file__, "--seed", str(self.given.seed), "--device",
                       self.given.device, "--without", *self.given.without,
                       "--worker", *share]  # fmt: skip
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            self.heard = time.monotonic()
            errors: list[str] = []
            reader = threading.Thread(target=self._keep_errors, args=(errors,), daemon=True)
            reader.start()
            for line in self.process.stdout:
                if line.endswith("\n"):  # an incomplete line: the process died
                    self._take(json.loads(line))
            code = self.process.wait()
            reader.join()
            if code in (0, 130, -signal.SIGINT) or not self.end:
                return
            # The oracle takes seconds per case, so a longer silence is a hang of the package.
            about = {"call": "(process)", "found": f"exit code {code}: {''.join(errors)[-2000:]}"}
            self._wrong({"case": f"{self.given.seed}:{self.number}", **about})
            self.number += step

    def _keep_errors(self, errors: list[str]) -> None:
        errors.extend(self.process.stderr)

    def _take(self, message: dict[str, Any]) -> None:
        self.heard = time.monotonic()
        if "begin" in message:
            self.number = message["begin"]
        elif "wrong" in message:
            self._wrong(message["wrong"])
        else:
            with self.lock:
                self.totals.counts.update(message["counts"])
                self.totals.cases += 1

    def _wrong(self, about: dict[str, Any]) -> None:
        print(f"WRONG {about['case']}: {about['call'][:200]}\n  {about['found'][:600]}", flush=True)
        self.totals.wrong.append(about)
        if len(self.totals.wrong) <= 100:
            case = soak_graphs.make(self.given.seed, self.number)
            print(f"  {reproducer(case, about, self.given.failures)}", flush=True)

    def watch(self) -> None:
        """Kill the process if it hangs; run() counts that and restarts it."""
        running = self.process is not None and self.process.poll() is None
        if running and time.monotonic() - self.heard > QUIET:
            self.process.kill()


def run(given: argparse.Namespace) -> dict[str, Any]:
    """Run all processes until the time is over or Ctrl-C; return the part of the output."""
    totals = Totals()
    began = time.monotonic()
    started = environment()
    end, before = began + given.seconds, given.before
    first = before.get("next", 0)
    workers = [Worker(first + share, given, end, totals) for share in range(given.processes)]
    wanted = None if given.goal is None else given.goal - before.get("solves", 0)
    wanted = None if wanted is None else wanted - before.get("rows", 0)
    lock = threading.Lock()
    for worker in workers:
        worker.lock = lock
        worker.start()
    shown, interrupted = began, False
    try:
        print(f"seed {given.seed}, {given.processes} processes on {given.device}", flush=True)
        while any(worker.is_alive() for worker in workers):
            time.sleep(0.1)
            for worker in workers:
                worker.watch()
            if wanted is not None and totals.sum_of("solves") + totals.sum_of("rows") >= wanted:
                _stop(workers)
                break
            if time.monotonic() - shown > 60:
                shown = time.monotonic()
                print(progress(totals, shown - began), flush=True)
    except KeyboardInterrupt:  # the processes received it as well
        interrupted = True
        _stop(workers)
    took = time.monotonic() - began
    with lock:
        found = part(given, totals, took, started, interrupted)
    # Every case is started at most once: the next run starts after the last one of this run.
    return {**found, "next": max((w.number for w in workers), default=first) + given.processes}


def _stop(workers: list[Worker]) -> None:
    """End the processes of a run and keep their counts."""
    for worker in workers:
        worker.end = 0.0
        if worker.process is not None and worker.process.poll() is None:
            worker.process.send_signal(signal.SIGINT)
    for worker in workers:
        worker.join(10)


_RUN = ("environment", "seed", "processes", "seconds", "interrupted", "graphs", "solves", "rows")


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the sum of two parts: counts are added, ``runs`` lists both."""
    if not first:
        return {**second, "runs": second.get("runs") or [{key: second[key] for key in _RUN}]}
    one, other = (part if "runs" in part else merged({}, part) for part in (first, second))
    groups: dict[str, dict[str, dict[str, int]]] = {}
    for group in ("by_door", "by_variant", "by_dtype"):
        groups[group] = {}
        for name in sorted(one[group].keys() | other[group].keys()):
            pair = one[group].get(name, {}), other[group].get(name, {})
            groups[group][name] = {w: sum(c.get(w, 0) for c in pair) for w in ("rows", "solves")}
    added = ("graphs", "solves", "rows", "wrong")
    missing = {
        f"{what}_without_a_run": [
            name for name in other[f"{what}_without_a_run"] if name in one[f"{what}_without_a_run"]
        ]
        for what in ("doors", "variants")
    }
    return {
        **other,
        **{name: one[name] + other[name] for name in added},
        "seconds": round(one["seconds"] + other["seconds"], 1),
        "interrupted": one["interrupted"] or other["interrupted"],
        "wrong_answers": (one["wrong_answers"] + other["wrong_answers"])[:100],
        **missing,
        **groups,
        "runs": one["runs"] + other["runs"],
    }


def progress(totals: Totals, seconds: float) -> str:
    """Return a line about the progress so far."""
    return (
        f"{seconds:7.0f} s  {totals.cases:,} graphs  {totals.sum_of('solves'):,} solves  "
        f"{totals.sum_of('rows'):,} rows  {len(totals.wrong)} wrong"
    )


def part(
    given: argparse.Namespace,
    totals: Totals,
    seconds: float,
    started: dict[str, Any],
    interrupted: bool,
) -> dict[str, Any]:
    """Return the stored result of a run."""
    by_variant, by_door = totals.grouped("variant"), totals.grouped("door")
    here = [v.id for v in variants(device=given.device)]
    return {
        "environment": started,
        "seed": given.seed,
        "processes": given.processes,
        "seconds": round(seconds, 1),
        "interrupted": interrupted,
        "graphs": totals.cases,
        "solves": totals.sum_of("solves"),
        "rows": totals.sum_of("rows"),
        "wrong": len(totals.wrong),
        "wrong_answers": totals.wrong[:100],
        "doors_without_a_run": [name for name in DOORS if name not in by_door],
        "variants_without_a_run": [name for name in here if name not in by_variant],
        "by_door": by_door,
        "by_variant": by_variant,
        "by_dtype": totals.grouped("dtype"),
    }


def again(seed: int, number: int, device: str, without: list[str]) -> int:
    """Run one case in this process and show its faults; return their number."""
    warnings.simplefilter("ignore")
    case = soak_graphs.make(seed, number)
    print(case.title)
    findings: list[dict[str, Any]] = []

    def emit(message: dict[str, Any]) -> None:
        if "wrong" in message:
            findings.append(message["wrong"])
            print(json.dumps(message["wrong"], indent=1).replace("\\n", "\n"))

    with folder() as place:
        run_case(case, device, place, without, emit)
    return len(findings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--failures", type=Path, default=Path("soak-failures"))
    add_output(parser)
    more = "continue after the cases of the output's part and add to it"
    parser.add_argument("--add", action="store_true", help=more)
    parser.add_argument("--goal", type=int, metavar="COUNT",
                        help="end when the part has this many solves and rows")  # fmt: skip
    parser.add_argument("--without", nargs="*", choices=list(DOORS), default=[], metavar="DOOR",
                        help="interfaces to leave out")  # fmt: skip
    more = "add up the parts of these files into the output; nothing runs"
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help=more)
    parser.add_argument("--case", metavar="SEED:NUMBER", help="run one case again")
    parser.add_argument("--worker", nargs=3, metavar=("FIRST", "STEP", "SECONDS"),
                        help="run as a worker process")  # fmt: skip
    return parser


def main() -> int:
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):  # also in the background of a shell
        signal.signal(number, signal.default_int_handler)
    parser = _parser()
    given = parser.parse_args()
    if given.worker:
        first, step, seconds = given.worker

        def emit(message: dict[str, Any]) -> None:
            print(json.dumps(message), flush=True)

        try:
            end = time.monotonic() + float(seconds)
            work(given, int(first), int(step), end, emit)
        except KeyboardInterrupt:
            return 130
        return 0
    if given.case:
        seed, _, number = given.case.partition(":")
        if not (seed.isdecimal() and number.isdecimal()):
            parser.error(f"--case {quoted(given.case)}: give SEED:NUMBER")
        return 1 if again(int(seed), int(number), given.device, given.without) else 0
    document: dict[str, Any] = {}
    if given.output is not None and given.output.is_file():
        document = json.loads(given.output.read_text())
    if given.merge:
        if given.output is None:
            parser.error("--merge needs -o FILE")
        for file in given.merge:
            for device, other in json.loads(file.read_text()).items():
                document[device] = merged(document.get(device, {}), other)
        write_result(given.output, document)
        return 1 if any(part["wrong"] for part in document.values()) else 0
    given.before = document.get(given.device, {}) if given.add else {}
    if given.before and given.before.get("seed") != given.seed:
        parser.error(f"{given.output} has seed {given.before.get('seed')}: give --seed, or --merge")
    found = run(given)
    if given.add:
        found = merged(given.before, found)
    if given.output is not None:
        write_result(given.output, {**document, given.device: found})
    missed = found["variants_without_a_run"] + found["doors_without_a_run"]
    print(
        f"{found['graphs']:,} graphs, {found['solves']:,} solves, {found['rows']:,} rows, "
        f"{found['wrong']} wrong, {found['seconds']} s; without a run: "
        f"{', '.join(missed) or 'no variant and no door'}"
    )
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
