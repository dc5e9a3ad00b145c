"""Tables 1 to 4 of Ortega-Arranz et al. (2015), with the paper's boards and this device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nearfar.lab.experiments.experiment import Column, Done, Table
from nearfar.papers.ortega_arranz_2015.tables import (
    HOW,
    SHAPE,
    counter_of,
    name_of,
    of_kind,
    ratio_of,
    saved_by_tuning,
)

BOARDS = ("Fermi", "Kepler", "Titan")
_DEGREES = ("deg2", "deg20", "deg200", ">=deg1000")
#: Table 1, threads per block and L1 state (augmented or normal): by size and kernel, a pair (Fermi,
#: Kepler) for each class of degrees.
TABLE_1 = {
    ("24k", "relax"): "192-A 128-A, 192-A 128-A, 192-A 192-A, 192-A 192-A",
    ("24k", "minimum"): "192-A 96-A, 128/192-A 96-A, 192-A 128-A, 192-A 128-A",
    ("24k", "update"): "192-A 128-A, 192-A 128-A, 192-A 128-A, 192-A 128-A",
    ("49k", "relax"): "192-A 256-A, 256-A 256-A, 256-N 256-A, 256-N 256-A",
    ("49k", "minimum"): "192-A 96-A, 128-A 96/128-A, 192-A 256-A, 192-N 256-A",
    ("49k", "update"): "192-A 128-A, 192-A 128-A, 192-A 256-A, 256-N 256-A",
    ("98k", "relax"): "192-A 128-A, 256-N 256-A, 384-A 256-A, 384-A 256-A",
    ("98k", "minimum"): "128-A 128-A, 192-N 96-A, 192-A 128-N, 192-A 128-N",
    ("98k", "update"): "192-A 128-N, 192-N 256-N, 192-N 128-N, 192-N 128-N",
}
#: Table 2: GPU Crauser over CPU Crauser and over GPU Martin, on each board.
TABLE_2 = {
    "24k deg2": ((5.90, 5.54, 3.56), (24.61, 24.66, 21.62)),
    "24k deg20": ((6.07, 5.98, 4.33), (11.04, 11.23, 12.11)),
    "24k deg200": ((3.84, 3.94, 3.49), (2.50, 2.39, 2.40)),
    "24k deg1000": ((3.00, 3.08, 3.76), (1.43, 1.40, 1.48)),
    "24k deg2000": ((3.30, 3.51, 4.66), (1.22, 1.21, 1.25)),
    "49k deg2": ((10.78, 10.47, 7.39), (29.97, 29.20, 29.62)),
    "49k deg20": ((10.55, 10.63, 7.76), (9.66, 9.62, 9.40)),
    "49k deg200": ((5.93, 6.32, 6.26), (2.18, 2.10, 2.30)),
    "49k deg1000": ((3.62, 3.80, 4.55), (1.35, 1.32, 1.40)),
    "49k deg2000": ((4.85, 4.98, 6.39), (1.20, 1.18, 1.19)),
    "98k deg2": ((18.42, 18.01, 14.22), (31.85, 31.70, 32.20)),
    "98k deg20": ((17.33, 17.63, 14.97), (7.75, 7.73, 8.55)),
    "98k deg200": ((8.23, 9.07, 10.18), (1.87, 1.86, 2.07)),
    "98k deg1000": ((5.91, 6.13, 8.16), (1.27, 1.24, 1.31)),
    "98k deg2000": ((6.23, 6.32, 9.09), (1.13, 1.13, 1.16)),
}
#: Table 3: the same ratios, best of each family of real graphs.
TABLE_3 = {
    "walshaw": ((19.23, 19.22, 16.57), (27.99, 28.00, 29.20)),
    "clustering": ((25.43, 26.68, 25.41), (23.97, 26.63, 30.61)),
    "kronecker": ((27.09, 30.76, 43.05), (3.78, 4.05, 5.21)),
    "social": ((33.30, 37.09, 45.38), (129.71, 130.25, 125.99)),
}
_GAIN_CLASSES = ("<=20", "50-200", ">200")
#: Table 4: percent of the time that tuning saves, by board; three classes of degrees per size.
TABLE_4 = {
    "Fermi": (1.8, 2.6, 3.3, 4.4, 7.0, 0.2, 4.2, 8.9, 14.4),
    "Kepler": (0.9, 4.7, 13.7, 2.5, 7.3, 17.1, 6.5, 10.4, 22.3),
    "Titan": (2.3, 6.3, 10.4, 6.6, 7.2, 16.7, 10.2, 7.4, 22.9),
}
_L1 = {-1: "driver", 0: "A", 50: "half", 100: "N"}


def degree_class(degree: int) -> int:
    """Return the column of Table 4: 0 for degrees up to 20, 1 up to 200, 2 beyond."""
    return 0 if degree <= 20 else 1 if degree <= 200 else 2


def paper_tables(done: Sequence[Done]) -> list[Table]:
    """Return tables 1 to 4, without tables that have no measurements."""
    random, real = of_kind(done, "random"), of_kind(done, "real")
    tuned = [one for one in random if one.result.get("shape")]
    found = [_shapes(tuned), _random_speedups(random), _family_speedups(real), _gains(tuned)]
    return [table for table in found if table.rows]


def _size(one: Done) -> str:
    return f"{one.what['vertices'] // 1000}k"


def _sizes(some: Iterable[Done]) -> list[str]:
    """Return the sizes that were measured, ascending."""
    return [f"{n // 1000}k" for n in sorted({one.what["vertices"] for one in some})]


def _shapes(tuned: Sequence[Done]) -> Table:
    """Return table 1 with the measured shapes; a class of degrees may have several values."""
    rows: list[list[Any]] = []
    for size in _sizes(tuned):
        for kernel in ("relax", "minimum", "update"):
            printed = TABLE_1.get((size, kernel), ", , , ").split(", ")
            row: list[Any] = [size, kernel]
            for name, pair in zip(_DEGREES, printed, strict=True):
                boards: list[Any] = [*pair.split()] or [None, None]
                mine = [_shape(one, kernel) for one in tuned if _in(one, size, name)]
                row += [*boards, " / ".join(dict.fromkeys(mine)) or None]
            rows.append(row)
    columns = [Column("graph"), Column("kernel")]
    columns += [Column(f"{d} {b}") for d in _DEGREES for b in (*BOARDS[:2], "here")]
    note = (
        "Threads per block and L1 cache. The paper derives them from kernel characteristics (A: "
        "augmented L1, N: normal); here they are the fastest on this device, one split of "
        "L1 and shared memory for all three kernels (A: all L1, N: all shared memory, half, or the "
        "driver's choice). Two values belong to degrees 1,000 and 2,000."
    )
    return Table("table-1", "Table 1: launch shapes", note, columns, rows)


def _in(one: Done, size: str, name: str) -> bool:
    degree = one.what["degree"]
    here = ">=deg1000" if degree >= 1000 else f"deg{degree}"
    return _size(one) == size and here == name


def _shape(one: Done, kernel: str) -> str:
    shape = one.result["shape"]
    carveout = shape["carveout"]
    return f"{shape[f'threads_{kernel}']}-{_L1.get(carveout, f'{carveout}%')}"


def _columns(first: str) -> list[Column]:
    found = [Column(first)]
    for over in ("over CPU Crauser", "over GPU Martin"):
        found += [Column(f"{over}: {board}", "times") for board in (*BOARDS, "here")]
    return found


def _random_speedups(random: Sequence[Done]) -> Table:
    rows: list[list[Any]] = []
    for one in sorted(random, key=lambda o: (o.what["vertices"], o.what["degree"])):
        mine = [ratio_of(one, x, "GPU Crauser succ.") for x in ("CPU Crauser succ.", _MARTIN)]
        if mine == [None, None]:
            continue
        printed = TABLE_2.get(name_of(one), ((None,) * 3, (None,) * 3))
        row = [name_of(one), *printed[0], mine[0], *printed[1], mine[1]]
        counts = [counter_of(one, x, "iterations") for x in (_MARTIN, "GPU Crauser succ.")]
        rows.append([*row, *counts])
    columns = [*_columns("graph"), Column("iterations, Martin"), Column("iterations, Crauser")]
    return Table("table-2", "Table 2: GPU Crauser on random graphs", HOW, columns, rows)


_MARTIN = "GPU Martin succ."


def _family_speedups(real: Sequence[Done]) -> Table:
    """Return the best of each column for each family, with the graph's name."""
    rows: list[list[Any]] = []
    for family, (cpu, martin) in TABLE_3.items():
        some = [one for one in real if one.what["family"] == family]
        row: list[Any] = [family]
        names = []
        for printed, slow in ((cpu, "CPU Crauser succ."), (martin, _MARTIN)):
            found = [
                (ratio, name_of(one))
                for one in some
                if (ratio := ratio_of(one, slow, "GPU Crauser succ."))
            ]
            best, name = max(found, default=(None, None))
            row += [*printed, best]
            names.append(name)
        if any(names):
            rows.append([*row, *names])
    columns = [*_columns("family"), Column("on (CPU Crauser)"), Column("on (GPU Martin)")]
    note = f"The best of each family for each column. {HOW}"
    return Table("table-3", "Table 3: GPU Crauser on real graphs", note, columns, rows)


