"""Statements of Ortega-Arranz et al. (2015), section 5, compared with measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from nearfar.lab.experiments.claims import Claim, OneOf, Stated, ahead, claim, spread
from nearfar.lab.experiments.experiment import Done
from nearfar.lab.experiments.render import cell
from nearfar.papers.ortega_arranz_2015.tables import (
    by_size,
    counter_of,
    milliseconds_of,
    name_of,
    of_kind,
    ratio_of,
    saved_by_tuning,
)

_HEAP, _CPU, _OPT = "relaxed heap", "CPU Crauser succ.", "GPU Crauser opt."
_MARTIN, _GPU = "GPU Martin succ.", "GPU Crauser succ."
#: Degree from which the GPU is faster than Boost's heap, speed-up at it, and at 2,000 (Titan).
CROSSINGS = {24: (200, 2.13, 6.9), 49: (20, 1.28, 10.0), 98: (10, 1.24, 19.0)}


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def saved(one: Done, slow: str, fast: str) -> float | None:
    """Return the time saved by the second method, in percent of the first one's."""
    ratio = ratio_of(one, slow, fast)
    return None if ratio is None else 100.0 * (1.0 - 1.0 / ratio)


def memory_ratio(one: Done, label: str) -> float | None:
    """Return the memory of the relaxed heap over that of a method, graph rows included."""
    held = one.result.get("memory") or {}
    if held.get(_HEAP) is None or held.get(label) is None:
        return None
    rows = one.result["graph_bytes"]
    return float((rows + held[_HEAP]) / (rows + held[label]))


def claims_of(done: Sequence[Done]) -> list[Claim]:
    """Return all claims, including those on methods that were not measured."""
    martin, random = of_kind(done, "martin"), of_kind(done, "random")
    real = of_kind(done, "real")
    return [*_on_martin(martin), *_on_random(random), *_on_real(real), *_heap(random, real, done)]


def _saves(
    key: str, where: str, said: str, stated: OneOf, some: Sequence[Done], slow: str, fast: str
) -> Claim:
    gains = _known(saved(one, slow, fast) for one in some)
    # "Up to" for two devices in the paper; a single number is compared with the median.
    sizes = gains if len(stated.reached) > 1 or not gains else [float(np.median(gains))]
    return claim(key, where, said, f"{spread(gains)}%", [gain > 0 for gain in gains], stated, sizes)


def _on_martin(martin: Sequence[Done]) -> list[Claim]:
    def idle(label: str) -> list[float]:
        return [100 * s for s in _known(counter_of(one, label, "idle_share") for one in martin)]

    def most_idle(key: str, said: str, label: str, stated: float) -> Claim:
        shares = idle(label)
        cases = [share > 50 for share in shares]
        return claim(key, "5.1 d", said, f"{spread(shares)}%", cases, stated, shares)

    tuned = _known(saved_by_tuning(one) for one in martin)
    over = _known(ratio_of(one, _CPU, _OPT) for one in martin)
    pairs = [(f"{device} Martin {form}", f"{device} Crauser {form}") for device, form in _FORMS]
    said = (
        "CPU Crauser saves 4.44% of CPU Martin's time by successors",
        "CPU Crauser saves 18.34% of CPU Martin's time by predecessors",
        "GPU Crauser saves up to 45.80% (Fermi) and 1.07% (Kepler) of GPU Martin's time by "
        "successors",
        "GPU Crauser saves up to 20.29% (Fermi) and 8.14% (Kepler) of GPU Martin's time by "
        "predecessors",
    )
    keys = ("a, succ.", "a, pred.", "b, succ.", "b, pred.")
    percent = (OneOf((4.44,)), OneOf((18.34,)), OneOf((45.8, 1.07)), OneOf((20.29, 8.14)))
    found = [
        _saves(key, f"5.1 {key[0]}", text, stated, martin, *pair)
        for key, text, stated, pair in zip(keys, said, percent, pairs, strict=True)
    ]
    return [
        *found,
        claim(
            "c, tuned",
            "5.1 c",
            "tuned launch shapes save up to 9.75% (Fermi) and 5.11% (Kepler) on Martin's graphs",
            f"{spread(tuned)}%",
            [gain >= 0 for gain in tuned],
            OneOf((9.75, 5.11)),
            tuned,
        ),
        ahead(
            "c, CPU",
            "5.1 c",
            "tuned GPU Crauser is up to 26.68 times (Fermi), 21.4 times (Kepler) as fast as CPU "
            "Crauser",
            over,
            OneOf((26.68, 21.4)),
        ),
        most_idle("d, succ.", "96% of the threads are idle by successors", _GPU, 96),
        most_idle(
            "d, pred.", "90% of the threads are idle by predecessors", "GPU Crauser pred.", 90
        ),
    ]


