"""The doors of the soak test: every way to ask for distances, with what the answer must be.

A door is a generator of :class:`Trial`: it draws arguments at random, says what is to be called,
and judges what came back by the oracle's rows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearfar
import nearfar.csgraph
from nearfar import Graph, Prepared
from nearfar.errors import DistanceOverflowError, NegativeCycleError
from nearfar.formats import read, write
from nearfar.registry import Request, Variant, variants
from soak_graphs import Case
from soak_oracle import (
    Edges,
    Rows,
    TooLarge,
    answer,
    differs,
    host,
    length_of,
    lightest,
    rows_of,
    simple_paths,
    wrong_tree,
)

Judge = Callable[[Any], str | None]


@dataclass
class Trial:
    """One call and what it must give.

    ``error`` names the exceptions of which one must come instead of an answer; ``rows`` is how many
    rows of distances are compared; ``stats`` is filled by the call where it can be.
    """

    words: str
    call: Callable[[], Any]
    judge: Judge
    rows: int = 1
    engine: str = ""
    error: tuple[type[Exception], ...] = ()
    stats: dict[str, Any] = field(default_factory=dict)


@dataclass
class Soak:
    """A case with what its doors share: random numbers, the device, a folder for files."""

    case: Case
    device: str
    folder: Path
    rng: np.random.Generator

    @property
    def graph(self) -> Graph:
        """The graph of the case."""
        return self.case.graph

    @property
    def truth(self) -> Rows:
        """The oracle's rows of it."""
        return self.case.truth

    @property
    def n(self) -> int:
        """Vertices."""
        return self.case.edges.n

    def one_of(self, values: Any) -> Any:
        """One of several things."""
        return values[int(self.rng.integers(0, len(values)))]

    def chance(self, share: float) -> bool:
        """True in this share of all calls."""
        return bool(self.rng.random() < share)

    def row(self) -> int:
        """The number of a row of the truth."""
        return int(self.rng.integers(0, len(self.truth.sources)))

    def some_rows(self, most: int = 40) -> NDArray[np.int64]:
        """Numbers of some rows, in any order, some of them twice."""
        k = int(self.rng.integers(1, most + 1))
        return self.rng.integers(0, len(self.truth.sources), k)

    def vertices(self, most: int = 6) -> NDArray[np.int64]:
        """Some vertices."""
        return self.rng.integers(0, self.n, int(self.rng.integers(1, most + 1)))

    def limit(self, rows: Any) -> float | None:
        """A limit that cuts some of these rows, or none."""
        values = self.truth.values[rows][self.truth.reached[rows]]
        if not len(values) or self.truth.cycle[rows].any():
            return None
        value = self.one_of(values)
        value = int(value) if self.truth.edges.kind.kind == "i" else float(value)
        return value if value >= 0 else 0

    def variants(self, problem: str) -> list[Variant]:
        """Those of this device."""
        return variants(device=self.device, problem=problem)

    def threads(self) -> int:
        """Workers."""
        return int(self.one_of([1, 1, 2, 3]))


# ---- what a trial must give ---------------------------------------------------------------------


def cycles(truth: Rows, rows: Any) -> tuple[type[Exception], ...]:
    """The error that must come where a source reaches a negative cycle."""
    return (NegativeCycleError,) if truth.cycle[rows].any() else ()


def wanted(
    make: Callable[[], NDArray[Any]],
) -> tuple[NDArray[Any] | None, tuple[type[Exception], ...]]:
    """An array, or the error that stands for what does not fit 64 bits."""
    try:
        return make(), ()
    except TooLarge:
        return None, (DistanceOverflowError,)


def array_judge(want: NDArray[Any] | None, dtype: bool = True) -> Judge:
    """Compare with an array."""

    def judge(found: Any) -> str | None:
        assert want is not None
        return differs(found, want, dtype)

    return judge


def options_of(soak: Soak, variant: Variant) -> dict[str, Any]:
    """Random options of a variant: half of the time its defaults."""
    if soak.chance(0.5):
        return {}
    # A bucket far narrower than the weights is allowed, and takes as long as it is narrow.
    mean = max(float(soak.graph.mean_weight) if soak.graph.n_edges else 1.0, 1e-30)
    deltas = [None, mean / 16, mean / 2, mean, 3 * mean, 1000 * mean]
    known: dict[str, list[Any]] = {
        "delta": deltas,
        "delta_growth": [None, 1.5, 4.0],
        "target_near": [None, 1, 64],
        "local_limit": [None, 0, 16, 1024],
        "local_rounds": [1, 30, 1000],
        "local_leave": [1, 64, 512],
        "queue_factor": [1.0, 1.5, 3.0],
        "distance_bits": [None, 0, 8, 16],
        "pull_share": [2, 16],
        "width": [None, 8, 16, 32, 64],
        "alpha": [0.5, 14.0, 1000.0],
        "beta": [0.5, 24.0, 1000.0],
        "transpose": [False, True],
        "thin_limit": [None, 0, 16],
        "ahead_rounds": [1, 64],
        "sweep": [None, False, True],
        "slot_bits": [None, 16, 32, 64],
        "block_threads": [128, 256, 512],
        "lists": [None, False, True],
        "arity": [2, 4, 8],
        "queue": [None, "heap", "buckets"],
        "criterion": ["out", "in_out"],
        "threads_relax": [None, 32, 96, 256],
        "threads_minimum": [None, 32, 256],
        "threads_update": [None, 64, 256],
        "buckets": [2, 5, 15],
        "child_edges": [1, 8, 100],
        "inner": ["lanes", "worker_per_source"],
        "traversal": ["thread", "cooperative_blocks", "cta_warp_scan", "load_balanced"],
        "duplicates": ["owners", "claim"],
    }
    names = [f.name for f in dataclasses.fields(variant.options) if f.name in known]
    return {name: soak.one_of(known[name]) for name in names if soak.chance(0.6)}


