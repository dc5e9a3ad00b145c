"""Tables of breadth-first search and of the choice of a method, for scripts/make_speed.py."""

from __future__ import annotations

from typing import Any

from speed_tables import device, milliseconds, number, results, table

_BFS = "breadth_first_cuda.json"


def _timed(row: dict[str, Any] | None) -> list[str]:
    """Milliseconds and times faster of one engine, or dashes."""
    if row is None:
        return ["-", "-"]
    return [number(row["median_ms"]), number(row["times_faster"])]


def breadth_first() -> str:
    """Breadth-first search beside near-far with weights of 1, and the steps of each search."""
    document = results(_BFS)
    if document is None:
        return f"Not measured yet: `benchmarks/breadth_first_cuda.py -o benchmarks/results/{_BFS}`."
    lines, steps = [], []
    for result in document["results"]:
        rows = {row["engine"]: row for row in result["rows"]}
        own = rows["breadth-first"]
        lines.append(
            [
                f"{result['graph']}, {result['levels']:,} levels",
                number(rows["weights of 1"]["median_ms"]),
                *_timed(own),
                *_timed(rows.get("breadth-first, transpose True")),
            ]
        )
        kinds = ", ".join(f"{kind['steps']:,} {name}" for name, kind in own["kinds"].items())
        steps.append(f"{result['graph']}: {kinds}")
    head = ["graph", "near-far, weights of 1", "breadth-first", "times faster"]
    head += ["with the transpose at hand", "times faster"]
    wrong = [r["graph"] for r in document["results"] if not all(x["right"] for x in r["rows"])]
    verdict = f"Wrong answers on {', '.join(wrong)}." if wrong else "No answer was wrong."
    return (
        f"Milliseconds, median of {len(own['samples_ms'])}, every answer compared with that of the "
        f"CPU. {verdict} {device(document)};\n`benchmarks/results/{_BFS}`.\n\n"
        f"{table(head, lines)}\n\nSteps by default: {'; '.join(steps)}."
    )


def two_billion_edges() -> str:
    """A graph whose edges need 64-bit positions: memory, times, proofs."""
    document = results("two_billion_edges.json")
    if document is None:
        return "Not measured yet: `benchmarks/two_billion_edges.py -o benchmarks/results/...`."
    lines = [
        [
            f"`{row['method']}`",
            f"{row['stated_graph_bytes'] / 2**30:.2f}",
            f"{row['held_bytes'] / 2**30:.2f}",
            number(row["median_ms"]),
            "yes" if row["proven"] else "no",
        ]
        for row in document["rows"]
    ]
    refusal = document["refusal"]
    refused = (
        f"A pool of {refusal['free'] / 2**30:.2f} GiB was refused with `OutOfMemoryError`, "
        f"{refusal['allocated']:,} bytes allocated."
    )
    head = ["method", "stated beforehand, GiB", "held, GiB", "ms", "proven on the device"]
    return (
        f"{document['n']:,} vertices, {document['m']:,} edges:\n\n{table(head, lines)}\n\n"
        f"{refused} Validation reads the arrays on the host and took "
        f"{number(document['validation_s'])} s.\n{device(document)}; median of "
        f"{len(document['rows'][0]['samples_ms'])}; `benchmarks/results/two_billion_edges.json`."
    )


def _choice(kept: str, script: str) -> str:
    """``auto`` beside the best of all variants, from one kept result."""
    document = results(kept)
    if document is None:
        return f"Not measured yet: `benchmarks/{script} -o benchmarks/results`."
    lines = [
        [
            _case(found),
            found["chosen"],
            milliseconds(found["auto_seconds"]),
            found["best"],
            milliseconds(found["best_seconds"]),
            f"{found['auto_over_best']:.3f}",
        ]
        for found in document["graphs"]
    ]
    mean, worst = document["geometric_mean"], document["worst"]
    verdict = "Both aims are kept" if mean <= 1.05 and worst <= 1.3 else "The aim is missed"
    measured = document["environment"]
    place = (
        device({"device": measured["gpu"], "environment": measured})
        if measured["gpu"]
        else f"{measured['cpu']}, {measured['cores']} cores, {measured['date'][:10]}, "
        f"commit {measured['commit'][:12]}"
    )
    rounds = len(next(iter(document["graphs"][0]["samples"].values())))
    return (
        f"{table(['graph', 'auto takes', 'ms', 'fastest', 'ms', 'auto / fastest'], lines)}\n\n"
        f"Medians of {rounds} samples, {len(lines)} cases; {place}; "
        f"`benchmarks/results/{kept}`.\nGeometric mean {mean:.3f} (aim: at most 1.05), worst "
        f"{worst:.3f} on {document['worst_graph']} (aim: 1.3). {verdict}."
    )


def _case(found: dict[str, Any]) -> str:
    """A graph with its size, or with the number of threads."""
    if "n" in found:
        return f"{found['graph']}: {found['n']:,} vertices, {found['m']:,} edges"
    return f"{found['graph']}, {found['threads']} thr"


def choice_on_gpu() -> str:
    """``auto`` beside the best of all CUDA variants."""
    return _choice("choose_quality_cuda.json", "choose_quality_cuda.py")


def choice_on_cpu() -> str:
    """``auto`` beside the best of all CPU variants, with one thread and with two."""
    return _choice("choose_quality.json", "choose_quality.py")
