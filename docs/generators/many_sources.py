"""Tables of many sources, all pairs and Floyd-Warshall."""

from __future__ import annotations

from typing import Any

from docs.generators.table import device, milliseconds, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["all_pairs_cpu", "all_pairs_gpu", "floyd_gpu", "roads_gpu"]

_GPU, _CPU, _DENSE = "all_pairs_cuda.json", "all_pairs_cpu.json", "floyd_warshall_cuda.json"
_LISTS = ("block_per_source", "block_per_source lists")
_FORMS = ("flag", "queue", "prefix")


def _where(document: dict[str, Any]) -> str:
    """Device, date and commit of a measurement."""
    around = document.get("environment", {})
    here = document.get("device") or around.get("gpu")
    if here:
        return device({**document, "device": here})
    words = [around["cpu"], f"{around['cores']} cores"] if around else ["a shared machine"]
    if around:
        words.append(str(around["date"])[:10])
        if around.get("commit", "unknown") != "unknown":
            words.append(f"commit {around['commit'][:12]}")
    return ", ".join(words)


def _better(entry: dict[str, Any]) -> float:
    """Seconds of the form that is faster on a graph, which the default takes on these."""
    return float(min(entry[key]["all_pairs_seconds"] for key in _LISTS))


def all_pairs_gpu() -> str:
    """Six graphs: the batch, the heap on one core, the paper's forms."""
    document = results(_GPU)
    rows = [] if document is None else [row for row in document["results"] if "vertices" in row]
    if document is None or not rows:
        return not_measured(_GPU, "all_pairs.py cuda")
    lines = []
    for entry in rows:
        line = [f"{entry['graph']}: {entry['vertices']:,} vertices, {entry['edges']:,} edges"]
        line += [milliseconds(entry[key]["all_pairs_seconds"]) for key in _LISTS]
        heap = min(entry["heaps_one_core_all_pairs_seconds"].values())
        line += [number(heap), f"{heap / _better(entry):,.0f}"]
        line += [number(entry[f"johnson_{form}"]["all_pairs_seconds"]) for form in _FORMS]
        lines.append(line)
    head = ["graph, weights 1..100", "`lists=False`, ms", "`lists=True`, ms"]
    head += ["best heap, one core, s", "times faster"]
    head += [f"paper's {form} form, s" for form in _FORMS]
    total = sum(map(_better, rows))
    return "\n".join(
        [
            f"All pairs by `block_per_source` into device memory, medians, on {_where(document)}.",
            "The heap and the Johnson paper's forms solved a sample of the sources (at most "
            f"{max(e.get('heap_sampled_sources', 96) for e in rows)} and "
            f"{max(e['johnson_flag']['sampled_sources'] for e in rows)}), scaled to all. "
            f"Together, each in its faster form: {total:.2f} s.",
            "",
            table(head, lines),
            "",
            f"From `benchmarks/results/{_GPU}`; rows were sampled and compared with a heap's.",
        ]
    )


def roads_gpu() -> str:
    """New York's roads: microseconds per source of each layout and delta."""
    document = results(_GPU)
    rows = [] if document is None else [row for row in document["results"] if "methods" in row]
    if not rows:
        return not_measured(_GPU, "all_pairs.py cuda")
    methods = rows[0]["methods"].items()
    lines = [[name, number(1e3 * min(entry["ms_per_source"]))] for name, entry in methods]
    return "\n".join(
        [
            "New York roads, 2,048 sources (`lanes`: 256) to every vertex, delta in mean weights:",
            "",
            table(["method", "microseconds per source, best"], lines),
        ]
    )


def floyd_gpu() -> str:
    """Floyd-Warshall beside the add-min ceiling, and what predecessors add."""
    document = results(_DENSE)
    if document is None:
        return not_measured(_DENSE, "floyd_warshall.py")
    lines = []
    for name, entry in document["results"].items():
        more = entry.get("predecessor_samples")
        lines.append(
            [
                f"{name}, n = {entry['vertices']:,}",
                milliseconds(min(entry["samples"])),
                f"{entry['share_of_ceiling']:.0%}",
                milliseconds(min(more)) if more else "-",
            ]
        )
    head = ["dense matrix", "ms, best", "of the add-min ceiling", "predecessors, ms more"]
    return "\n".join(
        [table(head, lines), "", f"`benchmarks/results/{_DENSE}`, {_where(document)}."]
    )


def all_pairs_cpu() -> str:
    """Every task and contender on CPU cores: one and two threads, and times SciPy."""
    document = results(_CPU)
    if document is None:
        return not_measured(_CPU, "all_pairs.py cpu")
    lines = []
    for task, contenders in document["results"].items():
        base = contenders.get("scipy")
        for name, entry in contenders.items():
            ours = entry["median"]
            one = contenders.get(name.replace("2 threads", "1 threads"), entry)
            lines.append(
                [
                    f"{task}: {name.replace(' 1 threads', ' one thread')}",
                    milliseconds(ours),
                    f"{base['median'] / ours:.1f}" if base and entry is not base else "-",
                    f"{one['median'] / ours:.2f}" if one is not entry else "-",
                ]
            )
    head = ["task and contender", "ms, median", "times SciPy", "two threads over one"]
    return "\n".join([table(head, lines), "", f"`benchmarks/results/{_CPU}`, {_where(document)}."])
