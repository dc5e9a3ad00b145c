"""Negative weights from practice, and comparisons of all families on random graphs.

Project scheduling with minimum and maximum time lags (RCPSP/max, ProGen/max files): ``start[j] -
start[i] >= lag`` is an edge of weight ``-lag``; the earliest starts are longest paths, and a
deadline that is too tight closes a negative cycle.
"""

from __future__ import annotations

import lzma
import tarfile

import numpy as np
import pytest

import nearfar
from nearfar.cpu.potentials import cycle_total, potentials
from nearfar.errors import NegativeCycleError
from nearfar.graph.graph import Graph
from nearfar.solve.many import all_pairs
from nearfar.solve.negative_cycles import find_negative_cycle
from tests.algorithms.test_bellman_ford import FORMS
from tests.algorithms.test_floyd_warshall import DTYPES, random_graph
from tests.datafiles import data_path


def lags(text):
    """Return arrays (first, second, lag) of a ProGen/max file: id, modes, k, successors, lags."""
    lines = [line.split() for line in text.splitlines()]
    jobs = int(lines[0][0]) + 2
    arcs = []
    for fields in lines[1 : jobs + 1]:
        job, count = int(fields[0]), int(fields[2])
        successors, values = fields[3 : 3 + count], fields[3 + count :]
        assert len(successors) == len(values) == count
        arcs += [
            (job, int(to), int(lag.strip("[]"))) for to, lag in zip(successors, values, strict=True)
        ]
    return jobs, np.array(arcs)


def projects(name, count):
    with (
        lzma.open(data_path(f"negative-rcpspmax/{name}.tar.xz")) as packed,
        tarfile.open(fileobj=packed) as archive,
    ):
        members = sorted((m for m in archive if m.isfile()), key=lambda m: m.name)
        assert len(members) == 90
        for member in members[:: 90 // count]:
            yield lags(archive.extractfile(member).read().decode())


def earliest_starts(jobs, arcs):
    """Return longest paths from job 0 by plain rounds."""
    start = np.full(jobs, -(10**9))
    start[0] = 0
    for _ in range(jobs + 1):
        better = start.copy()
        np.maximum.at(better, arcs[:, 1], start[arcs[:, 0]] + arcs[:, 2])
        if (better == start).all():
            return start
        start = better
    raise AssertionError("a positive cycle of lags")


@pytest.mark.data
@pytest.mark.parametrize(("name", "count"), [("ubo100", 90), ("ubo200", 15)])
def test_schedules_with_time_lags(name, count):
    seen = 0
    for jobs, arcs in projects(name, count):
        seen += 1
        start = earliest_starts(jobs, arcs)
        tails, heads, lag = arcs.T
        graph = Graph.from_edges(tails, heads, (-lag).astype(np.int32), n_vertices=jobs)
        assert graph.n_negative
        assert find_negative_cycle(graph) is None
        for form in FORMS:
            found = nearfar.sssp(graph, 0, method=f"{form}@cpu").distances
            np.testing.assert_array_equal(-found, start)
        # Potentials also satisfy every constraint: x[j] - x[i] <= weight.
        x = potentials(graph).astype(np.int64)
        assert (x[heads] - x[tails] <= -lag).all()
        # The last job may start at its earliest time, and not one unit before.
        last = jobs - 1
        assert start[last] > 0
        for deadline in (start[last], start[last] - 1):
            weights = np.append(-lag, deadline).astype(np.int32)
            bound = Graph.from_edges(np.append(tails, last), np.append(heads, 0), weights)
            if deadline == start[last]:
                assert find_negative_cycle(bound) is None
                continue
            found = find_negative_cycle(bound)
            assert found.total == cycle_total(bound, found.vertices) < 0
            assert {0, last} <= set(found.vertices)
            for form in FORMS:
                with pytest.raises(NegativeCycleError) as caught:
                    nearfar.sssp(bound, 0, method=f"{form}@cpu")
                assert cycle_total(bound, caught.value.cycle) == caught.value.total < 0
                assert {0, last} <= set(caught.value.cycle)
    assert seen == count


@pytest.mark.data
def test_all_pairs_of_schedules():
    """For lags between any two jobs, Johnson and Floyd-Warshall agree with a search per job."""
    jobs, arcs = next(projects("ubo100", 1))
    tails, heads, lag = arcs.T
    graph = Graph.from_edges(tails, heads, (-lag).astype(np.int64), n_vertices=jobs)
    rows = [nearfar.sssp(graph, s, method="tarjan_subtree@cpu").distances for s in range(jobs)]
    for method in ("johnson", "floyd_warshall"):
        found = all_pairs(graph, method=method, device="cpu")
        np.testing.assert_array_equal(found, np.array(rows))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("negative", [False, True])
def test_every_family_gives_the_same_bits(dtype, negative):
    """Johnson, Bellman-Ford and Floyd-Warshall agree, as does Dijkstra without negative weights."""
    rng = np.random.default_rng(17)
    for _ in range(12):
        n = int(rng.integers(1, 70))
        graph = random_graph(rng, n, int(rng.integers(1, 6 * n + 2)), dtype, negative)
        methods = ["johnson", "floyd_warshall", *FORMS]
        if graph.n_negative == 0:
            methods += ["dijkstra_binary_heap", "lanes"]
        rows = [all_pairs(graph, method=method, device="cpu") for method in methods]
        for method, found in zip(methods, rows, strict=True):
            np.testing.assert_array_equal(found, rows[0], err_msg=method)
