"""User equilibrium of traffic: known flows, closed forms, refused arguments."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.cli.main import main
from nearfar.errors import GraphError, OptionError
from nearfar.formats import Traffic, read_flows, read_traffic
from nearfar.measures import Bpr, LinkCosts, UserClass, assign, edge_loads
from tests.datafiles import data_path

CHICAGO = {"length_factor": 0.04, "toll_factor": 0.02}


def read_town(name: str) -> Traffic:
    return read_traffic(*(data_path(f"tntp/{name}_{kind}.tntp.xz") for kind in ("net", "trips")))


def two_roads() -> nearfar.Graph:
    return nearfar.Graph.from_edges([0, 0], [1, 1], [1.0, 1.0])


def braess() -> tuple[nearfar.Graph, Any]:
    """Return Braess' network, in its order of edges, with the costs of 1968."""
    graph = nearfar.Graph.from_edges([0, 0, 1, 1, 2], [1, 2, 2, 3, 3], np.ones(5))
    fixed, per_unit = np.array([0.0, 50, 10, 50, 0]), np.array([10.0, 1, 1, 1, 10])
    return graph, lambda flow: fixed + per_unit * flow


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "factors", "most"),
    [("SiouxFalls", {}, 250), ("Anaheim", {}, 40), ("ChicagoSketch", CHICAGO, 160)],
)
def test_known_flows_are_found(name: str, factors: dict[str, float], most: int) -> None:
    town = read_town(name)
    found = assign(town, gap=1e-5, **factors)
    assert found.converged
    assert found.gap <= 1e-5
    assert len(found.history) <= most
    known, _ = read_flows(data_path(f"tntp/{name}_flow.tntp.xz"), town.graph)
    assert np.abs(found.flows - known).sum() / known.sum() < 4e-3
    # The gap, recomputed from edge_loads.
    fixed = sum(factor * town.links[key.removesuffix("_factor")] for key, factor in factors.items())
    costs = found.times + fixed
    best = edge_loads(town.searched.with_weights(costs), town.demand, zones=town.zones)
    spent = (found.flows * costs).sum()
    assert 1 - best.total_length / spent == pytest.approx(found.gap, abs=1e-12)


@pytest.mark.data
def test_published_flows_of_chicago_have_no_gap_with_its_factors() -> None:
    town = read_town("ChicagoSketch")
    known, _ = read_flows(data_path("tntp/ChicagoSketch_flow.tntp.xz"), town.graph)
    assert abs(assign(town, start=known, iterations=0, **CHICAGO).gap) < 1e-13
    assert assign(town, start=known, iterations=0).gap == pytest.approx(1.87e-4, rel=0.01)


@pytest.mark.data
def test_bits_do_not_depend_on_threads() -> None:
    town = read_town("Anaheim")
    one, two = (assign(town, gap=0, iterations=12, threads=t) for t in (1, 3))
    assert one.flows.tobytes() == two.flows.tobytes()
    assert [s.gap for s in one.history] == [s.gap for s in two.history]


@pytest.mark.data
def test_warm_start_goes_on_and_must_carry_the_demand() -> None:
    town = read_town("Anaheim")
    rough = assign(town, gap=1e-4)
    fine = assign(town, gap=1e-6, start=rough)
    assert fine.history[0].gap == rough.gap
    assert fine.converged
    with pytest.raises(OptionError, match="does not carry the demand of class 'all': at vertex"):
        assign(town, town.demand * 2, start=rough)
    with pytest.raises(OptionError, match="does not carry the demand"):
        assign(town, start=np.zeros(town.graph.n_edges))


def test_braess() -> None:
    graph, times = braess()
    found = assign(graph, [(0, 3, 6.0)], times, gap=1e-12)
    np.testing.assert_allclose(found.flows, [4, 2, 2, 2, 4], rtol=1e-6)
    assert found.history[-1].total_cost == pytest.approx(6 * 92)


def test_slopes_given_and_by_difference_agree() -> None:
    graph, times = braess()
    slopes = LinkCosts(times, lambda flow: np.array([10.0, 1, 1, 1, 10]))
    both = [assign(graph, [(0, 3, 6.0)], c, gap=1e-10).flows for c in (times, slopes)]
    np.testing.assert_allclose(*both, rtol=1e-5)


