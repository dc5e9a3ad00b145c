"""Main memory: what a run can get, and answers that keep theirs."""

from __future__ import annotations

import numpy as np

import nearfar
from nearfar.generators import generate
from nearfar.system.memory import free_memory


def test_free_memory_is_a_number_of_bytes() -> None:
    assert 1 << 20 < free_memory() < 1 << 50


def test_a_large_answer_is_kept_after_the_next_solve() -> None:
    graph = generate("uniform_random", vertices=600_000, degree=3)
    paths = [nearfar.sssp(graph, source) for source in (0, 1, 0)]
    assert np.array_equal(paths[0].distances, paths[2].distances)
    nearfar.verify(graph, paths[1])