def words(door: str, **given: Any) -> str:
    """A call in words."""
    shown = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in given.items()}
    return f"{door}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


# ---- one source ---------------------------------------------------------------------------------


def sssp_trial(soak: Soak, graph: Any, truth: Rows, row: int, method: str, **more: Any) -> Trial:
    """One search with arguments drawn at random."""
    stats: dict[str, Any] = {}
    given: dict[str, Any] = {"method": method, "device": soak.device, **more}
    if soak.device == "cpu":
        given["threads"] = soak.threads()
    only = [row]
    limit = soak.limit(only) if soak.chance(0.2) else None
    targets = soak.vertices() if soak.chance(0.25) else None
    negative = truth.edges.negative
    tree = soak.chance(0.4) and not (negative and limit is not None)
    if limit is not None:
        given["limit"] = limit
    if targets is not None:
        given["targets"] = targets
    # With negative weights a search does not stop at its targets.
    stop = None if negative else targets
    want, large = wanted(lambda: truth.expected(only, limit=limit, targets=stop)[0])
    source = int(truth.sources[row])

    def judge(paths: Any) -> str | None:
        assert want is not None
        wrong = differs(paths.distances, want)
        if wrong or not tree:
            return wrong
        if not truth.edges.huge and limit is None and targets is None:
            wrong = wrong_tree(truth, np.array(only), host(paths.predecessors)[None])
        if wrong is None and soak.graph is graph:
            nearfar.verify(graph, paths)
        return wrong

    return Trial(
        words("sssp", source=source, predecessors=tree, **given),
        lambda: nearfar.sssp(graph, source, predecessors=tree, stats=stats, **given),
        judge,
        engine=method,
        error=cycles(truth, only) or large,
        stats=stats,
    )


def sssp(soak: Soak) -> Iterator[Trial]:
    """Every variant for one source that fits, some a few times."""
    graph = soak.graph
    for variant in soak.variants("sssp"):
        if variant.fits(graph, Request()) is not True or soak.chance(0.3):
            continue
        for _ in range(soak.one_of([1, 1, 2])):
            more = options_of(soak, variant)
            yield sssp_trial(soak, graph, soak.truth, soak.row(), variant.id, **more)
    for _ in range(2):
        yield sssp_trial(soak, graph, soak.truth, soak.row(), "auto")


def shortest_path(soak: Soak) -> Iterator[Trial]:
    """One path: its edges exist and their sum is the distance."""
    truth = soak.truth
    least = lightest(truth.edges)
    for _ in range(4):
        row, target = soak.row(), int(soak.rng.integers(0, soak.n))
        source = int(truth.sources[row])
        error = cycles(truth, [row])
        if not error and not truth.reached[row, target]:
            error = (nearfar.UnreachableError,)
        far = truth.values[row, target]
        if not error and truth.edges.huge and far >= 2**63 - 1:
            error = (DistanceOverflowError,)
        stats: dict[str, Any] = {}
        yield Trial(
            words("shortest_path", source=source, target=target),
            _path_call(soak, source, target, stats),
            _path_judge(least, source, target, far),
            error=error,
            stats=stats,
        )


def _path_call(
    soak: Soak, source: int, target: int, stats: dict[str, Any]
) -> Callable[[], Any]:
    return lambda: nearfar.shortest_path(
        soak.graph, source, target, device=soak.device, stats=stats
    )


def _path_judge(least: dict[Any, Any], source: int, target: int, far: Any) -> Judge:
    def judge(found: Any) -> str | None:
        path, length = found
        if path[0] != source or path[-1] != target or length_of(least, path) != far:
            return f"path {path} has length {length_of(least, path)}, not {far}"
        return None if length == far else f"length {length} instead of {far}"

    return judge


