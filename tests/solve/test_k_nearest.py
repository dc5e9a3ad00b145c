"""The k nearest of several sources, in every form, compared with a row per source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearfar
from nearfar import Graph, OptionError
from nearfar.graph.dtypes import unreached_value
from tests.prepared.test_queries import mesh, ready
from tests.program import run, succeed
from tests.strategies import graphs


def by_hand(graph: Graph, sources: list[int], k: int, limit: Any = None) -> tuple[Any, Any]:
    """Return lists of (distance, source) by sorting a row per source."""
    rows = nearfar.distances(graph, sources, limit=limit, threads=1)
    none = unreached_value(rows.dtype)
    distances, places = [], []
    for v in range(graph.n_vertices):
        near = {(row[v].item(), s) for row, s in zip(rows, sources, strict=True) if row[v] != none}
        best = sorted(near)[:k]
        distances.append([d for d, _ in best])
        places.append([s for _, s in best])
    return distances, places


def lists(found: nearfar.solve.Nearest) -> tuple[Any, Any]:
    """Return the same lists from an answer; padding follows the entries."""
    none = unreached_value(found.distances.dtype)
    distances, places = [], []
    for near, at in zip(found.distances, found.sources, strict=True):
        count = int(np.count_nonzero(at >= 0))
        assert (near[count:] == none).all()
        assert (at[count:] == -1).all()
        assert (near[:count] != none).all()
        distances.append(near[:count].tolist())
        places.append(at[:count].tolist())
    return distances, places


@given(graphs(max_vertices=20), st.integers(1, 5), st.data())
def test_every_form(graph: Graph, k: int, data: st.DataObject) -> None:
    n = graph.n_vertices
    sources = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=8))
    limit = data.draw(st.sampled_from([None, 0, 7, 40]))
    want = by_hand(graph, sources, k, limit)
    prepared = ready(graph)
    fixed, rounded = prepared.fixed, False
    if fixed is not None:  # sums are rounded once, and those of a search at every edge
        rounded = not fixed.exact or fixed.bound > 2 ** (np.finfo(graph.weight_dtype).nmant + 1)
    for served in (graph, prepared):
        for method in ("auto", "worker_per_source"):
            found = nearfar.nearest(served, sources, k=k, limit=limit, method=method)
            assert found.distances.shape == (n, k)
            if graph.weight_dtype.kind == "i":
                assert lists(found) == want
                assert found.distances.dtype == graph.weight_dtype or found.distances.max() > 2**31
            elif served is prepared and rounded:
                if limit is None:  # with a limit, a distance may round to either side of it
                    for near, exact in zip(lists(found)[0], want[0], strict=True):
                        assert near == pytest.approx(exact, rel=1e-5)
            else:  # rounding may exchange two of equal distance
                assert lists(found)[0] == want[0]


def test_on_a_mesh_prepared_and_plain_agree() -> None:
    graph = mesh(40)
    prepared = nearfar.prepare(graph)
    sources = np.random.default_rng(0).integers(0, graph.n_vertices, 200)
    stats: dict[str, Any] = {}
    plain = nearfar.nearest(graph, sources, k=6, stats=stats)
    assert stats["reason"] == "one search that settles a vertex 6 times"
    nearfar.nearest(graph, sources, k=1, stats=stats)
    assert stats["reason"] == "one search that settles a vertex once"
    found = nearfar.nearest(prepared, sources, k=6, stats=stats)
    assert "elimination tree" in stats["reason"]
    assert stats["seconds"] > 0
    np.testing.assert_array_equal(found.distances, plain.distances)
    np.testing.assert_array_equal(found.sources, plain.sources)
    one = nearfar.nearest(prepared, sources)
    np.testing.assert_array_equal(one.distances, found.distances[:, 0])


def test_sums_beyond_32_and_64_bits() -> None:
    n = 5
    for weight in (2**30, 2**61):
        dtype = np.int32 if weight < 2**31 else np.int64
        chain = Graph.from_edges(np.arange(n - 1), np.arange(1, n), np.full(n - 1, weight, dtype))
        want = [[0], [weight], [2 * weight], [3 * weight]]
        for graph in (chain, ready(chain)):
            if dtype == np.int32:
                found = nearfar.nearest(graph, [0], k=1)
                assert found.distances.tolist() == [*want, [4 * weight]]
            else:
                with pytest.raises(nearfar.DistanceOverflowError):
                    nearfar.nearest(graph, [0], k=1)
                near = nearfar.nearest(graph, [0], k=1, limit=3 * weight)
                assert near.distances.tolist() == [*want, [2**63 - 1]]


def test_negative_weights_names_and_what_does_not_go_together() -> None:
    graph = Graph.from_edges(
        [0, 1, 3], [1, 2, 2], [4, -3, 5], vertex_names=list("abcd"), names=False
    )
    for served in (graph, ready(graph)):
        found = nearfar.nearest(served, ["d", "a", "d"], k=2)
        assert found.sources.tolist() == [["a", None], ["a", None], ["a", "d"], ["d", None]]
        assert found.distances[2].tolist() == [1, 5]
    for wrong in (0, -1, 1.5, True, "3"):
        with pytest.raises(OptionError, match="give an integer of at least 1"):
            nearfar.nearest(graph, ["a"], k=wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="predecessors cannot be combined with k"):
        nearfar.nearest(graph, ["a"], k=1, predecessors=True)
    with pytest.raises(nearfar.OutOfMemoryError, match="use a smaller k"):
        nearfar.nearest(mesh(10), [1], k=2**44)


def test_the_command(tmp_path: Path) -> None:
    nearfar.write(mesh(8), tmp_path / "mesh.gr")
    succeed("prepare", str(tmp_path / "mesh.gr"), "-o", str(tmp_path / "mesh.nfp"))
    told = []
    for name in ("mesh.gr", "mesh.nfp"):
        words = ["nearest", str(tmp_path / name), "--source", "1", "64", "9", "-k", "2"]
        told.append(json.loads(succeed(*words, "--json")))
    assert told[0]["sources"] == told[1]["sources"]
    assert told[0]["distances"] == told[1]["distances"]
    assert told[0]["vertices"] == list(range(1, 65))
    assert told[0]["sources"][0][0] == 1
    text = succeed(
        *words[:1], str(tmp_path / "mesh.gr"), "--source", "1", "-k", "2", "--vertex", "1"
    )
    assert text == "1\t1\t0\t-\tinf\n"
    text = succeed("nearest", str(tmp_path / "mesh.gr"), "--source", "1", "--limit", "0", "--json")
    assert json.loads(text)["sources"][1] == [None]
    done = run("nearest", str(tmp_path / "mesh.gr"), "--source", "1", "-k", "0")
    assert done.returncode == 2
    assert "integer of at least 1" in done.stderr
