"""Families of graphs of the speed zoo that came last, after all changes of the engine.

Functions of the number of vertices and a random generator, as in ``zoo_families.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from zoo_families import Edges, _lattice


def barbell(n: int, rng: Generator, size: int = 1000) -> Edges:
    """Return two cliques joined by a path of the other vertices."""
    size = min(size, n // 3)
    s, t = np.triu_indices(size, 1)
    path = np.r_[0, np.arange(2 * size, n), size]
    return np.r_[s, s + size, path[:-1]], np.r_[t, t + size, path[1:]], None, False, n


def siblings(n: int, rng: Generator) -> Edges:
    """Return a tree of four children per vertex, with each level joined to a path."""
    v = np.arange(1, n)
    return np.r_[(v - 1) // 4, v[:-1]], np.r_[v, v[1:]], None, False, n


def islands(n: int, rng: Generator, size: int = 1000) -> Edges:
    """Return random graphs of 1,000 vertices without connections to each other."""
    s = rng.integers(0, n, 2 * n)
    t = np.minimum(s // size * size + rng.integers(0, size, 2 * n), n - 1)
    return s, t, None, False, n


def burdened(n: int, rng: Generator, degree: int = 8) -> Edges:
    """Return a power law whose edges at hubs are long, as where traffic slows them down."""
    share = rng.pareto(1.2, n) + 1
    s, t = rng.choice(n, (2, n * degree // 2), p=share / share.sum())
    degrees = np.bincount(np.r_[s, t], minlength=n)
    burden = np.sqrt(degrees[s] * degrees[t].astype(float))
    return s, t, burden * (0.5 + rng.random(len(s))), False, n


def two_scales(n: int, rng: Generator, degree: int = 6) -> Edges:
    """Return a random graph in which one edge of ten is a million times as short as the others."""
    s, t = rng.integers(0, n, (2, n * degree))
    scale = np.where(rng.random(len(s)) < 0.9, 1e6, 1.0)
    return s, t, scale * (1 + rng.random(len(s))), True, n


def acyclic(n: int, rng: Generator, degree: int = 6) -> Edges:
    """Return edges towards later vertices, whose numbers are shuffled except the first."""
    s = rng.integers(0, n - 1, n * degree)
    t = np.minimum(s + 1 + (rng.random(len(s)) * (n - 1 - s)).astype(np.int64), n - 1)
    number = np.r_[0, 1 + rng.permutation(n - 1)]
    return number[s], number[t], None, True, n


def forward(n: int, rng: Generator, degree: int = 6, span: int = 2000) -> Edges:
    """Return a path in one direction with edges forward over up to 2,000 of its places."""
    s = rng.integers(0, n - 1, n * degree)
    t = np.minimum(s + 1 + rng.integers(0, span, len(s)), n - 1)
    number = np.r_[0, 1 + rng.permutation(n - 1)]
    return np.r_[number[s], number[:-1]], np.r_[number[t], number[1:]], None, True, n


def sinks(n: int, rng: Generator, degree: int = 10) -> Edges:
    """Return a random graph of which three quarters of the vertices have no outgoing edges."""
    inner = n // 4
    s = rng.integers(0, inner, inner * degree)
    t = np.where(
        rng.random(len(s)) < 0.5, rng.integers(0, inner, len(s)), rng.integers(0, n, len(s))
    )
    return s, t, None, True, n


def one_way(n: int, rng: Generator) -> Edges:
    """Return a grid of one-way streets of alternating direction, with shuffled numbers."""
    side = max(2, round(n**0.5))
    number = rng.permutation(side * side).reshape(side, side)
    lines = [number[::2], number[1::2, ::-1], number[:, 1::2].T, number[::-1, ::2].T]
    s = np.concatenate([line[:, :-1].ravel() for line in lines])
    t = np.concatenate([line[:, 1:].ravel() for line in lines])
    return s, t, None, True, side * side


def coins(n: int, rng: Generator) -> Edges:
    """Return a grid whose edges have the length 0 or 1 at random."""
    side = max(2, round(n**0.5))
    s, t, count = _lattice((side, side), [(0, 1), (1, 0)])
    return s, t, (rng.random(len(s)) < 0.5).astype(float), False, count


def modules(n: int, rng: Generator, size: int = 200, degree: int = 60) -> Edges:
    """Return correlations within modules of 200, and some weak ones between them."""
    s = rng.integers(0, n, n * degree // 2)
    t = np.minimum(s // size * size + rng.integers(0, size, len(s)), n - 1)
    a, b = rng.integers(0, n, (2, n))
    lengths = np.r_[1 - rng.beta(8, 3, len(s)), 1 - rng.beta(2, 6, n)]
    return np.r_[s, a], np.r_[t, b], lengths, False, n


def spiral(n: int, rng: Generator, turn: int = 30) -> Edges:
    """Return a path wound around a cylinder, each vertex joined to that of the next turn."""
    turn = min(turn, n - 2)
    s = np.r_[: n - 1, : n - turn]
    return s, np.r_[1:n, turn:n], None, False, n


def rising(n: int, rng: Generator, degree: int = 6) -> Edges:
    """Return a random graph in which all edges of a vertex have a length given by its number."""
    s, t = rng.integers(0, n, (2, n * degree))
    return s, t, (1.0 + s) ** 1.5, True, n


def shuffled(n: int, rng: Generator) -> Edges:
    """Return a grid with shuffled numbers."""
    side = max(2, round(n**0.5))
    s, t, count = _lattice((side, side), [(0, 1), (1, 0)])
    number = rng.permutation(count)
    return number[s], number[t], None, False, count
