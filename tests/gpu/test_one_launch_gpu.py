"""One-launch engine on a GPU: each form on hubs, paths and cycles, hundreds of times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import Graph
from nearfar.algorithms.near_far.one_launch import forms as one_launch_forms
from nearfar.cuda.device_graph import device_graph
from nearfar.generators import generate
from nearfar.registry import Workspace, find
from nearfar.system.devices import compiler, runtime
from tests.zoo import as_dtype

FORMS: dict[str, dict[str, Any]] = {
    "plain": {"sort_rows": False, "distance_bits": 0},
    "own-rows": {"shortcuts": False},
    "shortcuts": {"shortcuts": True},
    "sorted": {"sort_rows": True},
    "packed-16": {"distance_bits": 16},
    "packed-8": {"distance_bits": 8},
}


def star(n: int, *, inwards: bool = False) -> Graph:
    """Return a hub with n - 1 edges out, or in and one out."""
    rim = np.arange(1, n)
    weights = (rim % 90).astype(np.int32)
    if not inwards:
        return Graph.from_edges(np.zeros(n - 1, int), rim, weights, n_vertices=n)
    sources, targets = np.append(rim, 0), np.append(np.zeros(n - 1, int), 5)
    return Graph.from_edges(sources, targets, np.append(weights, 1).astype(np.int32), n_vertices=n)


def path(n: int) -> Graph:
    """Return a path with alternating weights 0 and 1, so that distances fit 16 bits."""
    weights = (np.arange(n - 1) % 2).astype(np.int32)
    return Graph.from_edges(np.arange(n - 1), np.arange(1, n), weights, directed=False)


def zero_cycles(n: int) -> Graph:
    """Return rings of four joined by zero weights, in a random graph."""
    rng = np.random.default_rng(3)
    ring = np.arange(n)
    ahead = ring - ring % 4 + (ring + 1) % 4
    sources = np.concatenate([ring, rng.integers(0, n, 6 * n)])
    targets = np.concatenate([ahead, rng.integers(0, n, 6 * n)])
    weights = np.concatenate([np.zeros(n, int), rng.integers(0, 9, 6 * n)]).astype(np.int32)
    return Graph.from_edges(sources, targets, weights, n_vertices=n)


def streets(n: int) -> Graph:
    """Return a path of crossings with side streets, some of them one-way or parallel."""
    rng = np.random.default_rng(4)
    along = np.arange(n - 1)
    tails = np.concatenate([along, rng.integers(0, n, n // 4), along[: n // 8]])
    heads = np.concatenate(
        [along + 1, (tails[n - 1 : n - 1 + n // 4] + 7) % n, along[: n // 8] + 1]
    )
    there = rng.integers(0, 30, len(tails)).astype(np.int32)
    back = np.where(rng.random(len(tails)) < 0.9, there, there + 1).astype(np.int32)
    both = rng.random(len(tails)) < 0.95
    return Graph.from_edges(
        np.append(tails, heads[both]),
        np.append(heads, tails[both]),
        np.append(there, back[both]),
        n_vertices=n,
    )


GRAPHS: dict[str, Any] = {
    "star": lambda: star(300_000),
    "star_inwards": lambda: star(300_000, inwards=True),
    "path": lambda: path(3_000),
    "streets": lambda: streets(20_000),
    "zero_cycles": lambda: zero_cycles(40_000),
    "kronecker": lambda: generate("kronecker", scale=15),
    "grid": lambda: generate("grid", rows=60, columns=60),
    "sparse": lambda: generate("uniform_random", vertices=200_000, degree=7),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_form_a_hundred_times(name: str) -> None:
    graph = GRAPHS[name]()
    source = int(np.argmax(graph.degrees))
    want = nearfar.sssp(graph, source, device="cpu")
    nearfar.verify(graph, want)
    right = runtime.upload(want.distances)
    (variant,) = find("near_far@cuda")
    for form, given in FORMS.items():
        options = variant.options(**given)
        for _ in range(100):
            answer = variant.run(graph, source, options, Workspace())
            assert bool((answer.distances == right).all()), (name, form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["int32", "float32", "int64", "float64"])
def test_every_form_and_dtype(form: str, dtype: str) -> None:
    for name in ("kronecker", "zero_cycles", "star_inwards", "streets"):
        graph = as_dtype(GRAPHS[name](), dtype)
        for source in (0, int(np.argmax(graph.degrees))):
            want = nearfar.sssp(graph, source, device="cpu").distances
            paths = nearfar.sssp(graph, source, method="near_far@cuda", **FORMS[form])
            np.testing.assert_array_equal(paths.distances, want)


@pytest.mark.parametrize("form", FORMS)
def test_64_bit_kernels(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = lambda graph: device_graph(graph, wide=True)  # noqa: E731
    monkeypatch.setattr("nearfar.algorithms.near_far.one_launch.driver.device_graph", wide)
    monkeypatch.setattr("nearfar.cuda.graph.sorted_rows.device_graph", wide)
    graph = GRAPHS["kronecker"]()
    want = nearfar.sssp(graph, 1, device="cpu").distances
    paths = nearfar.sssp(graph, 1, method="near_far@cuda", **FORMS[form])
    np.testing.assert_array_equal(paths.distances, want)


@pytest.mark.parametrize("bits", [8, 16])
def test_distances_that_do_not_fit_are_found_whole(bits: int) -> None:
    graph = generate("grid", rows=200, columns=200)
    want = nearfar.sssp(graph, 0, device="cpu").distances
    paths = nearfar.sssp(graph, 0, method="near_far@cuda", distance_bits=bits)
    np.testing.assert_array_equal(paths.distances, want)
    assert paths.stats["form"] == "plain"


@pytest.mark.parametrize(
    ("name", "form"), [("kronecker", "sorted"), ("sparse", "packed"), ("grid", "plain")]
)
def test_the_engine_settles_on_a_form(
    name: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_launch_forms, "_LARGE", 1)
    graph = GRAPHS[name]()
    source = int(np.argmax(graph.degrees))
    want = nearfar.sssp(graph, source, device="cpu").distances
    forms = []
    for _ in range(8):
        paths = nearfar.sssp(graph, source, method="near_far@cuda")
        np.testing.assert_array_equal(paths.distances, want)
        forms.append(paths.stats["form"])
        compiler.finish_background()
    assert forms[0] == {"kronecker": "sifted", "sparse": "packed", "grid": "plain"}[name]
    assert form in forms  # and is abandoned if it is slower on this device