def _gains(tuned: Sequence[Done]) -> Table:
    sizes = _sizes(tuned)
    printed_sizes = ("24k", "49k", "98k")
    mine: list[float | None] = []
    for size in sizes:
        for number in range(3):
            gains = [
                gain
                for one in tuned
                if _size(one) == size
                and degree_class(one.what["degree"]) == number
                and (gain := saved_by_tuning(one)) is not None
            ]
            mine.append(max(gains, default=None))
    rows: list[list[Any]] = []
    for board, values in TABLE_4.items():
        line: list[Any] = [board]
        for size in sizes:
            at = printed_sizes.index(size) * 3 if size in printed_sizes else None
            line += [None] * 3 if at is None else values[at : at + 3]
        rows.append(line)
    rows.append(["here", *mine])
    columns = [Column("board")]
    columns += [Column(f"{size} {name}", "%") for size in sizes for name in _GAIN_CLASSES]
    note = (
        "Percent of the time that the tuned shape saves against 256 threads everywhere; here the "
        "greatest gain of a class of degrees, of medians over all samples, 0 where the default "
        f"itself was the best. Options tuned: {', '.join(SHAPE)}."
    )
    shown = rows if sizes and any(mine) else []
    return Table("table-4", "Table 4: time saved by tuning", note, columns, shown)