_FORMS = (("CPU", "succ."), ("CPU", "pred."), ("GPU", "succ."), ("GPU", "pred."))


def _on_random(random: Sequence[Done]) -> list[Claim]:
    def ratios(slow: str, fast: str, some: Sequence[Done] = random) -> list[float]:
        return _known(ratio_of(one, slow, fast) for one in some)

    thin = [one for one in random if one.what["degree"] == 2]
    host = ratios(_CPU, _MARTIN, thin)
    bends = []
    for some in by_size(random).values():
        times = _known(milliseconds_of(one, _GPU) for one in some)
        wide = [one for one in some if one.what["degree"] >= 1000]
        if len(times) == len(some) > 2 and wide:
            bends.append((some, times))
    shown = "; ".join(
        f"{some[0].what['vertices']:,} vertices: {', '.join(map(cell, times))} ms at degree "
        f"{', '.join(str(one.what['degree']) for one in some)}"
        for some, times in bends[:1]
    )
    tuned = _known(saved_by_tuning(one) for one in random)
    return [
        ahead("table 2, CPU", "Table 2", "GPU Crauser is 3.00 to 18.42 times as fast as CPU "
               "Crauser on random graphs", ratios(_CPU, _GPU), Stated(3.00, 18.42)),
        ahead("table 2, Martin", "Table 2", "GPU Crauser is 1.13 to 32.20 times as fast as GPU "
               "Martin on random graphs", ratios(_MARTIN, _GPU), Stated(1.13, 32.20)),
        claim(
            "thin",
            "5.2 A",
            "at the lowest degree GPU Martin is slower than CPU Crauser",
            f"GPU Martin {spread(host)} times CPU Crauser's speed at degree 2",
            [ratio < 1 for ratio in host],
        ),
        claim(
            "bend",
            "5.2 A",
            "times fall with the degree, and rise again at 1,000 and 2,000",
            f"GPU Crauser on {shown}",
            [times[0] > min(times) < times[-1] for _, times in bends],
        ),
        claim(
            "table 4",
            "Table 4, Figure 5",
            "tuned launch shapes save 0.2% to 22.9% on random graphs",
            f"{spread(tuned)}%",
            [gain >= 0 for gain in tuned],
            Stated(0.2, 22.9),
            tuned,
        ),
    ]  # fmt: skip


def _on_real(real: Sequence[Done]) -> list[Claim]:
    def best(slow: str) -> dict[str, float]:
        found: dict[str, float] = {}
        for one in real:
            if ratio := ratio_of(one, slow, _GPU):
                family = one.what["family"]
                found[family] = max(found.get(family, 0.0), ratio)
        return found

    def table_three(key: str, said: str, slow: str, stated: Stated) -> Claim:
        ratios = best(slow)
        shown = ", ".join(f"{family} {cell(ratio)}" for family, ratio in ratios.items())
        sizes = list(ratios.values())
        return claim(key, "Table 3", said, shown, [size > 1 for size in sizes], stated, sizes)

    tuned = {
        one.what["family"]: max(
            gain
            for o in real
            if o.what["family"] == one.what["family"] and (gain := saved_by_tuning(o)) is not None
        )
        for one in real
        if saved_by_tuning(one) is not None
    }
    return [
        table_three(
            "table 3, CPU",
            "the best of each family of real graphs is 19.23 to 45.38 times as fast as CPU Crauser",
            _CPU,
            Stated(19.23, 45.38),
        ),
        table_three(
            "table 3, Martin",
            "the best of each family of real graphs is 5.21 to 130.25 times as fast as GPU Martin",
            _MARTIN,
            Stated(5.21, 130.25),
        ),
        claim(
            "figure 6",
            "5.2 B, Figure 6",
            "tuning saves up to 9% on walshaw, almost 6% on social and kronecker graphs",
            ", ".join(f"{family} {cell(gain)}%" for family, gain in tuned.items()),
            [gain >= 0 for gain in tuned.values()],
            OneOf((9.0, 6.0)),
            list(tuned.values()),
        ),
    ]