def k_shortest(soak: Soak) -> Iterator[Trial]:
    """Few vertices: the lengths of all simple paths. More: the first is shortest, all are paths."""
    truth = soak.truth
    if truth.edges.huge or truth.cycle.any() or soak.n > 200 or soak.device == "cuda":
        return
    row, target = soak.row(), int(soak.rng.integers(0, soak.n))
    source = int(truth.sources[row])
    k = int(soak.one_of([1, 3, 12]))
    weights = lightest(truth.edges)
    few = soak.n <= 7
    every = simple_paths(truth.edges, source, target)[:k] if few else []

    def judge(found: list[tuple[list[int], Any]]) -> str | None:
        lengths = [length for _, length in found]
        if any(len(set(path)) < len(path) for path, _ in found):
            return "a path visits a vertex twice"
        if len({tuple(path) for path, _ in found}) < len(found):
            return "a path comes twice"
        if few and lengths != [number(d) for d in every]:
            return f"lengths {lengths} instead of {every}"
        if few or not found:
            there = truth.reached[row, target]
            return "no path, but there is one" if there and not found else None
        if lengths != sorted(lengths) or lengths[0] != truth.values[row, target]:
            return f"lengths {lengths[:3]}..., the shortest is {truth.values[row, target]}"
        for path, length in found:
            own = length_of(weights, path)
            wide = truth.edges.kind == np.float32 and own is not None
            if own is None or (own != length and not (wide and np.isclose(own, length, 1e-5))):
                return f"path {path} has length {own}, not {length}"
        return None

    def number(value: Any) -> Any:
        return value.item() if hasattr(value, "item") else value

    if truth.edges.kind == np.float32:
        few, every = False, []  # its sums are made in 64 bits, so the order may differ
    yield Trial(
        words("k_shortest_paths", source=source, target=target, k=k),
        lambda: nearfar.k_shortest_paths(soak.graph, source, target, k),
        judge,
        rows=0,
        engine="k_shortest_paths",
    )


def negative_cycle(soak: Soak) -> Iterator[Trial]:
    """A cycle is found exactly where there is one, and its weights sum below zero."""
    truth = soak.truth
    if soak.n > 200 or truth.edges.huge or not truth.edges.negative:
        return
    least = lightest(truth.edges)

    def judge(found: Any) -> str | None:
        if (found is not None) != bool(truth.cycle.any()):
            return f"found {found}"
        if found is None:
            return None
        total = length_of(least, [*found.vertices, found.vertices[0]])
        right = total is not None and total < 0 and total == found.total
        return None if right else f"the cycle {found} sums to {total}"

    yield Trial(
        "find_negative_cycle()",
        lambda: nearfar.find_negative_cycle(soak.graph),
        judge,
        rows=0,
        engine="find_negative_cycle",
    )


def nearest(soak: Soak) -> Iterator[Trial]:
    """The least of the rows of several sources."""
    truth = soak.truth
    rows = np.unique(soak.some_rows(5))
    if truth.edges.huge:
        return
    values = np.where(truth.reached[rows], truth.values[rows], np.iinfo(np.int64).max)
    best = values.min(axis=0)
    reached = truth.reached[rows].any(axis=0)
    want = answer(best, reached, truth.edges.kind)
    sources = truth.sources[rows]
    stats: dict[str, Any] = {}

    def judge(found: Any) -> str | None:
        wrong = differs(found.distances, want)
        if wrong:
            return wrong
        whose = host(found.sources)
        if ((whose >= 0) != reached).any():
            return "a source for what is not reached, or none"
        own = np.searchsorted(sources, whose[reached])
        if (values[own, np.flatnonzero(reached)] != best[reached]).any():
            return "a source is not the nearest"
        return None

    yield Trial(
        words("nearest", sources=sources),
        lambda: nearfar.nearest(soak.graph, sources, device=soak.device, stats=stats),
        judge,
        error=cycles(truth, rows),
        stats=stats,
    )


# ---- many sources -------------------------------------------------------------------------------


