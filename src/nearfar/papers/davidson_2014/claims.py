"""Statements of Davidson et al. (2014), sections IV to VII, compared with measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from nearfar.lab.experiments.claims import Claim, Stated, ahead, claim, spread
from nearfar.lab.experiments.experiment import Done
from nearfar.lab.experiments.render import cell
from nearfar.papers.davidson_2014.graphs import GRAPHS
from nearfar.papers.davidson_2014.tables import (
    DRAWN,
    HEAP,
    RELAXED,
    TABLE_III,
    TRAVERSALS,
    counts_of,
    discarded,
    in_paper_order,
    mteps_of,
    speed_over,
    summary,
)

#: Classes of section V, and the kinds of Table II that they hold.
CLASSES = {
    "road networks": ("road",),
    "meshes": ("mesh", "circuit"),
    "scale-free graphs": ("social", "power law"),
}
#: Stated speed-ups of both work-saving methods: over Bellman-Ford and over Dijkstra.
STATED = {
    "road networks": ((1.3, 14), (0.24, 0.6)),
    "meshes": ((3.9, 19.85), (2, 29.4)),
    "scale-free graphs": ((34.7, 343), (22, 64)),
}
_BF, _SWEEP, _NEAR_FAR, _BUCKETS = "Bellman-Ford", "Workfront Sweep", "Near-Far", "Bucketing"
_SAVING = (_SWEEP, _NEAR_FAR)
_MORE = 1.02  # ratio of means below which they count as equal
_LARGE = "rmat-17m"


def of_class(done: Sequence[Done], name: str) -> list[Done]:
    """Return the graphs of a class of section V, in the paper's order."""
    return [one for one in in_paper_order(done) if GRAPHS[one.key].kind in CLASSES[name]]


def ratios(done: Sequence[Done], base: str, labels: Iterable[str]) -> list[float]:
    """Return the speed-up of each method over the base, on each graph that has both."""
    found = [speed_over(one, label, base) for one in done for label in labels]
    return [value for value in found if value is not None]


def _work(done: Sequence[Done]) -> list[float]:
    """Return the work of Workfront Sweep over that of Near-Far, by graph."""
    found = []
    for one in done:
        a, b = counts_of(one, _SWEEP), counts_of(one, _NEAR_FAR)
        if a and b:
            found.append(a[0] / b[0])
    return found


def claims_of(done: Sequence[Done], device: str) -> list[Claim]:
    """Return all claims; on the CPU only those of counters, because its methods are sequential."""
    ordered = in_paper_order(done)
    counted = [*_table_three(ordered), *_four_dimensions(ordered)]
    counted += [_compactions(ordered), *_delta(ordered)]
    if device != "cuda":
        return [_heaps(ordered), *counted]
    return [
        *_factors(ordered),
        _heaps(ordered),
        _throughput(done),
        _bucketing_slower(ordered),
        *counted,
        *_traversals(ordered),
        *_two_graphs(ordered),
    ]


def _factors(done: Sequence[Done]) -> list[Claim]:
    found = []
    for name, (over_bf, over_heap) in STATED.items():
        some = of_class(done, name)
        for base, printed in ((_BF, over_bf), (HEAP, over_heap)):
            slower = base == HEAP and name == "road networks"
            values = ratios(some, base, _SAVING)
            shown = ", ".join(f"{x} {spread(ratios(some, base, [x]))}" for x in _SAVING)
            what = "Bellman-Ford" if base == _BF else "Dijkstra"
            low, high = printed
            said = f"{name}: both methods run at {low:g}-{high:g} times {what}'s speed"
            stated = Stated(1 / high, 1 / low) if slower else Stated(low, high)
            sizes = [1 / value if slower else value for value in values]
            cases = [size > 1 for size in sizes]
            found.append(claim(f"{name}, {what}", "V", said, shown, cases, stated, sizes))
    return found


def _heaps(done: Sequence[Done]) -> Claim:
    values = ratios(done, HEAP, [RELAXED])
    said = "the binary heap is faster than Boost's relaxed heap in all cases"
    here = f"the relaxed heap runs at {spread(values)} of its speed"
    return claim("heaps", "V", said, here, [value < 1 for value in values])


