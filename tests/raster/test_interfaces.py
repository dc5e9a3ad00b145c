"""Interfaces of scikit-image, xarray-spatial and dijkstra3d, compared if installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar import errors
from nearfar.raster import Raster, Surface, cost_distance, interfaces
from tests.raster.landscapes import noise

COST = np.array([[1, 2, 9.0], [4, 5, -6], [7, 8, 9]])


def test_mcp_sums_cells() -> None:
    finder = interfaces.MCP(COST)
    costs, back = finder.find_costs([(0, 0)])
    want = [[1, 3, 12], [5, 6, np.inf], [12, 13, 15]]
    assert costs.tolist() == want
    assert back[0, 0] == -1
    assert back[1, 2] == -2
    cell = np.array([2, 2])
    while back[tuple(cell)] >= 0:
        cell = cell - finder.offsets[back[tuple(cell)]]
    assert cell.tolist() == [0, 0]
    assert finder.traceback((2, 2)) == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(ValueError, match="not reached"):
        finder.traceback((1, 2))


def test_mcp_geometric_and_routes() -> None:
    costs, _ = interfaces.MCP_Geometric(COST).find_costs([(0, 0)])
    np.testing.assert_allclose(costs[2], [8, 10.742640687119286, 14.142135623730951])
    assert interfaces.route_through_array(COST, (0, 0), (-1, -1), geometric=False) == (
        [(0, 0), (1, 1), (2, 2)],
        15,
    )
    path, cost = interfaces.route_through_array(COST, (0, 0), (2, 2), fully_connected=False)
    assert cost == 20
    assert len(path) == 5


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("shape", [(60, 70), (14, 15, 16), (1, 20, 30)])
def test_scikit_image_has_the_same_bits(shape: tuple[int, ...], full: bool) -> None:
    graph = pytest.importorskip("skimage.graph")
    cost = noise(shape, np.float64)
    cost[np.isnan(cost)] = -1
    start = tuple(n // 2 for n in shape)
    sampling = tuple(1.0 + i for i in range(len(shape)))
    for name in ("MCP", "MCP_Geometric"):
        theirs, ours = (
            getattr(module, name)(cost, fully_connected=full, sampling=sampling)
            for module in (graph, interfaces)
        )
        want, _ = theirs.find_costs([start])
        got, _ = ours.find_costs([start])
        np.testing.assert_array_equal(got, want)


def test_dijkstra3d_has_the_same_numbers() -> None:
    theirs = pytest.importorskip("dijkstra3d")
    rng = np.random.default_rng(0)
    cost = rng.integers(1, 256, (20, 24, 18)).astype(np.float32)
    for connectivity in (6, 18, 26):
        want = theirs.distance_field(cost, (3, 4, 5), connectivity=connectivity)
        got = interfaces.distance_field(cost, (3, 4, 5), connectivity=connectivity)
        np.testing.assert_array_equal(got, want)
        parents = interfaces.parental_field(cost, (3, 4, 5), connectivity)
        for path in (
            theirs.path_from_parents(parents, (19, 0, 17)),
            interfaces.path_from_parents(parents, (19, 0, 17)),
            interfaces.dijkstra(cost, (3, 4, 5), (19, 0, 17), connectivity=connectivity),
        ):
            cells = tuple(np.asarray(path).T)
            assert cost[cells][1:].sum() == want[19, 0, 17]
    got, place = interfaces.distance_field(cost, (3, 4, 5), return_max_location=True)
    assert got[place] == got.max()


def test_xarray_spatial_gives_a_labelled_surface() -> None:
    xarray = pytest.importorskip("xarray")
    marks = xarray.DataArray(
        np.array([[1, 0, 0], [0, 0, 0], [0, 0, 2.0]]),
        dims=("y", "x"),
        coords={"y": [0.0, 2, 4], "x": [0.0, 3, 6]},
        attrs={"crs": "EPSG:25832"},
    )
    friction = marks.copy(data=np.array([[1, 2, 3], [4, np.nan, 6], [0, 8, 9.0]]))
    got = interfaces.cost_distance(marks, friction)
    want = [[0, 4.5, 12], [5, np.nan, 15], [np.nan, 25.5, 0]]
    np.testing.assert_array_equal(got.values, np.array(want, dtype=np.float32))
    assert got.dtype == np.float32
    assert got.attrs == marks.attrs
    assert got.x.values.tolist() == [0, 3, 6]
    one = interfaces.cost_distance(marks, friction, target_values=[2], max_cost=40, connectivity=4)
    assert one.values[0].tolist() == [36, 31.5, 24]
    turned = interfaces.cost_distance(marks, friction.transpose("x", "y"))
    np.testing.assert_array_equal(turned.values, got.values)
    filled = interfaces.cost_distance(marks.assign_attrs(_FillValue=2), friction)
    np.testing.assert_array_equal(filled.values, got.values)
    with pytest.raises(errors.OptionError, match="dimensions y, x"):
        interfaces.cost_distance(marks.values, friction.values)
    none = interfaces.cost_distance(marks * 0, friction)
    assert np.isnan(none.values).all()


def test_data_arrays_give_the_cell_size_and_keep_their_coordinates() -> None:
    xarray = pytest.importorskip("xarray")
    cost = xarray.DataArray(
        np.ones((4, 5)), dims=("lat", "lon"), coords={"lat": [80.0, 60, 40, 20], "lon": range(5)}
    )
    raster = Raster(cost)
    assert raster.cell_size == (20, 1)
    surface = cost_distance(raster, (0, 0))
    assert surface.distances[1, 0] == 20
    labelled = surface.to_xarray()
    assert labelled.sel(lat=60, lon=0) == 20
    stored = cost.assign_attrs(_FillValue=-9, scale_factor=2.0, crs="EPSG:4326")
    stored.encoding = {"dtype": "uint8", "_FillValue": 255, "grid_mapping": "spatial_ref"}
    written = cost_distance(stored, (0, 0)).to_xarray()
    assert written.attrs == {"crs": "EPSG:4326"}
    assert written.encoding == {"grid_mapping": "spatial_ref"}
    assert raster.cells_at([(3.2, 61)]).tolist() == [[1, 3]]
    assert raster.points_of([(1, 3)]).tolist() == [[3, 60]]
    with pytest.raises(errors.VertexError, match="outside"):
        raster.cells_at([(9, 61)])
    with pytest.raises(errors.GraphError, match="DataArray"):
        cost_distance(np.ones((2, 2)), (0, 0)).to_xarray()
    for point in ((np.nan, 61), (1e300, 61)):
        with pytest.raises(errors.VertexError, match="outside"):
            raster.cells_at([point])
    with pytest.raises(errors.VertexError, match="x and y"):
        raster.cells_at([(1, 2, 3)])
    turned = Raster(cost.transpose("lon", "lat"))
    assert turned.cells_at([(3.2, 61)]).tolist() == [[3, 1]]
    assert turned.points_of([(3, 1)]).tolist() == [[3, 60]]
    days = np.array(["2026-01-01", "2026-01-02"], dtype="M8[ns]")
    assert Raster(cost[:2].assign_coords(lat=days)).cell_size == (1, 1)
    filled = cost.copy()
    filled[1, 1] = -9999
    filled.attrs["_FillValue"] = -9999
    assert Raster(filled).n_barriers == 1
    assert Raster(None, elevation=filled).n_barriers == 1
    with pytest.raises(errors.GraphError, match="cannot be read as an array"):
        Raster(cost.to_dataset(name="cost"))
    bent = cost.assign_coords(lon=[0, 1, 2, 3, 9])
    with pytest.raises(errors.GraphError, match="equally spaced"):
        Raster(bent)


@pytest.mark.parametrize(
    "call",
    [
        lambda: interfaces.MCP(COST, offsets=[(0, 1)]),
        lambda: interfaces.MCP(np.ones(4)),
        lambda: interfaces.MCP(COST).traceback((0, 0)),
        lambda: interfaces.MCP(COST).find_costs([(0, 0)], find_all_ends=False),
        lambda: interfaces.distance_field(np.ones((2, 2)), (0, 0), connectivity=5),
        lambda: interfaces.distance_field(np.ones((2, 2, 2)), (0, 0, 0), voxel_graph=1),
        lambda: interfaces.dijkstra(np.ones((2, 2)), (0, 0), (1, 1), anisotropy=(1, 2)),
    ],
)
def test_what_is_not_there_is_refused(call: Any) -> None:
    with pytest.raises(errors.OptionError):
        call()


def test_the_functions_for_graphs_take_rasters(tmp_path: Any) -> None:
    raster = Raster(noise((50, 60), np.float64))
    surface = nearfar.sssp(raster, (25, 30))
    assert isinstance(surface, Surface)
    nearfar.verify(raster, surface)
    open_ = [tuple(cell) for cell in np.argwhere(surface.reachable)[[3, 40, -1]].tolist()]
    path, length = nearfar.shortest_path(raster, (25, 30), open_[0])
    assert tuple(path[-1]) == open_[0]
    assert length == surface.distance_to(open_[0])
    rows = nearfar.distances(raster, [(25, 30)], targets=open_)
    assert rows.tolist() == [[surface.distance_to(cell) for cell in open_]]
    found = nearfar.nearest(raster, open_, predecessors=True)
    assert found.distances.shape == raster.shape
    assert found.sources[open_[1]] == raster.cells(open_[1])[0]
    assert found.predecessors[open_[1]] == -1
    drawn = nearfar.isochrone(raster, (25, 30), tmp_path / "map.png")
    assert drawn.engine == "tiles@cpu"
    assert (tmp_path / "map.png").stat().st_size > 10_000
    with pytest.raises(errors.OptionError, match="its own engines"):
        nearfar.sssp(raster, (25, 30), method="dijkstra")
    with pytest.raises(errors.OptionError, match="reduce"):
        nearfar.distances(raster, [(25, 30)], reduce="sum")
    for function in (nearfar.sssp, nearfar.distances, nearfar.nearest):
        with pytest.raises(errors.OptionError, match="weight is not supported for a Raster"):
            function(raster, (25, 30), weight=None)
    seen: list[tuple[float, float]] = []
    nearfar.distances(raster, open_[:2], progress=lambda done, all_: seen.append((done, all_)))
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(errors.OptionError, match="stats is not supported"):
        nearfar.distances(raster, open_[:2], stats={})
    with pytest.raises(errors.OptionError, match="another Raster"):
        nearfar.verify(Raster(np.ones((50, 60))), surface)
