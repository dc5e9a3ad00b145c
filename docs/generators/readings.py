"""Functions for ``tables.toml``, for values that paths cannot name."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import Any

from nearfar.lab.bench.report import link_share, milliseconds, number
from nearfar.lab.checkout import results


def best_peer(run: Any) -> str:
    """Return milliseconds of the fastest peer except SciPy, with its name."""
    best = _best_peer(run)
    return f"{milliseconds(best['median_seconds'])} {best['contender']}"


def best_peer_ms(run: Any) -> float:
    """Return milliseconds of the fastest peer except SciPy."""
    return 1e3 * float(_best_peer(run)["median_seconds"])


def _best_peer(run: Any) -> Any:
    others = [one for one in run["results"] if one["name"] not in ("nearfar", "scipy")]
    measured = [one for one in others if "median_seconds" in one]
    return min(measured, key=lambda one: one["median_seconds"])


def front_page(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of the README: each CPU graph, and the largest graph of a family on a GPU."""
    for run in document["runs"]:
        mine = next(one for one in run["beside_peers"] if one["contender"] == "nearfar (2 thr)")
        names = {one["contender"]: one for one in run["results"]}
        yield {
            "graph": run["graph"],
            "edges": run["n_edges"],
            "on": "CPU, 2 threads",
            "peer": mine["best_peer"],
            "peer_ms": 1e3 * names[mine["best_peer"]]["median_seconds"],
            "ms": 1e3 * names["nearfar (2 thr)"]["median_seconds"],
        }
    largest: dict[str, Any] = {}
    for one in (results("flagship.json") or {"results": []})["results"]:
        family = one["graph"].split("-")[0]
        largest[family] = max(one, largest.get(family, one), key=lambda row: row["m"])
    for one in largest.values():
        ms = one["best_peer_ms"]
        peer = next(x["peer"] for x in one["peers"] if x["right"] and x["ms"] == ms)
        mine = next(row for row in one["rows"] if not row["options"])
        yield {
            "graph": one["graph"],
            "edges": one["m"],
            "on": "GPU",
            "peer": peer,
            "peer_ms": ms,
            "ms": mine["median_ms"],
        }


def gpu_of_front_page(_: Any) -> str:
    """Return the machine on which the GPU rows were measured."""
    document = results("flagship.json")
    if document is None:
        return "not measured"
    place = document["results"][0]["environment"]
    return f"{place['gpu']['name']}, {place['date'][:10]}"


def versions_of_peers(document: Any) -> str:
    """Return the measured peers with their versions."""
    every = [one for run in document["runs"] for one in run["results"] if "samples" in one]
    versions = {one["name"]: f"{one['name']} {one['version']}" for one in every}
    return ", ".join(x for x in versions.values() if "unknown" not in x and "nearfar" not in x)


def best_program(row: Any) -> str:
    """Return milliseconds of the fastest other program on the GPU, with its name."""
    best = row["best_peer_ms"]
    name = next(one["peer"] for one in row["peers"] if one["right"] and one["ms"] == best)
    return f"{number(best)} {name}"


def program(row: Any, name: str) -> str:
    """Return milliseconds of another program on the GPU, or the reason why there are none."""
    peer = next((one for one in row.get("peers", []) if one["peer"] == name), None)
    if peer is None:
        return "-"
    if peer["ms"] is None:
        return "does not end" if "longer than" in peer["skipped"] else "-"
    return number(peer["ms"]) if peer["right"] else "wrong"


def forms_tried(row: Any) -> int:
    """Return the number of doubleGraph's forms that were tried on a graph."""
    return len(next(one["forms"] for one in row["peers"] if one["peer"] == "doublegraph"))


def settles_at(row: Any) -> int:
    """Return the solve from which the form of a graph's solves stays the same."""
    forms = row["forms"]
    return max((at for at, form in enumerate(forms) if form != forms[-1]), default=-1) + 2


def steps(row: Any) -> str:
    """Return the steps of breadth-first search by kind."""
    kinds = next(one["kinds"] for one in row["rows"] if one["engine"] == "breadth-first")
    return ", ".join(f"{one['steps']} {kind}" for kind, one in kinds.items())


def paper_ratios(document: Any) -> str:
    """Return the ratios of times in the paper on Crauser's criterion on GPUs, by degree."""
    ratios = {row["degree"]: row["paper_time_ratio"] for row in document["results"]}
    said = (f"{min(r):.3g} to {max(r):.3g} for degree {degree}" for degree, r in ratios.items())
    return ", ".join(said)


def one_launch(row: Any) -> float | None:
    """Return milliseconds of the one-launch engine on the same graph."""
    rows = [
        one for one in (results("flagship.json") or {"results": []})["results"] if "rows" in one
    ]
    found = (one["rows"] for one in rows if one["graph"] == row["graph"])
    return next((one["median_ms"] for one in next(found, []) if not one["options"]), None)