def _throughput(done: Sequence[Done]) -> Claim:
    """Return the claim on throughput, on a graph of the stated size or on Table II's rmat."""
    found = [one for key in (_LARGE, "rmat") for one in done if one.key == key][:1]
    rates = [rate for one in found if (rate := mteps_of(one, _NEAR_FAR))]
    here = "; ".join(
        f"{cell(rate)} MTEPS on {one.result['n']:,} vertices and {one.result['m']:,} edges"
        for one, rate in zip(found, rates, strict=False)
    )
    said = "Near-Far solves an rmat of 17M vertices and 90M edges at 350 MTEPS"
    return claim("350 MTEPS", "V", said, here, [rate > 0 for rate in rates], 350, rates)


def _bucketing_slower(done: Sequence[Done]) -> Claim:
    pairs = [[speed_over(one, _BUCKETS, x) for x in _SAVING] for one in done]
    known = [[v for v in pair if v is not None] for pair in pairs]
    times = [1 / max(pair) for pair in known if pair]
    slow = [max(pair) < 1 for pair in known if len(pair) == len(_SAVING)]
    said = "Bucketing is slower than both other methods"
    here = f"{spread(times)} times the time of the nearer one"
    return claim("bucketing", "V", said, here, slow)


def _table_three(done: Sequence[Done]) -> list[Claim]:
    rows = {label: summary(done, label) for label in TABLE_III}
    known = {label: row for label, row in rows.items() if row}
    found = []
    said = (
        ("work saved", "Bucketing saves more work than Near-Far, which saves more than Workfront "
         "Sweep: 353, 260, 9.6 times against Bellman-Ford"),
        ("parallelism", "Workfront Sweep has more vertices per iteration than Near-Far, which has "
         "more than Bucketing: 87,998, 17,138, 8,135"),
        ("iterations", "Bucketing needs more iterations than Near-Far, which needs more than "
         "Workfront Sweep: 2.27, 1.66, 1.05 times Bellman-Ford's"),
    )  # fmt: skip
    for at, (key, text) in enumerate(said):
        order = (_SWEEP, _NEAR_FAR, _BUCKETS) if at == 1 else (_BUCKETS, _NEAR_FAR, _SWEEP)
        here = ", ".join(f"{x} {cell(known[x][at])}" for x in order if x in known)
        pairs = [(a, b) for a, b in pairwise(order) if {a, b} <= set(known)]
        cases = [known[a][at] > _MORE * known[b][at] for a, b in pairs]
        found.append(claim(key, "Table III", text, here, cases))
    return found


def _four_dimensions(done: Sequence[Done]) -> list[Claim]:
    """Return the claims of section VI on Figure 6."""
    roads = of_class(done, "road networks")
    free = of_class(done, "scale-free graphs")
    deep = [c[0] for one in done if one not in free and (c := counts_of(one, _BF))]
    shallow = [c[0] for one in free if (c := counts_of(one, _BF))]
    over = _work(done)
    thin = {one.key: c[1] for one in done if (c := counts_of(one, _NEAR_FAR))}
    narrow = [thin[one.key] for one in roads if one.key in thin]
    wide = [value for key, value in thin.items() if key not in {one.key for one in roads}]
    return [
        ahead(
            "bellman-ford, deep",
            "VI, Figure 6",
            "Bellman-Ford does 100 to 1000 times Dijkstra's work on high-diameter graphs",
            deep,
            Stated(100, 1000),
            "{} times on roads, meshes and circuit",
        ),
        ahead(
            "bellman-ford, shallow",
            "VI, Figure 6",
            "Bellman-Ford does over ten times Dijkstra's work on scale-free graphs",
            shallow,
            Stated(10, max([10.0, *shallow])),
        ),
        ahead(
            "near-far, sweep",
            "VI, Figure 6",
            "Near-Far reduces the work 2 to 10 times over Workfront Sweep",
            over,
            Stated(2, 10),
        ),
        claim(
            "roads, parallelism",
            "VI",
            "on roads Near-Far has 100 to 200 vertices per iteration, too few to fill a GPU",
            f"{spread(narrow)} on roads, {spread(wide)} on the other graphs",
            [value < min(wide) for value in narrow] if wide else [],
        ),
    ]


