"""Rasters in files, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nearfar import errors
from nearfar.raster import (
    Raster,
    cost_distance,
    draw_surface,
    landscape,
    map_array,
    read_raster,
    write_raster,
)
from tests.program import run, succeed


@pytest.fixture
def tiff(tmp_path: Path) -> Path:
    """Write costs in UTM with 30 m cells and -9 for missing data."""
    rasterio = pytest.importorskip("rasterio")
    cost = np.ones((40, 50), dtype=np.float32)
    cost[10, 5:] = -9
    path = tmp_path / "cost.tif"
    transform = rasterio.Affine(30, 0, 500_000, 0, -30, 5_000_000)
    about = {"driver": "GTiff", "height": 40, "width": 50, "count": 1, "dtype": "float32"}
    with rasterio.open(
        path, "w", **about, crs="EPSG:32632", transform=transform, nodata=-9
    ) as file:
        file.write(cost, 1)
    return path


def test_geotiff_in_and_out(tiff: Path, tmp_path: Path) -> None:
    raster = read_raster(tiff)
    assert raster.cell_size == (30, 30)
    assert raster.n_barriers == 45
    surface = cost_distance(raster, (0, 0))
    assert surface.distances[0, 3] == 90
    write_raster(surface, tmp_path / "out.tif")
    back = read_raster(tmp_path / "out.tif")
    np.testing.assert_array_equal(back.cost, surface.as_floats())
    assert back.georeference == raster.georeference
    assert np.isnan(back.cost[10, 20])
    point = raster.points_of([(3, 4)])
    assert point.tolist() == [[500_135, 4_999_895]]
    assert raster.cells_at(point).tolist() == [[3, 4]]


def test_a_band_is_mapped_by_blocks(tiff: Path, tmp_path: Path) -> None:
    mapped = map_array(tiff, tmp_path / "cost.npy")
    np.testing.assert_array_equal(mapped, read_raster(tiff).cost)
    with pytest.raises(errors.OptionError, match="only GeoTIFF"):
        map_array(tmp_path / "a.npy", tmp_path / "b.npy")
    with pytest.raises(errors.GraphFormatError, match="cannot be read"):
        map_array(tiff, tmp_path / "b.npy", band=2)


def test_turned_scaled_and_masked_bands(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    about = {"driver": "GTiff", "height": 2, "width": 2, "count": 1, "dtype": "int16"}
    place = rasterio.Affine.translation(100, 200) @ rasterio.Affine.rotation(30)
    place = place @ rasterio.Affine.scale(10, -20)
    with rasterio.open(tmp_path / "a.tif", "w", **about, transform=place) as file:
        file.write(np.full((2, 2), 10, dtype=np.int16), 1)
        file.scales, file.offsets = (0.5,), (2,)
        file.write_mask(np.array([[True, False], [True, True]]))
    raster = read_raster(tmp_path / "a.tif")
    assert raster.cell_size == pytest.approx((20, 10))
    np.testing.assert_array_equal(raster.cost, [[7, np.nan], [7, 7]])


def test_surfaces_of_data_arrays_keep_their_place(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    xarray = pytest.importorskip("xarray")
    where = {"y": [95.0, 75, 55], "x": [10.0, 20, 30, 40]}
    cost = xarray.DataArray(np.ones((3, 4)), dims=("y", "x"), coords=where)
    wkt = rasterio.crs.CRS.from_epsg(32632).to_wkt()
    cost = cost.assign_coords(spatial_ref=xarray.DataArray(0, attrs={"crs_wkt": wkt}))
    raster = Raster(cost)
    surface = cost_distance(raster, (0, 0))
    write_raster(surface, tmp_path / "a.tif")
    back = read_raster(tmp_path / "a.tif")
    cells = [(0, 0), (2, 3)]
    assert back.points_of(cells).tolist() == raster.points_of(cells).tolist()
    assert back.georeference.crs.to_epsg() == 32632
    write_raster(surface.reachable, tmp_path / "b.tif", like=raster)
    assert read_raster(tmp_path / "b.tif").cost.tolist() == [[1] * 4] * 3
    with pytest.raises(errors.OptionError, match=r"shape \(2, 2\)"):
        write_raster(np.ones((2, 2)), tmp_path / "c.tif", like=raster)
    with pytest.raises(FileNotFoundError):
        write_raster(surface, tmp_path / "none" / "c.tif")


def test_degrees_get_a_remark(tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio")
    about = {"driver": "GTiff", "height": 3, "width": 4, "count": 1, "dtype": "uint8"}
    transform = rasterio.Affine(0.1, 0, 10, 0, -0.1, 50)
    with rasterio.open(
        tmp_path / "a.tif", "w", **about, crs="EPSG:4326", transform=transform
    ) as file:
        file.write(np.ones((3, 4), dtype=np.uint8), 1)
    with pytest.warns(UserWarning, match="counts degrees"):
        read_raster(tmp_path / "a.tif")
    assert read_raster(tmp_path / "a.tif", cell_size=1).cell_size == (1, 1)


def test_grid_worlds_and_arrays(tmp_path: Path) -> None:
    (tmp_path / "a.map").write_text("type octile\nheight 2\nwidth 3\nmap\n.@G\n.T.\n")
    raster = read_raster(tmp_path / "a.map")
    assert np.isnan(raster.cost).tolist() == [[False, True, False], [False, True, False]]
    np.save(tmp_path / "a.npy", np.ones((3, 4)))
    raster = read_raster(tmp_path / "a.npy")
    assert isinstance(raster.cost, np.memmap) or isinstance(raster.cost.base, np.memmap)
    write_raster(cost_distance(raster, (0, 0)), tmp_path / "b.npy")
    assert np.load(tmp_path / "b.npy")[0, 3] == 3


def test_what_cannot_be_read_or_written(tmp_path: Path) -> None:
    (tmp_path / "bad.npy").write_bytes(b"no array")
    (tmp_path / "bad.map").write_text("type octile\nheight 2\nwidth 3\nmap\n...\n..\n")
    (tmp_path / "worse.map").write_text("height 2\n")
    (tmp_path / "cut.map").write_text("type octile\nheight 3\nwidth 3\nmap\n...\n...\n")
    (tmp_path / "empty.npy").write_bytes(b"")
    for name, words in (
        ("bad.npy", "not an array"),
        ("bad.map", "line 6: 2 cells"),
        ("worse.map", "not a grid map"),
        ("cut.map", "2 rows of cells, but the height is '3'"),
        ("empty.npy", "not an array"),
    ):
        with pytest.raises(errors.GraphFormatError, match=words):
            read_raster(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_raster(tmp_path / "none.npy")
    with pytest.raises(errors.OptionError, match=r"\.tif, \.npy and \.map"):
        read_raster(tmp_path / "a.png")
    surface = cost_distance(np.ones((3, 3, 3)), (0, 0, 0))
    with pytest.raises(errors.OptionError, match="two dimensions"):
        write_raster(surface, tmp_path / "a.tif")
    with pytest.raises(errors.OptionError, match=r"\.tif or \.npy"):
        write_raster(surface, tmp_path / "a.png")
    with pytest.raises(errors.OptionError, match="two dimensions"):
        draw_surface(surface, tmp_path / "a.png")
    with pytest.raises(errors.OptionError, match="end it in"):
        draw_surface(cost_distance(np.ones((3, 3)), (0, 0)), tmp_path / "a.gif")
    with pytest.raises(errors.OptionError, match="integers of at least 2"):
        landscape(1, 5)


def test_barriers_do_not_flatten_the_relief(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from nearfar.raster import picture

    shaded: list[np.ndarray] = []
    original = picture._shaded

    def shade(heights: np.ndarray, *rest: object) -> np.ndarray:
        shaded.append(heights)
        return original(heights, *rest)

    monkeypatch.setattr(picture, "_shaded", shade)
    cost = np.array([[1, 2, -9999], [1, 3, 1]])
    draw_surface(cost_distance(cost, (0, 0), no_data=-9999), tmp_path / "a.png")
    np.testing.assert_array_equal(shaded[0], [[1, 2, np.nan], [1, 3, 1]])


def test_landscapes_are_the_same_every_time() -> None:
    hills = landscape(60, 50, seed=4)
    np.testing.assert_array_equal(hills, landscape(60, 50, seed=4))
    assert (hills.min(), hills.max()) == (0, 1000)
    assert not np.array_equal(hills, landscape(60, 50, seed=5))


def test_the_command_writes_surface_routes_and_picture(tiff: Path, tmp_path: Path) -> None:
    points = {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {},
                "geometry": {"type": "Point", "coordinates": [500_010, 4_999_990]},
            }
        ],
    }
    (tmp_path / "from.geojson").write_text(json.dumps(points))
    files = [tmp_path / name for name in ("out.tif", "near.tif", "routes.geojson", "map.png")]
    text = succeed(
        *("raster", tiff, "--from", tmp_path / "from.geojson", "--to", "39,49", "10,9"),
        *(
            "-o",
            files[0],
            "--allocation",
            files[1],
            "--paths",
            files[2],
            "--plot",
            files[3],
            "--json",
        ),
    )
    facts = json.loads(text)
    assert facts["proved"]
    assert facts["sources"] == [[0, 0]]
    assert facts["distances"][1] is None
    surface = cost_distance(read_raster(tiff), (0, 0))
    assert facts["distances"][0] == surface.distance_to((39, 49))
    routes = json.loads(files[2].read_text())["features"]
    assert routes[0]["geometry"]["coordinates"][-1] == [501_485, 4_998_815]
    assert routes[1]["geometry"] is None
    assert all(file.stat().st_size > 300 for file in files)


def test_the_command_walks_over_terrain(tmp_path: Path) -> None:
    heights = landscape(40, 30, seed=1, height=100)
    np.save(tmp_path / "dem.npy", heights)
    facts = json.loads(
        succeed(
            *(
                "raster",
                "-",
                "--elevation",
                tmp_path / "dem.npy",
                "--cell-size",
                "20",
                "--from",
                "3,4",
            ),
            *("--to", "30,20", "--json"),
        )
    )
    surface = cost_distance(Raster(None, elevation=heights, cell_size=20), (3, 4))
    assert facts["distances"] == [surface.distance_to((30, 20))]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.npy", "--from", "1,x"), "is not a cell"),
        (("a.npy", "--from", "1", "2"), "'1' is not a cell: give ROW,COLUMN"),
        (("a.npy", "--from", "9,9"), "outside"),
        (("a.npy", "--from", "0,0", "--paths", "b.geojson"), "--paths needs --to"),
        (("-", "--from", "0,0"), "--elevation"),
        (("a.npy", "--from", "bad.geojson"), "not JSON"),
        (("a.npy", "--from", "empty.geojson"), "holds no points"),
        (("a.npy", "--from", "one.geojson"), "no x and y"),
        (("a.npy", "--from", "0,0", "--connectivity", "7"), "--connectivity"),
        (("a.npy", "--from", "0,0", "-o", "none/b.npy"), "none"),
        (("none.npy", "--from", "0,0", "-o", "b.txt"), "--output is 'b.txt': end it in .tif"),
        (("none.npy", "--from", "0,0", "--plot", "b.gif"), "--plot is 'b.gif': end it in .png"),
    ],
)
def test_the_command_says_what_is_wrong(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.ones((3, 4)))
    Path("bad.geojson").write_text("{")
    Path("empty.geojson").write_text("{}")
    Path("one.geojson").write_text('{"type": "Point", "coordinates": [1, 2]}')
    done = run("raster", *words)
    assert done.returncode != 0
    assert done.stderr.startswith("nearfar: error: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