def distances_trial(soak: Soak, graph: Any, truth: Rows, method: str, **more: Any) -> Trial:
    """Rows of some sources or of all, with arguments drawn at random."""
    every = soak.case.whole and soak.chance(0.25)
    rows = np.arange(soak.n) if every else soak.some_rows()
    stats: dict[str, Any] = {}
    given: dict[str, Any] = {"method": method, "device": soak.device, **more}
    if soak.device == "cpu":
        given["threads"] = soak.threads()
    if soak.chance(0.3):
        given["block"] = int(soak.one_of([1, 3, 17]))
    limit = soak.limit(rows) if soak.chance(0.25) else None
    if limit is not None:
        given["limit"] = limit
    columns = soak.vertices(12) if soak.chance(0.3) else None
    if columns is not None:
        given["targets"] = columns
    signed = truth.edges.negative and limit is not None
    tree = columns is None and soak.chance(0.3) and not signed
    sink = soak.one_of([None, None, None, "array", "csr"])
    wide = sink == "array" and (soak.chance(0.5) or truth.edges.kind.itemsize == 8)
    want, large = wanted(lambda: truth.expected(rows, limit=limit, columns=columns))
    if sink == "csr" and (tree or want is None):
        sink = None
    if sink == "array":
        if want is None or soak.device == "cuda":
            sink = None
        else:
            kind = np.dtype("f8" if want.dtype.kind == "f" else "i8") if wide else want.dtype
            if wide or want.dtype == truth.edges.kind:
                given["out"] = np.empty(want.shape, dtype=kind)
                far = np.iinfo(want.dtype).max if want.dtype.kind == "i" else np.inf
                top = np.iinfo(kind).max if kind.kind == "i" else np.inf
                want = np.where(want == far, kind.type(top), want.astype(kind))
    if sink == "csr":
        given["out"] = "csr"

    def judge(found: Any) -> str | None:
        assert want is not None
        if tree:
            found, before = found
        if sink == "csr":
            far = np.iinfo(want.dtype).max if want.dtype.kind == "i" else np.inf
            dense = np.full(want.shape, far, dtype=found.dtype)
            entries = found.tocoo()
            dense[entries.row, entries.col] = entries.data
            found = dense
        wrong = differs(found, want)
        if wrong or not tree or truth.edges.huge or limit is not None:
            return wrong
        return wrong_tree(truth, rows, before)

    sources = None if every else truth.sources[rows]
    shown = {k: v if k != "out" or isinstance(v, str) else v.dtype for k, v in given.items()}
    door = nearfar.all_pairs if every else nearfar.distances
    arguments = (graph,) if every else (graph, sources)
    return Trial(
        words(door.__name__, sources=sources, predecessors=tree, **shown),
        lambda: door(*arguments, predecessors=tree, stats=stats, **given),
        judge,
        rows=len(rows),
        engine=method,
        error=cycles(truth, rows) or large,
        stats=stats,
    )


def distances(soak: Soak) -> Iterator[Trial]:
    """Every variant for batches, and a few for one source, run source by source."""
    graph = soak.graph
    for problem in ("batch", "all_pairs"):
        for variant in soak.variants(problem):
            if variant.fits(graph, Request(problem)) is not True:  # type: ignore[arg-type]
                continue
            if problem == "all_pairs" and "batch" in variant.problems:
                continue
            if problem == "all_pairs":
                if soak.case.whole and soak.n <= 400:
                    yield from all_pairs_of(soak, variant)
                continue
            yield distances_trial(
                soak, graph, soak.truth, variant.id, **options_of(soak, variant)
            )
    singles = [v for v in soak.variants("sssp") if v.fits(graph, Request()) is True]
    if singles:
        variant = soak.one_of(singles)
        yield distances_trial(soak, graph, soak.truth, variant.id, **options_of(soak, variant))
    yield distances_trial(soak, graph, soak.truth, "auto")


def all_pairs_of(soak: Soak, variant: Variant) -> Iterator[Trial]:
    """All pairs by a variant that has nothing else."""
    truth = soak.truth
    rows = np.arange(soak.n)
    want, large = wanted(lambda: truth.expected(rows))
    tree = soak.chance(0.3)
    stats: dict[str, Any] = {}

    def judge(found: Any) -> str | None:
        assert want is not None
        matrix = found[0] if tree else found
        wrong = differs(matrix, want)
        if wrong is None and tree and not truth.edges.huge:
            wrong = wrong_tree(truth, rows, found[1])
        return wrong

    yield Trial(
        words("all_pairs", method=variant.id, predecessors=tree),
        lambda: nearfar.all_pairs(
            soak.graph, method=variant.id, device=soak.device, predecessors=tree, stats=stats
        ),
        judge,
        rows=len(rows),
        engine=variant.id,
        error=cycles(truth, rows) or large,
        stats=stats,
    )