def _delta(done: Sequence[Done]) -> list[Claim]:
    """Return the claim on both ends of the sweep of Figure 7."""
    ends = []
    for one in done:
        rows = sorted(one.result.get("sweep", {}).get("rows", []), key=lambda row: row["delta"])
        if len(rows) > 1:
            ends.append((rows[0], rows[-1]))
    less = [last["average_parallelism"] / first["average_parallelism"] for first, last in ends]
    more = [last["work"] / first["work"] for first, last in ends]
    return [
        claim(
            "delta",
            "VI, Figure 7",
            "a small delta lacks parallelism, a large one adds work",
            f"from the smallest delta to the largest {spread(less)} times the vertices per "
            f"iteration and {spread(more)} times the work",
            [a > 1 and b > 1 for a, b in zip(less, more, strict=True)],
        )
    ]


def _compactions(done: Sequence[Done]) -> Claim:
    shares = [share for one in done if one.key in DRAWN and (share := discarded(one)) is not None]
    said = "every compaction of the far pile discards a large percentage of its vertices"
    cases = [share > 25 for share in shares]
    return claim("compactions", "Figure 4", said, f"{spread(shares)}%", cases)


def _traversals(done: Sequence[Done]) -> list[Claim]:
    """Return the claims of section IV.B on Figure 3."""
    balanced = "load_balanced"

    def times(one: Done, policy: str) -> dict[str, float]:
        base = f"{policy} thread"
        found = {t: speed_over(one, f"{policy} {t}", base) for t in TRAVERSALS}
        return {t: 1 / value for t, value in found.items() if value}

    def over(some: Sequence[Done], test: Callable[[dict[str, float]], float]) -> list[float]:
        every = [times(one, policy) for one in some for policy in ("sweep", "near-far")]
        return [test(found) for found in every if len(found) == len(TRAVERSALS)]

    apart = over(of_class(done, "road networks"), lambda t: max(t.values()) / min(t.values()))
    scan = over(of_class(done, "meshes"), lambda t: t["cta_warp_scan"] / t[balanced])
    dense = over(of_class(done, "scale-free graphs"), lambda t: min(
        value for name, value in t.items() if name != balanced) / t[balanced])  # fmt: skip
    return [
        claim(
            "traversals, roads",
            "IV.B, Figure 3",
            "for very low-degree graphs all traversals have similar performance",
            f"the slowest takes {spread(apart)} times the fastest's time on roads",
            [value < 1.25 for value in apart],
        ),
        ahead(
            "traversals, meshes",
            "IV.B, Figure 3",
            "CTA+Warp+Scan performs poorly on medium-degree graphs",
            scan,
            here="{} times load-balanced partitioning's time on meshes and circuit",
        ),
        ahead(
            "traversals, dense",
            "IV.B, Figure 3",
            "partitioning performs very well on high-degree dense graphs",
            dense,
            here="the next best takes {} times its time on scale-free graphs",
        ),
    ]


def _two_graphs(done: Sequence[Done]) -> list[Claim]:
    """Return the claims in the captions of Figure 4, on a mesh and a scale-free graph."""
    found = []
    for name, edges, fewer, faster in (
        ("msdoor", "about 45 million edges instead of 300 million", 300 / 45, 1.74),
        ("rmat", "nearly 2 times fewer edges", 2.0, 1.3),
    ):
        some = [one for one in done if one.key == name]
        work, speed = _work(some), ratios(some, _SWEEP, [_NEAR_FAR])
        said = f"on {name} Near-Far touches {edges}"
        here = "{} times fewer than Workfront Sweep"
        found.append(ahead(f"{name}, edges", "Figure 4", said, work, fewer, here))
        said = f"on {name} Near-Far is {faster} times faster than Workfront Sweep"
        found.append(ahead(f"{name}, time", "Figure 4", said, speed, faster))
    return found
