"""Sums at the limit of a dtype: 64 bits if they suffice, else an error, in every query."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import DistanceOverflowError, Graph, Prepared
from tests.prepared.test_queries import ready

FORMS = ("fixed", "search")
ROWS = {"method": "elimination_tree_rows@cpu"}


def path_of(weights: Any, dtype: Any) -> Graph:
    count = len(weights)
    return Graph.from_edges(range(count), range(1, count + 1), np.array(weights, dtype))


def ways(prepared: Prepared, source: int, target: int, sums: Any) -> list[Callable[[], Any]]:
    """Return every form of query of a distance."""
    form = {"sums": sums}
    pair = [(source, target)]
    return [
        lambda: prepared.distance(source, target, **form),
        lambda: prepared.distances_of_pairs(pair, **form)[0],
        lambda: prepared.label().distances_of_pairs(pair, **form)[0],
        lambda: prepared.summing(sums).path(source, target)[1],
        lambda: nearfar.distances(prepared, pairs=pair)[0],
        lambda: nearfar.distances(prepared, [source], **ROWS, **form)[0, target],
        lambda: nearfar.distances(prepared, [source], targets=[target], **ROWS, **form)[0, 0],
        lambda: nearfar.sssp(prepared, source, method="elimination_tree", **form).distances[target],
    ]


def same_in_every_state(prepared: Prepared, folder: Path) -> list[Prepared]:
    """Compare prepared graphs made anew, updated, reweighted, saved and loaded."""
    first, weights = prepared.effective_weights[:1], prepared.effective_weights
    prepared.save(folder / "a.nfp")
    there_and_back = prepared.update([0], first / 2).update([0], first)
    return [prepared, there_and_back, prepared.reweight(weights), nearfar.load(folder / "a.nfp")]


@pytest.mark.parametrize("sums", FORMS)
def test_float32_sums_come_back_in_float64(sums: Any, tmp_path: Path) -> None:
    want = 2 * float(np.float32(3e38))
    for prepared in same_in_every_state(ready(path_of([3e38, 3e38], np.float32)), tmp_path):
        for ask in ways(prepared, 0, 2, sums):
            assert ask() == want
        assert prepared.distance(0, 1, sums=sums) == float(np.float32(3e38))
        assert prepared.distance(2, 0, sums=sums) == np.inf


@pytest.mark.parametrize("sums", FORMS)
def test_float64_sums_beyond_the_range_are_an_error(sums: Any, tmp_path: Path) -> None:
    for prepared in same_in_every_state(ready(path_of([1e308, 1e308], np.float64)), tmp_path):
        for ask in ways(prepared, 0, 2, sums):
            with pytest.raises(DistanceOverflowError):
                ask()
        assert prepared.distance(0, 1, sums=sums) == 1e308
        assert prepared.distance(2, 0, sums=sums) == np.inf


def test_weights_that_vanish_beside_the_heaviest(tmp_path: Path) -> None:
    prepared = ready(path_of([1e-155, 1e194], np.float64))
    for same in same_in_every_state(prepared, tmp_path):
        assert [ask() for ask in ways(same, 0, 1, "fixed")] == [1e-155] * 8
    small = ready(path_of([1e190, 1e194], np.float64)).update([0], [1e-155])
    assert small.distance(0, 1) == 1e-155
    there_and_back = Graph.from_edges([0, 1, 1], [1, 0, 2], [1e-155, 1e-155, 1e194])
    assert nearfar.measures.path_counts(there_and_back, 0).values().tolist() == [1, 1, 1]


def test_negative_sums_below_32_bits() -> None:
    most = 2**31 - 1
    prepared = ready(path_of([-most, -most, -5], np.int32))
    for ask in ways(prepared, 0, 3, "fixed"):
        assert ask() == -2 * most - 5
    assert prepared.distances_of_pairs([(0, 1), (1, 0)]).dtype == np.int32
    assert prepared.distance(0, 1) == -most


@pytest.mark.parametrize(
    "weights", [[-(2**61), -(2**61), 5], [2**62, 2**61, -5], [-(2**62), -(2**61), -5]]
)
def test_negative_integers_in_all_of_64_bits(weights: list[int], tmp_path: Path) -> None:
    prepared = ready(path_of(weights, np.int64))
    assert prepared.describe_preparation()["sums"] == "search"
    prepared.save(tmp_path / "a.nfp")
    for one in (prepared, prepared.update([1], [weights[1]]), nearfar.load(tmp_path / "a.nfp")):
        for ask in ways(one, 0, 3, "fixed")[:5]:
            assert ask() == sum(weights)
        assert nearfar.distances(one, [0])[0].tolist() == [0, *np.cumsum(weights).tolist()]
        assert one.distance(3, 0) == float("inf")
        assert one.path_edges(0, 3).tolist() == [0, 1, 2]


def test_negative_integers_beyond_64_bits_are_an_error() -> None:
    for weights in ([-(2**62), -(2**62), -5], [2**62, 2**62, -5]):
        prepared = ready(path_of(weights, np.int64))
        for ask in ways(prepared, 0, 3, "fixed")[:5]:
            with pytest.raises(DistanceOverflowError):
                ask()


def test_negative_floats_below_the_range_are_an_error() -> None:
    prepared = ready(path_of([-1.7e308, -9e307], np.float64))
    for ask in ways(prepared, 0, 2, "fixed")[:5]:
        with pytest.raises(DistanceOverflowError):
            ask()
    narrow = ready(path_of([-3e38, -3e38], np.float32))
    for ask in ways(narrow, 0, 2, "fixed")[:5]:
        assert ask() == -2 * float(np.float32(3e38))


def test_the_ends_of_the_range_side_by_side() -> None:
    """A heavy edge that no shortest path takes, and the smallest numbers of the dtype."""
    tails, heads = [0, 0, 1, 1, 0], [1, 1, 2, 1, 2]
    for tiny in (5e-324, 2.0**-1023, 1e-300):
        graph = Graph.from_edges(tails, heads, np.array([1e308, tiny, 2 * tiny, 1.5, 1.0]))
        prepared = ready(graph)
        assert prepared.distance(0, 1) == tiny
        assert prepared.distance(0, 2) == tiny + 2 * tiny
        assert prepared.path_edges(0, 2).tolist() == [1, 3] or prepared.adds_floats


def test_a_path_that_does_not_fit_is_not_unreached() -> None:
    prepared = ready(path_of([2**62] * 3, np.int64))
    with pytest.raises(DistanceOverflowError):
        prepared.path(0, 3)
    with pytest.raises(DistanceOverflowError):
        prepared.paths_of_pairs([(0, 1), (0, 3)])


def test_a_way_back_into_the_range_over_a_distance_beyond_it() -> None:
    """Regression: pairs missed the lighter path over 4, whose distance is out of range."""
    tails, heads = [1, 3, 4, 1], [3, 4, 6, 6]
    weights = np.array([2**62 - 1, 2**63 - 2, -(2**63) + 1, 2**62 - 1])
    graph = nearfar.Graph.from_edges(tails, heads, weights, n_vertices=7)
    ready = nearfar.prepare(graph, force=True)
    assert ready.distance(3, 6) == -1
    assert nearfar.distances(ready, pairs=[[3, 6], [4, 6]]).tolist() == [-1, -(2**63) + 1]
    for ask in (
        lambda: ready.distance(1, 6),
        lambda: ready.path(1, 6),
        lambda: ready.distances_of_pairs([[1, 6]]),
        lambda: nearfar.distances(ready, pairs=[[1, 6]]),
        lambda: nearfar.distances(ready, [1]),
        lambda: nearfar.sssp(graph, 1),
    ):
        with pytest.raises(DistanceOverflowError):
            ask()
