"""Compare two builds of nearfar on one GPU, by results of ``flagship.py`` and ``prepared_cuda.py``.

    python benchmarks/between_commits_cuda.py --before COMMIT FILE... --after COMMIT FILE... -o FILE

Each FILE was written by one of the two scripts in a checkout of that commit. Run the builds in
alternation on one machine. A row is a graph and a measurement on it, with the samples of all files.
Its ratio is that of the least medians of a file: below 1 the later commit is faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from nearfar.lab.bench.report import table
from result_file import add_output, write_result

Samples = dict[tuple[str, str], list[list[float]]]


def samples_of(files: list[str]) -> tuple[Samples, dict[str, Any]]:
    """Return milliseconds by graph and measurement, per file, and the last environment."""
    found: Samples = defaultdict(list)
    around: dict[str, Any] = {}
    for file in files:
        document = json.loads(Path(file).read_text(encoding="utf-8"))
        around = document["environment"]
        for row in document["results"]:
            for options in row.get("rows", []):
                if not options["options"]:
                    found[row["graph"], "one source"].append(options["samples_ms"])
            for what, seconds in row.get("samples", {}).items():
                found[row["graph"], what].append([1e3 * one for one in seconds])
    return found, around


def main() -> None:
    """Compare, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("--before", "--after"):
        parser.add_argument(name, nargs="+", metavar=("COMMIT", "FILE"), required=True)
    add_output(parser)
    given = parser.parse_args()
    before, _ = samples_of(given.before[1:])
    after, around = samples_of(given.after[1:])
    rows, cells = [], []
    for graph, what in before.keys() & after.keys():
        pair = before[graph, what], after[graph, what]
        least = [min(map(statistics.median, one)) for one in pair]
        flat = [[value for part in one for value in part] for one in pair]
        rows.append(
            {
                **{"graph": graph, "what": what, "ratio": least[1] / least[0]},
                **{"before_samples": flat[0], "after_samples": flat[1]},
            }
        )
    rows.sort(key=lambda row: (row["what"], row["graph"]))
    for row in rows:
        least = [
            f"{statistics.median(row[f'{label}_samples']):.4g}" for label in ("before", "after")
        ]
        cells.append([f"{row['graph']}, {row['what']}", *least, f"{row['ratio']:.3f}"])
    print("\n".join(table(["measured", "before, ms", "after, ms", "after / before"], cells)))
    result = {"before": given.before[0], "after": given.after[0], "rows": rows}
    write_result(given.output, {"environment": around, **result})


if __name__ == "__main__":
    main()
