"""Soak test of weights at the limits of their dtypes, compared with exact rationals.

It uses separate small graphs of four kinds: float sums beyond the range, negative integers at the
limits of the dtype, cycles of floats whose sum is zero except for rounding, and prepared graphs
that are loaded and then get new weights. Distances are computed as fractions, without rounding; the
tolerance of an answer is the rounding of as many additions as there are vertices. Sums so close to
the limit of a dtype that rounding decides are not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearfar
from nearfar import Graph
from nearfar.errors import (
    DistanceOverflowError,
    NegativeCycleError,
    SolverError,
    UnreachableError,
    VariantUnavailable,
)
from nearfar.registry import Request
from soak_oracle import host
from soak_trial import Judge, Soak, Trial, words

Errors = tuple[type[Exception], ...]
MARGIN = Fraction(1, 100)  # share of the greatest number; sums closer to it are not drawn


@dataclass(frozen=True)
class Small:
    """List of directed edges, and exact distances over them."""

    n: int
    tails: NDArray[np.int64]
    heads: NDArray[np.int64]
    weights: NDArray[Any]
    updated: bool = False  # the weights were set by an update of a prepared graph

    @property
    def kind(self) -> np.dtype[Any]:
        """Dtype of the weights."""
        return self.weights.dtype

    @property
    def graph(self) -> Graph:
        """Build the graph from the list of edges."""
        return Graph.from_edges(self.tails, self.heads, self.weights, n_vertices=self.n)

    @cached_property
    def exact(self) -> list[tuple[int, int, Fraction]]:
        """Return the edges with their weights as fractions."""
        ends = zip(self.tails.tolist(), self.heads.tolist(), self.weights.tolist(), strict=True)
        return [(u, v, Fraction(w)) for u, v, w in ends]

    def row(self, source: int) -> dict[int, Fraction] | None:
        """Return exact distances of reached vertices; None if there is a negative cycle."""
        found = {source: Fraction(0)}
        for _ in range(self.n + 1):
            changed = False
            for u, v, w in self.exact:
                if u in found and (v not in found or found[u] + w < found[v]):
                    found[v], changed = found[u] + w, True
            if not changed:
                return found
        return None

    @cached_property
    def rows(self) -> list[dict[int, Fraction] | None]:
        """Return the rows of all sources."""
        return [self.row(source) for source in range(self.n)]

    @cached_property
    def slack(self) -> Fraction:
        """Return the rounding bound of a distance in the weights' dtype; 0 for integers."""
        if self.kind.kind != "f":
            return Fraction(0)
        most = max((abs(w) for _, _, w in self.exact), default=Fraction(0))
        info = np.finfo(self.kind)
        tiny = Fraction(float(info.smallest_subnormal))
        eps = Fraction(float(info.eps))
        if self.updated:  # an update keeps the steps: every weight has at least 24 bits
            eps += Fraction(1, 2**24)
        return self.n * self.n * (most * eps + tiny)

    def fits(self, value: Fraction, dtype: np.dtype[Any]) -> bool:
        """Return whether a distance fits a dtype, whose greatest value means unreached."""
        if dtype.kind == "f":
            return abs(value) <= Fraction(float(np.finfo(dtype).max))
        return bool(int(np.iinfo(dtype).min) <= value < int(np.iinfo(dtype).max))

    @property
    def wide(self) -> np.dtype[Any]:
        """Dtype of 64 bits of this kind."""
        return np.dtype("f8" if self.kind.kind == "f" else "i8")

    @property
    def ambiguous(self) -> bool:
        """Return whether rounding decides if a distance is in the range of the dtype."""
        if self.kind.kind != "f":
            return False
        top = Fraction(float(np.finfo(self.kind).max))
        every = (d for row in self.rows if row is not None for d in row.values())
        return any(abs(abs(d) - top) < MARGIN * top for d in every)


# ---- weights ------------------------------------------------------------------------------------


