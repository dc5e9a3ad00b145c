"""The search for the fastest way: solves that were interrupted, or fast by chance."""

from __future__ import annotations

import random

import pytest

from nearfar.graph.compared import Compared

WAYS = range(7)


def near(way: int) -> list[int]:
    return [other for other in (way - 1, way + 1) if other in WAYS]


def settled(fastest: int, interrupted: float, times: float, seed: int) -> tuple[int, Compared[int]]:
    """Return the way after 80 solves, some of which take up to several times as long."""
    rng = random.Random(seed)
    compared: Compared[int] = Compared()
    for _ in range(80):
        way = compared.next_way(3, near)
        seconds = 1 + 0.3 * abs(way - fastest) + 0.02 * rng.random()
        if rng.random() < interrupted:
            seconds *= rng.uniform(1.5, times)
        compared.add(way, seconds)
    return compared.next_way(3, near), compared


@pytest.mark.parametrize("fastest", WAYS)
def test_the_fastest_is_found_and_others_are_tried_once(fastest: int) -> None:
    way, compared = settled(fastest, 0, 1, 1)
    assert way == fastest
    assert all(solves <= 2 for other, (solves, _) in compared.times.items() if other != fastest)


@pytest.mark.parametrize(("interrupted", "times"), [(0.02, 30.0), (0.1, 5.0), (0.1, 2.0)])
def test_interrupted_solves_seldom_lead_elsewhere(interrupted: float, times: float) -> None:
    found = [settled(s % 7, interrupted, times, s)[0] - s % 7 for s in range(140)]
    assert sum(way == 0 for way in found) > 0.85 * len(found)


def test_a_solve_that_was_fast_by_chance_counts_little() -> None:
    compared: Compared[int] = Compared()
    for seconds in (0.5, 1.0, 1.0):
        compared.add(0, seconds)
    assert compared.least() == 1.0


def test_a_machine_that_became_slower_is_noticed() -> None:
    compared: Compared[int] = Compared()
    for seconds in (*[1.0] * 20, *[3.0] * 4):
        compared.add(0, seconds)
    assert compared.least() == 3.0