def test_power_zero_without_flow_neither_warns_nor_spoils_directions() -> None:
    costs = Bpr([10.0, 10.0, 10.0], 100.0, 0.15, [0.0, 1.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(costs.times(np.zeros(3)), [11.5, 10, 10])
        np.testing.assert_allclose(costs.slopes(np.zeros(3)), [0, 0.015, 0])
        np.testing.assert_allclose(costs.slopes(np.full(3, 100.0)), [0, 0.015, 0.06])
        half = Bpr(np.ones(2), 1.0, 1.0, [0.5, 0.0])
        assert np.isfinite(half.slopes(np.zeros(2))).all()


@pytest.mark.data
def test_links_of_power_zero_leave_the_directions_conjugate() -> None:
    """Regression: an unused link of power 0 made 275 iterations 1,208."""
    town = read_town("Anaheim")
    m = town.graph.n_edges
    power = town.links["power"].copy()
    power[found_unused(town)] = 0
    costs = Bpr(*(town.links[k] for k in ("free_flow_time", "capacity", "b")), power)
    assert len(power) == m
    found = assign(town, costs=costs, gap=1e-5)
    assert found.converged
    assert len(found.history) < 40


def found_unused(town: Traffic) -> Any:
    return np.flatnonzero(assign(town, gap=1e-4).flows == 0)


def test_classes_share_links_and_have_costs_of_their_own() -> None:
    # Road 1 costs trucks 10 more, so all trucks take road 0; cars fill up both.
    costs = Bpr([10.0, 10.0], [10.0, 10.0], 1.0, 1.0)
    demand = {
        "cars": [(0, 1, 20.0)],
        "trucks": UserClass([(0, 1, 3.0)], fixed=[0.0, 10.0], equivalents=2.0),
    }
    found = assign(two_roads(), demand, costs, gap=1e-10)
    np.testing.assert_allclose(found.class_flows["trucks"], [3, 0], atol=1e-6)
    np.testing.assert_allclose(found.class_flows["cars"], [7, 13], rtol=1e-6)
    np.testing.assert_allclose(found.flows, [13, 13], rtol=1e-6)
    again = assign(two_roads(), demand, costs, start=found, iterations=0)
    assert again.gap == found.gap


def test_demand_without_a_path_is_told() -> None:
    graph = nearfar.Graph.from_edges([0], [1], [1.0], n_vertices=3)
    found = assign(graph, [(0, 1, 2.0), (0, 2, 5.0), (1, 1, 4.0)], Bpr(1.0, 1.0))
    assert found.unreached == {"all": 5.0}
    assert found.flows.tolist() == [2.0]


def test_no_demand_and_no_time_have_no_gap() -> None:
    assert assign(two_roads(), np.zeros((0, 3)), Bpr([1.0, 1.0], 1.0)).gap == 0
    assert assign(two_roads(), [(0, 1, 1)], Bpr([0.0, 0.0], 1.0)).converged


def test_progress_ends_at_one() -> None:
    seen: list[tuple[float, float]] = []
    assign(*braess_trip(), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] == 1.0


def braess_trip() -> tuple[Any, Any, Any]:
    graph, times = braess()
    return graph, [(0, 3, 6.0)], times


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gap": -1}, "gap is -1"),
        ({"gap": float("nan")}, "gap is nan"),
        ({"iterations": 1.5}, "iterations is 1.5"),
        ({"costs": None}, "costs is missing"),
        ({"demand": None}, "demand is missing"),
        ({"demand": {}}, "no user class"),
        ({"costs": 3}, "costs is 3: give Bpr"),
        ({"costs": Bpr([1.0] * 3, 1.0)}, "costs are of 3 edges: the graph has 2"),
        ({"costs": lambda flow: flow[:1]}, r"the time of a link has shape \(1,\)"),
        ({"costs": lambda flow: flow - 1}, "the time of a link is -1.0 at edge 0"),
        ({"fixed": [1.0, -1.0]}, "fixed is -1.0 at edge 1"),
        ({"toll_factor": 1.0}, "toll_factor is for graphs from read_traffic"),
        ({"demand": {"t": UserClass([(0, 1, 2)], equivalents=0)}}, "equivalents of class 't' is 0"),
        ({"start": {"cars": [0.0, 0.0]}}, "start has flows of"),
        ({"start": [1.0]}, r"start has shape \(1,\)"),
    ],
)
def test_refused(change: dict[str, Any], says: str) -> None:
    given: dict[str, Any] = {"demand": [(0, 1, 20.0)], "costs": Bpr([10.0, 10.0], 10.0)} | change
    with pytest.raises(OptionError, match=says):
        assign(two_roads(), **given)


def test_refused_costs() -> None:
    with pytest.raises(OptionError, match="the time of edge 0 falls as its flow grows"):
        LinkCosts(lambda flow: 50.0 - flow).slopes(np.ones(2))
    with pytest.raises(OptionError, match="capacity is 0 at edge 1"):
        Bpr([1.0, 1.0], [1.0, 0.0])
    with pytest.raises(OptionError, match=r"power is -1\.0 at edge 0"):
        Bpr([1.0], 1.0, power=-1.0)
    undirected = nearfar.Graph.from_edges([0], [1], [1.0], directed=False)
    with pytest.raises(GraphError, match="undirected"):
        assign(undirected, [(0, 1, 1)], Bpr(1.0, 1.0))


@pytest.mark.data
def test_command(capsys: Any, tmp_path: Any) -> None:
    files = [str(data_path(f"tntp/Anaheim_{kind}.tntp.xz")) for kind in ("net", "trips", "flow")]
    assert main(["assign", *files[:2], "--gap", "1e-4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["converged"]
    town = read_town("Anaheim")
    np.testing.assert_array_equal(told["flows"], assign(town, gap=1e-4).flows)
    call = ["assign", *files[:2], "--start", files[2], "--iterations", "0"]
    assert main([*call, "--top", "2"]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2
    assert "after 0 iterations" in err
    table = tmp_path / "demand.csv"
    trips = town.demand
    rows = zip(trips.row + 1, trips.col + 1, trips.data, strict=True)
    table.write_text(
        "source,target,demand\n"
        + "".join(
            f"{s},{t},{a!r}\n" for s, t, a in ((int(s), int(t), float(a)) for s, t, a in rows)
        )
    )
    assert main(["assign", files[0], str(table), "--gap", "1e-4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["flows"] == told["flows"]
    assert main([*call, "--history", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("0\t")
