"""How fast large graphs of every family are generated, and the memory that it takes."""

from __future__ import annotations

from docs.generators.table import measured_on, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["generate_speed"]


def generate_speed() -> str:
    """Time and memory of making a large graph of every family."""
    document = results("generate_speed.json")
    if document is None:
        return not_measured("generate_speed.json")
    rows = [
        [
            f"`{one['generator']}`",
            f"{one['edges'] / 1e6:,.0f}",
            number(one["seconds"]),
            number(one["million_edges_per_second"]),
            f"{one['graph_gib']:.2f}",
            f"{one['peak_gib']:.2f}",
        ]
        for one in document["results"]
    ]
    head = ["family", "million edges", "s", "million edges/s", "graph, GiB", "peak, GiB"]
    return (
        f"{table(head, rows)}\n\n{document['threads']} threads, one run per family in a process "
        f"of its own; {measured_on(document['results'])};\n"
        "`benchmarks/results/generate_speed.json`."
    )