def _ends(rng: np.random.Generator, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a path through all vertices, and a few further edges."""
    more = int(rng.integers(0, 2 * n))
    order = rng.permutation(n)
    return (
        np.concatenate((order[:-1], rng.integers(0, n, more))),
        np.concatenate((order[1:], rng.integers(0, n, more))),
    )


def _beyond(rng: np.random.Generator) -> Small:
    """Return float weights of which two or three sums leave the range."""
    n = int(rng.integers(2, 9))
    tails, heads = _ends(rng, n)
    dtype = np.dtype(str(rng.choice(["float32", "float64"])))
    share = rng.choice([1e-30, 0.1, 0.3, 0.45, 0.6, 0.9], len(tails))
    weights = (share * rng.uniform(0.9, 1.0, len(tails)) * float(np.finfo(dtype).max)).astype(dtype)
    if dtype == np.float64 and rng.random() < 0.3:  # sums that fit only because of their signs
        weights[rng.random(len(weights)) < 0.3] *= 1e-3
    return Small(n, tails, heads, weights)


def _at_the_limits(rng: np.random.Generator) -> Small:
    """Return integers of both signs at the limits of the dtype; a vertex order limits cycles."""
    n = int(rng.integers(2, 9))
    tails, heads = _ends(rng, n)
    if rng.random() < 0.7:  # only forward edges: no cycle
        tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
        apart = tails != heads
        tails, heads = tails[apart], heads[apart]
    dtype = np.dtype(str(rng.choice(["int32", "int64"])))
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    choices = [low, low + 1, low // 2, low // 3, -1, 0, 1, high // 3, high // 2, high - 1]
    picked = [choices[i] for i in rng.integers(0, len(choices), len(tails))]
    return Small(n, tails, heads, np.array(picked, dtype=dtype))


def _near_zero(rng: np.random.Generator) -> Small:
    """Return a cycle of floats whose exact sum is zero, or one ulp of a weight off."""
    n = int(rng.integers(2, 8))
    dtype = np.dtype(str(rng.choice(["float32", "float64"])))
    length = int(rng.integers(2, n + 1))
    order = rng.permutation(n)
    tails, heads = order[:length], np.roll(order[:length], -1)
    weights = (rng.integers(-60, 61, length) / 8).astype(dtype)
    weights[-1] = -weights[:-1].sum()  # eighths: exact
    way = rng.integers(0, 4)
    at = int(rng.integers(0, length))
    if way < 2:
        weights[at] = np.nextafter(weights[at], dtype.type(np.inf if way else -np.inf))
    elif way == 2:  # far below the ulp of the other weights
        others = weights[:-1].sum()
        weights[-1] = -others
        tails, heads = np.append(tails, order[0]), np.append(heads, order[0])
        tiny = float(np.finfo(dtype).tiny) * rng.uniform(0.5, 2)
        weights = np.append(weights, dtype.type(tiny * rng.choice([-1, 1])))
    more_tails, more_heads = _ends(rng, n)
    more = (rng.integers(60, 200, len(more_tails)) / 8).astype(dtype)
    return Small(
        n,
        np.concatenate((tails, more_tails)),
        np.concatenate((heads, more_heads)),
        np.concatenate((weights, more)),
    )


def _plain(rng: np.random.Generator) -> Small:
    """Return ordinary weights, for updates after loads."""
    n = int(rng.integers(2, 12))
    tails, heads = _ends(rng, n)
    dtype = np.dtype(str(rng.choice(["int32", "int64", "float32", "float64"])))
    return Small(n, tails, heads, (rng.integers(0, 1000, len(tails))).astype(dtype))


KINDS = {"beyond": _beyond, "limits": _at_the_limits, "near zero": _near_zero, "plain": _plain}


# ---- what an answer must be ---------------------------------------------------------------------


def error_of(small: Small, asked: list[dict[int, Fraction] | None]) -> Errors:
    """Return the error that must be raised instead of these rows or parts of rows."""
    if any(row is None for row in asked):
        return (NegativeCycleError,)
    distances = [d for row in asked if row is not None for d in row.values()]
    if all(small.fits(d, small.wide) for d in distances):
        return ()
    return (DistanceOverflowError,)


def rows_judge(small: Small, asked: list[dict[int, Fraction] | None]) -> Judge:
    """Compare rows with exact ones: reached vertices, dtype, and values up to rounding."""
    every = [d for row in asked if row is not None for d in row.values()]
    narrow = all(small.fits(d, small.kind) for d in every)

    def judge(found: Any) -> str | None:
        rows = np.atleast_2d(host(found))
        want = small.kind if narrow else small.wide
        if rows.dtype != want:
            return f"dtype {rows.dtype} instead of {want}"
        none = np.inf if want.kind == "f" else np.iinfo(want).max
        for i, row in enumerate(asked):
            assert row is not None
            for v, value in enumerate(rows[i].tolist()):
                if (value != none) != (v in row):
                    return f"row {i}: vertex {v} is {value}, exactly {row.get(v, 'unreached')}"
                if v in row and abs(Fraction(value) - row[v]) > small.slack:
                    return f"row {i}: vertex {v} is {value}, exactly {float(row[v])!r}"
        return None

    return judge


def _one_value(small: Small, value: Fraction | None) -> Judge:
    def judge(found: Any) -> str | None:
        if value is None:
            far = found == float("inf") or found == np.iinfo(np.int64).max
            return None if far or found == np.iinfo(np.int32).max else f"{found}, not unreached"
        right = np.isfinite(float(found)) and abs(Fraction(found) - value) <= small.slack
        return None if right else f"{found!r}, exactly {float(value)!r}"

    return judge


# ---- the door -----------------------------------------------------------------------------------


def extremes(soak: Soak) -> Iterator[Trial]:
    """Yield trials at the limits of dtypes: searches, rows, pairs, paths, prepared graphs."""
    for name, make in KINDS.items():
        small = make(soak.rng)
        while small.ambiguous:
            small = make(soak.rng)
        if name != "plain":
            yield from _searches(soak, small, name)
        if soak.device == "cpu":
            yield from _of_prepared(soak, small, name)


def _trial(small: Small, name: str, door: str, call: Callable[[], Any], judge: Judge,
           rows: int, error: Errors, stats: dict[str, Any] | None = None) -> Trial:  # fmt: skip
    edges = words(door, kind=name, dtype=small.kind.name, n=small.n, tails=small.tails,
                  heads=small.heads, weights=small.weights)  # fmt: skip
    # Intermediate sums of such weights may exceed 64 bits: an error is expected, not a number.
    wide = small.kind == np.int64 and name.startswith("limits")
    refusals: Errors = (DistanceOverflowError, SolverError, VariantUnavailable) if wide else ()
    engine = door.rpartition(" by ")[2].split(" [")[0].partition(" from ")[0]  # without arguments
    return Trial(edges, call, judge, rows, engine, error, {} if stats is None else stats, refusals)


def _searches(soak: Soak, small: Small, name: str) -> Iterator[Trial]:
    graph = small.graph
    fitting = [v for v in soak.variants("sssp") if v.fits(graph, Request()) is True]
    some = [v.id for v in fitting if soak.chance(0.3) and not v.unsafe]
    for method in ["auto", *some]:
        source = int(soak.rng.integers(0, small.n))
        asked = [small.rows[source]]
        stats: dict[str, Any] = {}
        yield _trial(
            small,
            name,
            f"sssp from {source} by {method}",
            lambda s=source, m=method, st=stats: (
                nearfar.sssp(graph, s, method=m, device=soak.device, stats=st).distances
            ),
            rows_judge(small, asked),
            1,
            error_of(small, asked),
            stats,
        )
    sources = soak.rng.integers(0, small.n, int(soak.rng.integers(1, 6)))
    asked = [small.rows[s] for s in sources]
    yield _trial(
        small,
        name,
        f"distances from {sources.tolist()}",
        lambda: nearfar.distances(graph, sources, device=soak.device),
        rows_judge(small, asked),
        len(sources),
        error_of(small, asked),
    )
    target = int(soak.rng.integers(0, small.n))
    row = small.rows[int(sources[0])]
    if row is not None and not error_of(small, [row]):
        far = row.get(target)
        yield _trial(
            small,
            name,
            f"shortest_path from {sources[0]} to {target}",
            lambda: nearfar.shortest_path(graph, int(sources[0]), target, device=soak.device)[1],
            _one_value(small, far),
            1,
            (UnreachableError,) if far is None else (),
        )
    if name != "beyond" and soak.device == "cpu":
        anywhere = any(row is None for row in small.rows)
        yield _trial(
            small,
            name,
            "find_negative_cycle",
            lambda: nearfar.find_negative_cycle(graph),
            lambda found: None if (found is not None) == anywhere else f"found {found}",
            0,
            (),
        )


def _of_prepared(soak: Soak, small: Small, name: str) -> Iterator[Trial]:
    """Yield the same trials for a prepared, a saved, a loaded and a reweighted graph."""
    graph = small.graph
    cyclic = any(row is None for row in small.rows)
    if cyclic:
        call = lambda: nearfar.prepare(graph, force=True, threads=1)  # noqa: E731
        yield _trial(small, name, "prepare", call, lambda _: None, 0, (NegativeCycleError,))
        return
    try:
        ready = nearfar.prepare(graph, force=True, threads=1)
    except (DistanceOverflowError, SolverError, NegativeCycleError) as error:
        if name == "limits" and not isinstance(error, NegativeCycleError):
            return  # a refusal
        yield _trial(small, name, "prepare", lambda e=error: e, lambda e: f"{e!r}", 0, ())
        return
    path = soak.folder / "extreme.nfp"
    ready.save(path)
    loaded = nearfar.load(path)
    yield from _queries(soak, ready, small, name)
    yield from _queries(soak, loaded, small, f"{name}, loaded")
    # New weights after the load, in the graph's order of edges.
    kept = np.array(loaded.effective_weights)
    at = np.unique(soak.rng.integers(0, len(kept), 1 + len(kept) // 3)) if len(kept) else []
    if not len(at) or name == "near zero":
        return
    new = kept.copy()
    new[at] = soak.rng.permutation(kept)[: len(at)]
    tails = np.repeat(np.arange(loaded.n_vertices), np.diff(loaded.indptr))
    way = soak.one_of(["update", "reweight"])
    heads = np.asarray(loaded.indices, np.int64)
    changed = Small(small.n, tails, heads, new, updated=way == "update")
    if changed.ambiguous or any(row is None for row in changed.rows):
        return
    try:
        after = loaded.update(at, new[at]) if way == "update" else loaded.reweight(new)
    except (DistanceOverflowError, SolverError):
        if name != "limits":
            raise
        return
    yield from _queries(soak, after, changed, f"{name}, loaded, {way}")


def _queries(soak: Soak, ready: Any, small: Small, name: str) -> Iterator[Trial]:
    count = int(soak.rng.integers(1, 6))
    sources = soak.rng.integers(0, small.n, count)
    ends = soak.rng.integers(0, small.n, count)
    rows = [small.rows[s] for s in sources]
    asked = [{t: row[t]} if row is not None and t in row else {} for row, t in
             zip(rows, ends.tolist(), strict=True)]  # fmt: skip
    flat = [row.get(t) for row, t in zip(asked, ends.tolist(), strict=True)]
    source, target = int(sources[0]), int(ends[0])
    yield _trial(small, name, f"Prepared.distance({source}, {target})",
                 lambda: ready.distance(source, target), _one_value(small, flat[0]), 1,
                 error_of(small, asked[:1]))  # fmt: skip
    no_path: Errors = (UnreachableError,) if flat[0] is None else ()
    yield _trial(small, name, f"Prepared.path({source}, {target})",
                 lambda: ready.path(source, target)[1], _one_value(small, flat[0]), 1,
                 error_of(small, asked[:1]) or no_path)  # fmt: skip
    pairs = np.stack((sources, ends), axis=1)

    def pairs_judge(found: Any) -> str | None:
        for value, want in zip(host(found).tolist(), flat, strict=True):
            wrong = _one_value(small, want)(value)
            if wrong:
                return wrong
        return None

    for door, call in (
        ("Prepared.distances_of_pairs", lambda: ready.distances_of_pairs(pairs)),
        ("distances(prepared, pairs=)", lambda: nearfar.distances(ready, pairs=pairs)),
    ):
        yield _trial(small, name, f"{door} {pairs.tolist()}", call, pairs_judge, count,
                     error_of(small, asked))  # fmt: skip
    yield _trial(small, name, f"distances(prepared, {sources.tolist()})",
                 lambda: nearfar.distances(ready, sources), rows_judge(small, rows), count,
                 error_of(small, rows))  # fmt: skip
