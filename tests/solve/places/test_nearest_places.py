"""The nearest places by searches that end early and by a table: the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import nearfar
from nearfar import Graph, OptionError
from nearfar.solve.places import nearest
from nearfar.solve.places.nearest import NearestPlaces

pytestmark = pytest.mark.filterwarnings("ignore:places are snapped")


def both(monkeypatch: pytest.MonkeyPatch, *args: Any, **options: Any) -> NearestPlaces:
    """Return the nearest places after comparing searches, a table and the choice between them."""
    pays = nearest._Searches.pay
    found = []
    for pay in (lambda _: False, lambda _: True, pays):
        monkeypatch.setattr(nearest._Searches, "pay", pay)
        found.append(nearfar.nearest_places(*args, **options))
    for other in found[1:]:
        assert_array_equal(other.destinations, found[0].destinations)
        assert_array_equal(other.distances, found[0].distances)
    return found[0]


def scattered(rng: np.random.Generator, dtype: str, directed: bool) -> Graph:
    """Return a random graph on a square of 1000, not all of it connected."""
    n = int(rng.integers(10, 100))
    m = int(rng.integers(2 * n, 4 * n))
    weights = rng.integers(0, rng.choice([1, 3, 1000]), m, endpoint=True).astype(float)
    if dtype[0] == "f" and rng.random() < 0.7:
        weights = rng.random(m) * rng.choice([1e-3, 1.0, 1e6])
    ends = rng.integers(0, n, (2, m))
    return Graph.from_edges(
        *ends,
        weights.astype(dtype),
        n_vertices=n,
        directed=directed,
        coordinates=rng.random((n, 2)) * 1000,
    )


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("directed", [False, True])
def test_searches_and_a_table_agree(
    dtype: str, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng([directed, *dtype.encode()])
    for _ in range(60):
        g = scattered(rng, dtype, directed)
        a, b = (rng.random((int(rng.integers(1, 40)), 2)) * 1000 for _ in range(2))
        b[-1] = b[0]  # equally near
        options: dict[str, Any] = {
            "k": int(rng.choice([1, 2, 3, 5, 50])),
            "to": rng.choice(["edge", "vertex"]).item(),
            "parts": rng.choice(["largest", "all"]).item(),
            "limit": rng.choice([None, 0, 0.5, 3.0, 50.0, 1e5]),
            "max_distance": rng.choice([200.0, 1e6]),
            "threads": int(rng.integers(1, 3)),
        }
        both(monkeypatch, g, a, b, **options)


def test_prepared_graph_and_many_origins(monkeypatch: pytest.MonkeyPatch) -> None:
    made = nearfar.generate("grid", rows=60, columns=60, seed=2)
    rng = np.random.default_rng(4)
    xy = np.asarray(made.coordinates)
    a, b = (xy[rng.integers(0, len(xy), count)] + rng.random((count, 2)) for count in (700, 90))
    for g in (made, nearfar.prepare(made)):
        near = both(monkeypatch, g, a, b, 4, threads=2)
        assert (near.destinations >= 0).all()
    told: list[tuple[float, float]] = []
    nearfar.nearest_places(made, a, b, 4, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (700, 700)
    assert told == sorted(told)


def test_a_sum_that_leaves_the_dtype_is_left_to_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    far = 2**30
    g = Graph.from_edges(
        [0, 1, 2],
        [1, 2, 3],
        np.full(3, far, np.int32),
        directed=False,
        coordinates=[[float(x), 0.0] for x in range(4)],
    )
    near = both(monkeypatch, g, [(0.0, 0.0)], [(3.0, 0.0), (1.0, 0.0)], 2, to="vertex")
    assert near.distances.tolist() == [[float(far), 3.0 * far]]


def test_wrong_options() -> None:
    g = Graph.from_edges([0], [1], [1], directed=False, coordinates=[[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(OptionError, match="k is 0"):
        nearfar.nearest_places(g, [(0.0, 0.0)], [(1.0, 0.0)], 0)
    with pytest.raises(OptionError, match="device is 'tpu'"):
        nearfar.nearest_places(g, [(0.0, 0.0)], [(1.0, 0.0)], device="tpu")  # type: ignore[call-overload]


@pytest.mark.parametrize("edges", [[], [(0, 1), (1, 2)]])
def test_graphs_without_weights_or_edges(
    edges: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = np.array(edges, np.int64).reshape(-1, 2).T
    xy = [[float(x), 0.0] for x in range(3)]
    g = Graph.from_edges(*ends, n_vertices=3, directed=False, coordinates=xy)
    near = both(monkeypatch, g, xy[:1], xy[::2], 2, to="vertex", parts="all")
    assert near.destinations.tolist() == [[0, 1 if edges else -1]]