def reduce(soak: Soak) -> Iterator[Trial]:
    """One number per row, or the nearest few, computed here from the oracle's rows."""
    truth = soak.truth
    if truth.edges.huge or truth.cycle.any():
        return
    rows = soak.some_rows()
    sources = truth.sources[rows]
    limit = soak.limit(rows) if soak.chance(0.3) else None
    columns = np.unique(soak.vertices(20)) if soak.chance(0.4) else None
    reached = truth.reached[rows] & (True if limit is None else truth.values[rows] <= limit)
    values = truth.values[rows]
    if columns is None:
        reached[np.arange(len(rows)), sources] = False
    else:
        values, reached = values[:, columns], reached[:, columns]
    call = {"limit": limit, "targets": columns, "device": soak.device}

    def trial(kind: Any, judge: Judge) -> Trial:
        stats: dict[str, Any] = {}
        return Trial(
            words("distances", sources=sources, reduce=kind, **call),
            lambda: nearfar.distances(soak.graph, sources, reduce=kind, stats=stats, **call),
            judge,
            rows=len(rows),
            stats=stats,
        )

    yield trial("count", array_judge(np.count_nonzero(reached, axis=1), dtype=False))
    # Compared as numbers: a row may lack 64 bits or not need them.
    far = np.where(reached, values, -np.inf if values.dtype.kind == "f" else -(2**62))
    most = far.max(axis=1, initial=far.dtype.type(-(2**62)))
    most = np.where(reached.any(axis=1), most, -1)
    yield trial("max", array_judge(most, dtype=False))
    exact = truth.edges.kind.kind == "i"
    total = np.where(reached, values, 0).sum(axis=1, dtype=np.int64 if exact else np.float64)

    def close(found: Any) -> str | None:
        right = np.allclose(host(found), total.astype(np.float64), rtol=1e-12, atol=0)
        return None if right else f"sums {found} instead of {total}"

    yield trial("sum", close)
    k = int(soak.one_of([1, 3, 10]))
    ids = np.arange(soak.n) if columns is None else columns

    def nearest_few(found: Any) -> str | None:
        vertices, near = (host(part) for part in found)
        for i, (row, there) in enumerate(zip(values, reached, strict=True)):
            order = np.lexsort((ids[there], row[there]))[:k]
            want = ids[there][order]
            got = vertices[i][vertices[i] >= 0]
            if not np.array_equal(got, want) or not np.array_equal(
                near[i][: len(want)], row[there][order]
            ):
                return f"row {i}: the nearest are {got}, not {want}"
        return None

    yield trial(f"nearest:{k}", nearest_few)
    edges = sorted({0.0, 1.0, float(soak.limit(rows) or 3), 1e6})
    counts = np.array(
        [
            [np.count_nonzero(t & (v >= a) & (v < b)) for a, b in zip(edges, edges[1:])]
            for v, t in zip(values, reached, strict=True)
        ]
    )
    yield trial(("histogram", edges), array_judge(counts, dtype=False))


def pairs(soak: Soak) -> Iterator[Trial]:
    """One distance per pair."""
    truth = soak.truth
    rows, k = soak.some_rows(), 0
    ends = soak.rng.integers(0, soak.n, len(rows))
    k = len(rows)
    values, reached = truth.values[rows, ends], truth.reached[rows, ends]
    want, large = wanted(lambda: answer(values, reached, truth.edges.kind))
    asked = np.stack((truth.sources[rows], ends), axis=1)
    stats: dict[str, Any] = {}
    yield Trial(
        words("distances", pairs=asked),
        lambda: nearfar.distances(soak.graph, pairs=asked, device=soak.device, stats=stats),
        array_judge(want),
        rows=k,
        error=cycles(truth, rows) or large,
        stats=stats,
    )


# ---- other libraries ----------------------------------------------------------------------------


def csgraph(soak: Soak) -> Iterator[Trial]:
    """SciPy's functions: float64 rows, one matrix in several formats."""
    truth = soak.truth
    if truth.edges.huge or truth.edges.kind == np.float32 or soak.n > 400:
        return
    rows = soak.some_rows(20)
    every = np.arange(len(truth.sources))
    matrix = soak.graph.to_scipy()
    if soak.chance(0.3):
        matrix = getattr(matrix, f"to{soak.one_of(['csc', 'coo'])}")()
    kinds: list[tuple[str, NDArray[np.int64], dict[str, Any]]] = [
        ("dijkstra", rows, {"indices": truth.sources[rows]}),
        ("bellman_ford", rows[:4], {"indices": truth.sources[rows[:4]]}),
        ("shortest_path", rows, {"indices": truth.sources[rows]}),
    ]
    if soak.case.whole:
        kinds += [("johnson", every, {}), ("floyd_warshall", every, {})]
    for name, mine, given in kinds:
        if truth.edges.negative and name == "dijkstra":
            continue  # SciPy's warning
        tree = soak.chance(0.3)
        want = np.where(truth.reached[mine], truth.values[mine], np.inf).astype(np.float64)
        yield Trial(
            words(f"csgraph.{name}", return_predecessors=tree, **given),
            _csgraph_call(soak, name, matrix, tree, given),
            _csgraph_judge(truth, mine, want, tree),
            rows=len(mine),
            engine=f"csgraph.{name}",
            error=(nearfar.csgraph.NegativeCycleError,) if truth.cycle[mine].any() else (),
        )
    sources = truth.sources[rows]
    if not truth.edges.negative:
        least = np.where(truth.reached[rows], truth.values[rows], np.inf).min(axis=0)
        yield Trial(
            words("csgraph.dijkstra", indices=sources, min_only=True),
            lambda: nearfar.csgraph.dijkstra(
                matrix, indices=sources, min_only=True, device=soak.device
            ),
            array_judge(least.astype(np.float64)),
            engine="csgraph.dijkstra",
        )


def _csgraph_call(
    soak: Soak, name: str, matrix: Any, tree: bool, given: dict[str, Any]
) -> Callable[[], Any]:
    function = getattr(nearfar.csgraph, name)
    return lambda: function(matrix, return_predecessors=tree, device=soak.device, **given)


