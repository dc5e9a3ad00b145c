"""Many sources on several threads: how they scale, and what the machine allows."""

from __future__ import annotations

from typing import Any

from docs.generators.table import measured_on, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["batches"]


def batches() -> str:
    """Each case with one thread and with most, and what processor time and arithmetic say of it."""
    document = results("batches.json")
    if document is None:
        return not_measured("batches.json")
    lines = []
    for case in document["cases"]:
        one, all_of_them = case["rows"][0], case["rows"][-1]
        each = [row["seconds_per_source"] for row in (one, all_of_them)]
        used = [row["processor_seconds_per_source"] for row in (one, all_of_them)]
        hashes = [row["hashes_per_second"] for row in (one, all_of_them)]
        lines.append(
            [
                case["case"],
                *(number(1e6 * seconds) for seconds in each),
                f"{each[0] / each[1]:.1f}x",
                f"{used[1] / used[0]:.2f}x",
                f"{all_of_them['idle']:.0%}",
                f"{hashes[1] / hashes[0]:.1f}x",
            ]
        )
    threads = document["cases"][0]["rows"][-1]["threads"]
    head = ["case", "us per source, 1 thread", f"{threads} threads", "faster", "processor time"]
    head += ["idle", "arithmetic faster"]
    return (
        f"{table(head, lines)}\n\nMedians. Processor time is that of all threads per source, over "
        "that of one thread; arithmetic, in registers\nand by as many threads, was measured before "
        f"each sample.\n{_limits(document['limits'])}\n"
        f"{measured_on([document])};\n`benchmarks/results/batches.json`."
    )


def _limits(limits: list[dict[str, Any]]) -> str:
    """What memory gave to one thread and to most."""
    said = [
        f"{one['what']} {number(one['speeds'][0])} and {number(one['speeds'][-1])} "
        f"{one['unit'].replace(' per second', '/s').replace(' read and written', '')}"
        for one in limits
        if one["what"] != "arithmetic"
    ]
    most = limits[0]["threads"][-1]
    return f"Memory gave one thread and {most}: {', '.join(said)}."
