"""Interfaces of the soak test for one source, paths, many sources, reductions and pairs.

Each is a generator of :class:`Trial`: it draws random arguments, defines the call, and checks the
answer against the oracle's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

import nearfar
from nearfar.errors import DistanceOverflowError
from nearfar.graph.dtypes import unreached_value
from nearfar.registry import Request, Variant
from soak_oracle import Rows, answer, differs, host, length_of, lightest, simple_paths, wrong_tree
from soak_trial import (
    Judge,
    Soak,
    Trial,
    array_judge,
    cycles,
    options_of,
    path_judge,
    rounding,
    wanted,
    words,
)

# ---- one source ---------------------------------------------------------------------------------


def sssp_trial(soak: Soak, graph: Any, truth: Rows, row: int, method: str, **more: Any) -> Trial:
    """Return one search with random arguments."""
    stats: dict[str, Any] = {}
    given: dict[str, Any] = {"method": method, "device": soak.device, **more}
    if soak.device == "cpu":
        given["threads"] = soak.threads()
    only = [row]
    near = rounding({"engine": method}, truth.edges) if method != "auto" else 0.0
    limit = soak.limit(only, apart=near > 0) if soak.chance(0.2) else None
    # With rounded sums, vertices at the distance of the last target may be missing.
    targets = soak.vertices() if soak.chance(0.25) and not near else None
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
        wrong = differs(paths.distances, want, near=near)
        if wrong or not tree:
            return wrong
        if not truth.edges.huge and limit is None and targets is None:
            wrong = wrong_tree(truth, np.array(only), host(paths.predecessors)[None], near=near)
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
    """Yield every suitable variant for one source, some of them several times."""
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
    """Yield one path: its edges exist and their sum is the distance."""
    truth = soak.truth
    least = lightest(truth.edges)
    for _ in range(4):
        row, target = soak.row(), int(soak.rng.integers(0, soak.n))
        source = int(truth.sources[row])
        error = cycles(truth, [row])
        if not error and not truth.reached[row, target]:
            # Then the answer contains all reached vertices, whose distances may not fit.
            large = (DistanceOverflowError,) if truth.edges.huge else ()
            error = (nearfar.UnreachableError, *large)
        far = truth.values[row, target]
        if not error and truth.edges.huge and far >= 2**63 - 1:
            error = (DistanceOverflowError,)
        stats: dict[str, Any] = {}
        yield Trial(
            words("shortest_path", source=source, target=target),
            _path_call(soak, source, target, stats),
            path_judge(least, source, target, far),
            error=error,
            stats=stats,
        )


def _path_call(soak: Soak, source: int, target: int, stats: dict[str, Any]) -> Callable[[], Any]:
    return lambda: nearfar.shortest_path(
        soak.graph, source, target, device=soak.device, stats=stats
    )


def k_shortest(soak: Soak) -> Iterator[Trial]:
    """Yield the k shortest paths: small graphs against all simple paths, others by validity.

    On larger graphs the first path must be a shortest one and all must be paths. Sums of float32
    weights are computed in 64 bits, and are therefore compared up to rounding.
    """
    truth = soak.truth
    if truth.edges.huge or truth.cycle.any() or soak.n > 200 or soak.device == "cuda":
        return
    row, target = soak.row(), int(soak.rng.integers(0, soak.n))
    source = int(truth.sources[row])
    k = int(soak.one_of([1, 3, 12]))
    weights = lightest(truth.edges)
    few = soak.n <= 7
    every = simple_paths(truth.edges, source, target)[:k] if few else []
    near = 1e-5 if truth.edges.kind == np.float32 else 0.0

    def alike(a: Any, b: Any) -> bool:
        return bool(np.isclose(float(a), float(b), rtol=near, atol=0)) if near else bool(a == b)

    def judge(found: list[tuple[list[int], Any]]) -> str | None:
        lengths = [length for _, length in found]
        if any(len(set(path)) < len(path) for path, _ in found):
            return "a path visits a vertex twice"
        if len({tuple(path) for path, _ in found}) < len(found):
            return "a path comes twice"
        if lengths != sorted(lengths):
            return f"lengths {lengths} are not in order"
        if few and (len(every) != len(lengths) or not all(map(alike, lengths, every))):
            return f"lengths {lengths} instead of {every}"
        if bool(found) != bool(truth.reached[row, target]):
            return f"{len(found)} paths, but reached is {truth.reached[row, target]}"
        if found and not alike(lengths[0], truth.values[row, target]):
            return f"lengths {lengths[:3]}..., the shortest is {truth.values[row, target]}"
        for path, length in found:
            own = length_of(weights, path)
            if own is None or not alike(own, length):
                return f"path {path} has length {own}, not {length}"
        return None

    yield Trial(
        words("k_shortest_paths", source=source, target=target, k=k),
        lambda: nearfar.k_shortest_paths(soak.graph, source, target, k),
        judge,
        rows=0,
        engine="k_shortest_paths",
    )


def negative_cycle(soak: Soak) -> Iterator[Trial]:
    """Yield a search for a cycle, which must be found if there is one and have a negative sum."""
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
    """Yield the minimum over the rows of several sources."""
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


def distances_trial(
    soak: Soak,
    graph: Any,
    truth: Rows,
    method: str,
    slow: bool = False,
    within: bool = False,
    **more: Any,
) -> Trial:
    """Return rows of some sources or of all, with random arguments.

    There are few rows if they are ``slow``; ``within`` is a limit if the method needs one.
    """
    every = soak.case.whole and soak.chance(0.25 if soak.device == "cpu" else 0.7)
    rows = np.arange(soak.n) if every else soak.some_rows()
    if slow:
        every, rows = False, soak.some_rows()[:8]
    stats: dict[str, Any] = {}
    given: dict[str, Any] = {"method": method, "device": soak.device, **more}
    if soak.device == "cpu":
        given["threads"] = soak.threads()
    if soak.chance(0.3 if soak.device == "cpu" else 0.1):
        given["block"] = int(soak.one_of([1, 3, 17] if len(rows) <= 60 else [50, 170]))
    limit = soak.limit(rows, apart=True) if within or soak.chance(0.25) else None
    if within and limit is not None and limit >= unreached_value(graph.weight_dtype):
        limit = None  # such a method is refused if distances need a wider dtype
    if limit is not None:
        given["limit"] = limit
    elif within:
        given["method"] = method = "auto"
    columns = soak.vertices(12) if soak.chance(0.3) and not within else None
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
        near = rounding(stats, truth.edges)
        wrong = differs(found, want, near=near)
        if wrong or not tree or truth.edges.huge or limit is not None:
            return wrong
        return wrong_tree(truth, rows, before, near=near)

    sources = None if every else truth.sources[rows]
    # sources from which Johnson's method finds a negative cycle
    anywhere = np.arange(len(truth.sources))
    shown = {k: v if k != "out" or isinstance(v, str) else v.dtype for k, v in given.items()}
    door = nearfar.all_pairs if every else nearfar.distances
    arguments = (graph,) if every else (graph, sources)
    return Trial(
        words(door.__name__, sources=sources, predecessors=tree, **shown),
        lambda: door(*arguments, predecessors=tree, stats=stats, **given),
        judge,
        rows=len(rows),
        engine=method,
        error=cycles(truth, anywhere if "johnson" in method else rows) or large,
        stats=stats,
    )


def distances(soak: Soak) -> Iterator[Trial]:
    """Yield every variant for batches, and a few for one source, run source by source."""
    graph = soak.graph
    for problem in ("batch", "all_pairs"):
        for variant in soak.variants(problem):
            request = Request(problem)  # type: ignore[arg-type]
            within = variant.fits(graph, request) is not True
            if within and variant.fits(graph, request._replace(limit=1)) is not True:
                continue
            if problem == "all_pairs" and "batch" in variant.problems:
                continue
            if problem == "all_pairs":
                if soak.case.whole and soak.n <= 400:
                    yield from all_pairs_of(soak, variant)
                continue
            # On a GPU the papers' loops launch several kernels per source and round.
            slow = soak.device == "cuda" and variant.cost is None
            for _ in range(1 if slow or soak.device == "cpu" else 6):
                more = options_of(soak, variant)
                yield distances_trial(soak, graph, soak.truth, variant.id, slow, within, **more)
    singles = [v for v in soak.variants("sssp") if v.fits(graph, Request()) is True]
    if singles:
        variant = soak.one_of(singles)
        slow = soak.device == "cuda"
        more = options_of(soak, variant)
        yield distances_trial(soak, graph, soak.truth, variant.id, slow, **more)
    yield distances_trial(soak, graph, soak.truth, "auto")


def all_pairs_of(soak: Soak, variant: Variant) -> Iterator[Trial]:
    """Return all pairs by a variant that supports only all pairs."""
    truth = soak.truth
    rows = np.arange(soak.n)
    want, large = wanted(lambda: truth.expected(rows))
    tree = soak.chance(0.3)
    stats: dict[str, Any] = {}

    def judge(found: Any) -> str | None:
        assert want is not None
        matrix = found[0] if tree else found
        near = rounding(stats, truth.edges)
        wrong = differs(matrix, want, near=near)
        if wrong is None and tree and not truth.edges.huge:
            wrong = wrong_tree(truth, rows, found[1], near=near)
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
    """Yield one number per row, or the nearest few, compared with the oracle's rows."""
    truth = soak.truth
    if truth.edges.huge or truth.cycle.any():
        return
    rows = soak.some_rows()
    sources = truth.sources[rows]
    limit = soak.limit(rows, apart=True) if soak.chance(0.3) else None
    columns = np.unique(soak.vertices(20)) if soak.chance(0.4) else None
    reached = truth.reached[rows] & (True if limit is None else truth.values[rows] <= limit)
    values = truth.values[rows]
    if columns is None:
        reached[np.arange(len(rows)), sources] = False
    else:
        values, reached = values[:, columns], reached[:, columns]
    call: dict[str, Any] = {"limit": limit, "targets": columns, "device": soak.device}
    stats: dict[str, Any] = {}

    def near() -> float:
        return rounding(stats, truth.edges)

    def trial(kind: Any, judge: Judge) -> Trial:
        return Trial(
            words("distances", sources=sources, reduce=kind, **call),
            lambda: nearfar.distances(soak.graph, sources, reduce=kind, stats=stats, **call),
            judge,
            rows=len(rows),
            stats=stats,
        )

    yield trial("count", array_judge(np.count_nonzero(reached, axis=1), dtype=False))
    far = np.where(reached, values, -np.inf if values.dtype.kind == "f" else -(2**62))
    most = far.max(axis=1, initial=far.dtype.type(-(2**62)))

    def greatest(found: Any) -> str | None:
        # Compared as numbers, since rows may have 32 or 64 bits.
        found, some = host(found), reached.any(axis=1)
        none = np.inf if found.dtype.kind == "f" else np.iinfo(found.dtype).max
        if (found[~some] != none).any():
            return f"maxima of no distances: {found[~some]}"
        return differs(found[some], most[some], False, near())

    yield trial("max", greatest)
    exact = truth.edges.kind.kind == "i"
    total = np.where(reached, values, 0).sum(axis=1, dtype=np.int64 if exact else np.float64)

    def sums(found: Any) -> str | None:
        close = max(near(), 1e-12)
        right = np.allclose(host(found), total.astype(np.float64), rtol=close, atol=0)
        return None if right else f"sums {found} instead of {total}"

    yield trial("sum", sums)
    k = int(soak.one_of([1, 3, 10]))
    ids = np.arange(soak.n) if columns is None else columns

    def nearest_few(found: Any) -> str | None:
        vertices, distances = (host(part) for part in found)
        for i, (row, there) in enumerate(zip(values, reached, strict=True)):
            order = np.lexsort((ids[there], row[there]))[:k]
            want = ids[there][order]
            got = vertices[i][vertices[i] >= 0]
            wrong = differs(distances[i][: len(want)], row[there][order], False, near())
            if wrong or (near() == 0 and not np.array_equal(got, want)):
                return f"row {i}: the nearest are {got}, not {want}: {wrong}"
        return None

    yield trial(f"nearest:{k}", nearest_few)
    edges = sorted({0.0, 1.0, float(soak.limit(rows, apart=True) or 3), 1e6})
    counts = np.array(
        [
            [np.count_nonzero(t & (v >= a) & (v < b)) for a, b in pairwise(edges)]
            for v, t in zip(values, reached, strict=True)
        ]
    )
    yield trial(("histogram", edges), array_judge(counts, dtype=False))


def pairs(soak: Soak) -> Iterator[Trial]:
    """Yield one distance per pair."""
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
        array_judge(want, near=lambda: rounding(stats, truth.edges)),
        rows=k,
        error=cycles(truth, rows) or large,
        stats=stats,
    )