def _csgraph_judge(truth: Rows, rows: NDArray[np.int64], want: NDArray[Any], tree: bool) -> Judge:
    def judge(found: Any) -> str | None:
        matrix, before = found if tree else (found, None)
        wrong = differs(matrix, want)
        return wrong or (wrong_tree(truth, rows, before, none=-9999) if tree else None)

    return judge


def networkx(soak: Soak) -> Iterator[Trial]:
    """NetworkX's functions through the backend, from a graph of its own."""
    import networkx as nx

    truth, case = soak.truth, soak.case
    if truth.edges.huge or soak.n > 200 or soak.device == "cuda" or truth.cycle.any():
        return
    if truth.edges.kind == np.float32:
        return  # NetworkX adds Python's floats
    tails, heads, weights = case.drawn
    made = (nx.MultiDiGraph if case.directed else nx.MultiGraph)()
    made.add_nodes_from(range(soak.n))
    if weights is None:
        made.add_edges_from(zip(tails.tolist(), heads.tolist(), strict=True))
    else:
        made.add_weighted_edges_from(
            zip(tails.tolist(), heads.tolist(), weights.tolist(), strict=True)
        )
    names = ["single_source_bellman_ford_path_length"]
    if not truth.edges.negative:
        names.append("single_source_dijkstra_path_length")
    for name in names:
        row = soak.row()
        source = int(truth.sources[row])
        want = _named_row(truth, row)
        yield Trial(
            words(f"networkx.{name}", source=source),
            _networkx_call(name, made, source),
            _same(want),
            engine=f"networkx.{name}",
        )
    if soak.case.whole:
        rows = [_named_row(truth, row) for row in range(soak.n)]
        name = "all_pairs_bellman_ford_path_length"
        yield Trial(
            f"networkx.{name}()",
            lambda: dict(getattr(nx, name)(made, backend="nearfar")),
            _same(dict(enumerate(rows))),
            rows=soak.n,
            engine=f"networkx.{name}",
        )


def _named_row(truth: Rows, row: int) -> dict[int, Any]:
    there = np.flatnonzero(truth.reached[row])
    return dict(zip(there.tolist(), truth.values[row, there].tolist(), strict=True))


def _networkx_call(name: str, graph: Any, source: int) -> Callable[[], Any]:
    import networkx as nx

    return lambda: getattr(nx, name)(graph, source, backend="nearfar")


def _same(want: Any) -> Judge:
    def judge(found: Any) -> str | None:
        return None if found == want else f"{str(found)[:200]} instead of {str(want)[:200]}"

    return judge


# ---- files and the command line -----------------------------------------------------------------

# What keeps weights of a dtype exactly, from name and options of writing and reading.
FILES: list[tuple[str, dict[str, Any], dict[str, Any], str, int]] = [
    ("g.nfg", {}, {}, "any", 0),
    ("g.npz", {}, {}, "any", 0),
    ("g.txt", {}, {}, "any", 0),
    ("g.mtx", {}, {}, "any", 1),
    ("g.gr", {}, {}, "integers", 1),
    ("g.csv", {}, {}, "weighted", 0),
    ("g.parquet", {}, {}, "weighted", 0),
    ("g.txt.gz", {}, {}, "any", 0),
    ("g.mtx.zst", {}, {}, "any", 1),
]


def files(soak: Soak) -> Iterator[Trial]:
    """A graph written to a file of some format and read again."""
    truth, graph = soak.truth, soak.graph
    if truth.edges.huge or not len(truth.edges.tails) or soak.n > 400:
        return
    name, writing, reading, takes, first = soak.one_of(FILES)
    kind = truth.edges.kind.kind
    if takes == "integers" and (kind != "i" or truth.edges.negative):
        return
    if takes != "any" and soak.case.kind == "unweighted":
        return
    row = soak.row()
    source = int(truth.sources[row])
    if takes == "weighted" and not (truth.edges.tails == source).any():
        return  # tables hold edges, and so no vertex without any
    exact = name.startswith(("g.nfg", "g.npz", "g.parquet"))
    values, reached = truth.values[row], truth.reached[row]
    path = soak.folder / name

    def call() -> Any:
        write(graph, path, **writing)
        again = read(path, **reading)
        # A name of the file: as it numbers vertices, from 0 or 1.
        paths = nearfar.sssp(again, source + first, device=soak.device)
        return [
            paths.distance_to(v + first)
            for v in np.flatnonzero(reached).tolist()
        ], paths.n_reached, paths.distances.dtype

    def judge(found: Any) -> str | None:
        got, count, dtype = found
        if count != np.count_nonzero(reached):
            return f"{count} vertices reached instead of {np.count_nonzero(reached)}"
        want = values[reached]
        if exact and dtype.itemsize < truth.edges.kind.itemsize:
            return f"dtype {dtype}"
        if truth.edges.kind == np.float32 and dtype == np.float64:
            # A text has no dtype: sums are those of 64 bits.
            right = np.allclose(got, want.astype(float), rtol=1e-5)
        else:
            right = got == want.tolist()
        return None if right else f"{got[:5]} instead of {want[:5]}"

    yield Trial(
        words("read", file=name, source=source),
        call,
        judge,
        engine=f"file {name[2:]}",
        error=cycles(truth, [row]),
    )


