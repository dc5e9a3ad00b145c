"""Cost surfaces beside other libraries."""

from __future__ import annotations

from typing import Any

from docs.generators.table import measured_on, not_measured, number, table
from nearfar.lab.checkout import results

__all__ = ["surfaces", "volumes"]


def surfaces() -> str:
    """Nanoseconds per cell of surfaces of two dimensions."""
    return _beside("surfaces", ("scikit-image", "xarray-spatial", "explicit graph, threads: 1"))


def volumes() -> str:
    """Nanoseconds per voxel."""
    return _beside("volumes", ("dijkstra3d",))


def _beside(part: str, peers: tuple[str, ...]) -> str:
    document = results("raster.json")
    if document is None or part not in document["parts"]:
        return not_measured("raster.json")
    measured = document["parts"][part]
    columns: dict[str, str] = {
        "nearfar, threads: 1": "one core",
        "nearfar, threads: 2": "two cores",
    }
    columns |= {name: name.replace(", threads: 1", ", one core") for name in peers}
    lines = []
    for row in measured["rows"]:
        lines.append([f"{row['what']}; {row['cells']:,}", *_cells(row, columns)])
    return (
        f"{table(['costs; cells', *columns.values()], lines)}\n\nNanoseconds per cell, least "
        "of the rounds in one process, in which contenders took turns.\n"
        f"{measured_on([measured])};\n"
        "`benchmarks/results/raster.json`."
    )


def _cells(row: dict[str, Any], columns: dict[str, str]) -> list[str]:
    took = row["least_seconds"]
    return [number(1e9 * took[name] / row["cells"]) if name in took else "-" for name in columns]