def in_its_unit(row: Any) -> str:
    """Return a time in milliseconds, microseconds or nanoseconds."""
    took = statistics.median(row["value"])
    unit, scale = ("ms", 1e3) if took >= 1e-4 else ("us", 1e6) if took >= 1e-7 else ("ns", 1e9)
    return f"{number(took * scale)} {unit}"


def amount(row: Any) -> str:
    """Return a value with its unit."""
    value = row["value"]
    return f"{value:,} {row['unit']}" if isinstance(value, int) else f"{value:,.3g} {row['unit']}"


def one_thread(row: Any) -> float:
    """Return milliseconds of a contender with one thread."""
    return float(row[row["who"].replace("2 threads", "1 threads")]["median"])


def best_of_cores(row: Any, threads: str) -> float:
    """Return the fastest peer's time over nearfar's, with a number of threads."""
    rows = [one for one in row["rows"] if one["threads"] == int(threads) and "wrong" not in one]
    found = {one["engine"]: one["median_ms"] for one in rows}
    own = found["auto"]
    return float(min(found[name] for name in ("gap", "wasp", "pasgal") if name in found) / own)


def memory_speeds(document: Any) -> str:
    """Return the speeds of memory for one thread and for the most threads."""
    return ", ".join(
        f"{one['what']} {number(one['speeds'][0])} and {number(one['speeds'][-1])} {one['unit']}"
        for one in document["limits"]
        if one["what"] != "arithmetic"
    )


def mean_and_worst(document: Any) -> str:
    """Return the mean and the worst ratio of ``auto`` to the best."""
    ratios = [(one["auto_over_best"], name) for one, name in _choices(document)]
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in ratios))
    return f"Geometric mean {mean:.3f}, worst {max(ratios)[0]:.3f} on {max(ratios)[1]}"


def _choices(document: Any) -> Iterator[tuple[Any, str]]:
    for row in document.get("graphs") or document["results"]:
        for one in row["dtypes"].values() if "dtypes" in row else [row]:
            yield one, row["graph"]


def iteration_costs(document: Any) -> Iterator[dict[str, Any]]:
    """Yield graphs with the time of an iteration, from two methods.

    Both read the same edges with the same kernels and differ in the number of iterations, so a line
    through both separates the time per iteration from the rest.
    """
    for result in document["results"]:
        both = [result["rows"].get(f"{x}_successors@cuda", {}) for x in ("frontier", "crauser")]
        if all("counters" in row for row in both):
            (t1, i1), (t2, i2) = ((r["median_s"], r["counters"]["iterations"]) for r in both)
            each = (t1 - t2) / (i1 - i2)
            rest = max(0.0, 1 - each * i2 / t2)
            yield {**result, "saved": i1 - i2, "each": each, "rest": rest}


def few_and_many(document: Any) -> Iterator[dict[str, Any]]:
    """Yield measures of few sources on a core and the GPU, with those of many on the GPU."""
    found = {row["what"]: row for row in document["rows"]}
    for name, many in found.items():
        if name.endswith(" sources"):
            few = found[name.rpartition(", ")[0]]
            yield {**few, "environment": document["environment"], "many": many}


def on_the_link(row: Any) -> float | None:
    """Return the share of the kernels' time in which devices read from each other."""
    return link_share(row)


def repeated(document: Any) -> str:
    """Return the repeated work, and its number of repetitions."""
    rows = [row for row in document["results"] if row.get("repeats")]
    return "; ".join(f"{row['what']}, {row['repeats']} times" for row in rows) or "nothing"


def zoo_halves(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the lead over the best other program on each half of the speed zoo."""
    groups: dict[tuple[int, str], dict[str, float]] = {}
    rows = [
        {**graph, **row} for graph in document["results"] for row in graph["rows"] if "ratio" in row
    ]
    for row in rows:
        leads = {"": row["ratio"]}
        if "first_ms" in row:
            leads[", first solves"] = row["best_peer_ms"] / row["first_ms"]
        for which, lead in leads.items():
            key = row.get("threads", 0), row["half"] + which
            groups.setdefault(key, {})[row["graph"]] = lead
    for (threads, half), found in sorted(groups.items()):
        worst = sorted(found, key=lambda graph: found[graph])
        values = sorted(found.values())
        yield {
            "environment": rows[0]["environment"],
            "threads": threads,
            "half": half,
            "graphs": len(values),
            "worst": values[0],
            "lower": values[len(values) // 4],
            "median": statistics.median(values),
            "upper": values[3 * len(values) // 4],
            "best": values[-1],
            "names": ", ".join(f"{graph} {found[graph]:.2f}" for graph in worst[:5]),
        }