def row_files(soak: Soak) -> Iterator[Trial]:
    """Rows written to a file block by block, and read from it."""
    truth = soak.truth
    if truth.edges.huge or truth.cycle.any():
        return
    rows = soak.some_rows()
    want = truth.expected(rows)
    name = soak.one_of(["rows.npy", "rows.parquet", "rows.zarr"])
    path = soak.folder / f"{soak.case.number}-{name}"
    block = int(soak.one_of([1, 7, 100]))
    stats: dict[str, Any] = {}

    def call() -> Any:
        from nearfar.solve.files import read_rows

        given = {"block": block, "device": soak.device, "stats": stats}
        nearfar.distances(soak.graph, truth.sources[rows], out=path, **given)
        if name.endswith(".npy"):
            return np.load(path)
        if name.endswith(".parquet"):
            return read_rows(path)[1]
        import zarr

        return zarr.open(path, mode="r")[...]

    def judge(found: Any) -> str | None:
        matrix = np.asarray(found)
        far = np.iinfo(want.dtype).max if want.dtype.kind == "i" else np.inf
        if matrix.dtype != want.dtype and matrix.dtype.kind == "i":
            top = np.iinfo(matrix.dtype).max
            matrix = np.where(matrix == top, far, matrix).astype(want.dtype)
        return differs(matrix, want, dtype=False)

    yield Trial(
        words("distances", sources=truth.sources[rows], out=name, block=block),
        call,
        judge,
        rows=len(rows),
        stats=stats,
    )


def command_line(soak: Soak) -> Iterator[Trial]:
    """The program, run in this process on a file."""
    truth = soak.truth
    if truth.edges.huge or soak.n > 200 or not len(truth.edges.tails):
        return
    path = soak.folder / "cli.nfg"
    rows = soak.some_rows(5)
    sources = truth.sources[rows]
    targets = soak.vertices(4)
    device = ["--device", soak.device]
    values, reached = truth.values[rows][:, targets], truth.reached[rows][:, targets]
    want = np.where(reached, values, np.inf).astype(np.float64).tolist()
    error = cycles(truth, rows)

    def table() -> Any:
        write(soak.graph, path)
        return program(
            "distances", path, "--source", *sources, "--target", *targets, "--json", *device
        )

    def judge(found: Any) -> str | None:
        code, text = found
        if error:
            return None if code == 5 else f"exit code {code} for a negative cycle"
        if code:
            return f"exit code {code}"
        got = json.loads(text)["values"]
        got = [[float("inf") if v is None else v for v in row] for row in got]
        return None if got == want else f"{got} instead of {want}"

    yield Trial(
        words("nearfar distances", source=sources, target=targets),
        table,
        judge,
        rows=len(rows),
        engine="nearfar distances",
    )
    row = int(rows[0])
    if truth.cycle[row]:
        return

    def one(found: Any) -> str | None:
        code, text = found
        if code:
            return f"exit code {code}"
        data = json.loads(text)
        there = truth.reached[row]
        far = truth.values[row][there].max()
        if data["reached"] != np.count_nonzero(there) or data["farthest_distance"] != far:
            return f"reached {data['reached']}, farthest {data['farthest_distance']}, not {far}"
        return None

    yield Trial(
        words("nearfar sssp --prove", source=sources[0]),
        lambda: program("sssp", path, sources[0], "--json", "--prove", *device),
        one,
        engine="nearfar sssp",
    )


def program(*arguments: Any) -> tuple[int, str]:
    """Exit code and what is printed."""
    from nearfar.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as left:
            code = int(left.code or 0)
    return code, out.getvalue()


# ---- prepared graphs ----------------------------------------------------------------------------