def _heap(random: Sequence[Done], real: Sequence[Done], done: Sequence[Done]) -> list[Claim]:
    sizes = by_size(random)
    first = next(iter(sizes.values()), [])
    small = _known(ratio_of(one, _OPT, _HEAP) for one in first[:1] if one.what["degree"] == 2)
    found = [
        ahead(
            "heap, thin",
            "5.2 D, Figure 9",
            "Boost's relaxed heap is 6.8 times as fast as the GPU on the smallest, thinnest graph",
            small,
            6.8,
            f"{{}} times on {name_of(first[0]) if first else '-'}",
        )
    ]
    for n, some in sizes.items():
        degree, there, at_most = CROSSINGS.get(n // 1000, (None, 1.0, 1.0))
        over = {one.what["degree"]: ratio_of(one, _HEAP, _OPT) for one in some}
        known = {d: ratio for d, ratio in over.items() if ratio}
        if degree is None or not known:
            continue
        passes = [d for d, ratio in known.items() if ratio > 1]
        here = f"from degree {min(passes)} on" if passes else "nowhere"
        at = [(d, ratio) for d, ratio in known.items() if d >= degree][:1]
        shown = f"{here}, {', '.join(f'{cell(r)} times at degree {d}' for d, r in at)}"
        said = (
            f"on {n // 1000}k vertices the GPU passes the heap at degree {degree} ({there} times)"
        )
        where = "5.2 D, Figure 9"
        passed = [ratio for _, ratio in at]
        cases = [ratio > 1 for ratio in passed]
        found.append(claim(f"heap, {n // 1000}k", where, said, shown, cases, there, passed))
        end = [ratio for d, ratio in known.items() if d == 2000]
        said = f"on {n // 1000}k vertices the GPU is {at_most} times as fast at degree 2,000"
        found.append(ahead(f"heap, {n // 1000}k, deg2000", where, said, end, at_most))
    return [*found, *_heap_real(real), _memory(done)]


def _heap_real(real: Sequence[Done]) -> list[Claim]:
    def of(test: Callable[[str], bool], slow: str, fast: str) -> list[float]:
        return _known(ratio_of(one, slow, fast) for one in real if test(one.what["family"]))

    meshes = of(lambda family: family == "walshaw", _OPT, _HEAP)
    wide = of(lambda family: family in ("social", "kronecker"), _HEAP, _OPT)
    where = "5.2 D, Figure 10"
    said = (
        "the heap is up to 13.09 times as fast as the GPU on walshaw graphs",
        "the GPU is up to 4.76 times as fast as the heap on social and kronecker graphs",
    )
    return [
        ahead("heap, walshaw", where, said[0], meshes, 13.09),
        ahead("heap, social", where, said[1], wide, 4.76),
    ]


def _memory(done: Sequence[Done]) -> Claim:
    ratios = _known(memory_ratio(one, _GPU) for one in done)
    on = "GPU Crauser's"
    if not ratios:
        ratios, on = _known(memory_ratio(one, _CPU) for one in done), "CPU Crauser's"
    said = "Boost's heap needs up to 11.25 times the memory of GPU Crauser"
    here = f"the relaxed heap takes {{}} times {on}, rows of the graph included"
    return ahead("memory", "5.2 D, Figure 11", said, ratios, 11.25, here)