def prepared(soak: Soak) -> Iterator[Trial]:
    """Every query of a prepared graph, and again after its weights changed and from a file."""
    truth = soak.truth
    if soak.n > 400 or soak.graph.n_edges > 3000 or truth.edges.huge:
        return
    order: Any = soak.one_of(["levels", "auto", "random"])
    if order == "random":
        order = soak.rng.permutation(soak.n)
    perfect = soak.chance(0.7)

    def make() -> Prepared:
        return nearfar.prepare(soak.graph, order, force=True, perfect=perfect, threads=1)

    if truth.cycle.any():
        yield Trial(
            "prepare()", make, lambda _: None, 0, "prepare", error=(NegativeCycleError,)
        )
        return
    ready = make()
    yield from prepared_queries(soak, ready, truth)
    edges = of_graph(ready)
    way = soak.one_of(["reweight", "update", "save", "pickle"])
    if way == "save":
        path = soak.folder / "g.nfp"
        ready.save(path)
        yield from prepared_queries(soak, nearfar.load(path), truth)
    elif way == "pickle":
        yield from prepared_queries(soak, pickle.loads(pickle.dumps(ready)), truth)
    elif len(edges.weights):
        kind = ready.weight_dtype
        new = np.array(ready.effective_weights)
        at = soak.rng.integers(0, len(new), 1 + len(new) // soak.one_of([2, 10, 100]))
        at = np.unique(at)
        new[at] = soak.rng.integers(0, 100, len(at)).astype(kind)
        if kind.kind == "f" and not truth.edges.negative:
            new[at] = soak.rng.random(len(at)).astype(kind)
        changed = dataclasses.replace(edges, weights=new if kind.kind == "f" else new.astype("i8"))
        if changed.huge:
            return
        rows = rows_of(changed, truth.sources)
        call = (lambda: ready.reweight(new)) if way == "reweight" else (
            lambda: ready.update(at, new[at])
        )
        if rows.cycle.any():
            yield Trial(f"{way}()", call, lambda _: None, 0, "prepare", (NegativeCycleError,))
            return
        yield from prepared_queries(soak, call(), rows)


def of_graph(graph: Graph) -> Edges:
    """The edges of a graph in the order in which it holds them."""
    weights = np.array(graph.effective_weights)
    if weights.dtype.kind == "i":
        weights = weights.astype(np.int64)
    tails = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    return Edges(
        graph.n_vertices, tails, np.asarray(graph.indices, dtype=np.int64), weights,
        graph.weight_dtype,
    )  # fmt: skip


def prepared_queries(soak: Soak, ready: Prepared, truth: Rows) -> Iterator[Trial]:
    """One pair, many pairs, labels, a path, a row, rows, a table."""
    least = lightest(truth.edges)
    rows = soak.some_rows()
    ends = soak.rng.integers(0, soak.n, len(rows))
    asked = np.stack((truth.sources[rows], ends), axis=1)
    want = answer(truth.values[rows, ends], truth.reached[rows, ends], truth.edges.kind)
    one = want[0]
    top = np.inf if want.dtype.kind == "f" else np.iinfo(want.dtype).max
    first = float("inf") if one == top else one.item()
    source, target = int(asked[0, 0]), int(asked[0, 1])
    yield Trial(
        words("Prepared.distance", source=source, target=target),
        lambda: ready.distance(source, target),
        _same(first),
        engine="Prepared.distance",
    )
    yield Trial(
        words("Prepared.path", source=source, target=target),
        lambda: ready.path(source, target),
        _path_judge(least, source, target, first),
        engine="Prepared.path",
        error=(nearfar.UnreachableError,) if first == float("inf") else (),
    )
    yield Trial(
        words("Prepared.distances_of_pairs", pairs=asked),
        lambda: ready.distances_of_pairs(asked, soak.threads()),
        array_judge(want),
        rows=len(rows),
        engine="Prepared.distances_of_pairs",
    )
    if truth.edges.kind.kind == "i":
        yield Trial(
            words("Prepared.label().distances_of_pairs", pairs=asked),
            lambda: ready.label().distances_of_pairs(asked),
            array_judge(want),
            rows=len(rows),
            engine="TreeLabels.distances_of_pairs",
        )
    for variant in soak.variants("sssp"):
        if variant.family == "prepared":
            yield sssp_trial(soak, ready, truth, soak.row(), variant.id)
    for variant in soak.variants("batch"):
        if variant.family == "prepared":
            yield distances_trial(soak, ready, truth, variant.id)


# ---- a GPU --------------------------------------------------------------------------------------


def on_device(soak: Soak) -> Iterator[Trial]:
    """A graph made of device arrays: answers stay there."""
    if soak.device != "cuda" or not soak.graph.n_edges:
        return
    import cupy

    graph, truth = soak.graph, soak.truth
    parts = (graph.indptr, graph.indices, graph.weights)
    there = Graph.from_csr(*(None if part is None else cupy.asarray(part) for part in parts))
    for _ in range(2):
        yield sssp_trial(soak, there, truth, soak.row(), "auto")
        yield distances_trial(soak, there, truth, "auto")


#: Doors by name, each with the share of cases that go through it.
DOORS: dict[str, tuple[Callable[[Soak], Iterator[Trial]], float]] = {
    "sssp": (sssp, 1.0),
    "shortest_path": (shortest_path, 0.5),
    "k_shortest_paths": (k_shortest, 0.3),
    "find_negative_cycle": (negative_cycle, 1.0),
    "nearest": (nearest, 0.5),
    "distances and all_pairs": (distances, 1.0),
    "reduce": (reduce, 0.4),
    "pairs": (pairs, 0.5),
    "csgraph": (csgraph, 0.4),
    "networkx": (networkx, 0.1),
    "files": (files, 0.3),
    "row files": (row_files, 0.1),
    "command line": (command_line, 0.05),
    "prepared": (prepared, 0.4),
    "device arrays": (on_device, 1.0),
}


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder for the files of a process."""
    with tempfile.TemporaryDirectory(prefix="nearfar-soak-") as made:
        yield Path(made)
