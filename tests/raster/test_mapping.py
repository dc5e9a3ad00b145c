"""Costs and distances in files, arrays of other libraries, devices, and progress."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from nearfar.errors import GraphError, NegativeWeightError, OptionError, OutOfMemoryError
from nearfar.raster import Raster, cost_distance, cost_distances, map_array, solve
from nearfar.system import memory
from tests.raster.landscapes import noise


def test_costs_and_distances_in_files_larger_than_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = noise((200, 300), np.float32)
    want = cost_distance(cost, (100, 150))
    mapped = map_array(cost, tmp_path / "cost.npy")
    assert isinstance(mapped, np.memmap)
    raster = Raster(mapped)
    assert np.shares_memory(raster.cost, mapped)
    monkeypatch.setattr(solve, "shortage", lambda _: 1000)
    with pytest.raises(OutOfMemoryError, match=r"distances\.npy"):
        cost_distance(raster, (100, 150))
    surface = cost_distance(raster, (100, 150), out=tmp_path / "distances.npy")
    assert isinstance(surface.distances, np.memmap)
    np.testing.assert_array_equal(surface.distances, want.distances)
    np.testing.assert_array_equal(np.load(tmp_path / "distances.npy"), want.distances)
    assert sorted(os.listdir(tmp_path)) == ["cost.npy", "distances.npy"]
    surface.verify()


def test_small_rasters_do_not_read_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took a third of the time of a call."""
    monkeypatch.setattr(memory, "free_memory", None)
    assert cost_distance(np.ones((9, 9)), (0, 0)).distances[0, 8] == 8


def test_out_is_an_array_of_the_same_form() -> None:
    cost = noise((20, 30), np.float32)
    out = np.empty((20, 30), dtype=np.float32)
    surface = cost_distance(cost, (10, 15), out=out)
    assert surface.distances is out
    for wrong in (np.empty((20, 31), np.float32), np.empty((20, 30)), out.T, [1]):
        with pytest.raises(OptionError, match="contiguous array of 20 x 30 float32"):
            cost_distance(cost, (10, 15), out=wrong)
    with pytest.raises(OptionError, match=r"mapped from \.npy"):
        cost_distance(cost, (10, 15), out="distances.tif")
    whole = np.full((2, 2), 2**31 - 2, dtype=np.int32)
    with pytest.raises(OptionError, match="do not fit int32"):
        cost_distance(
            whole, (0, 0), step="enter", lengths=False, initial=[5], out=np.empty_like(whole)
        )


def test_out_must_not_hold_what_is_read() -> None:
    room = np.ones((7, 5))
    for out in (room[:5], room[2:]):
        with pytest.raises(OptionError, match="out shares memory with the costs"):
            cost_distance(room[:5], (0, 0), out=out)
        with pytest.raises(OptionError, match="out shares memory with the elev"):
            cost_distance(None, (0, 0), elevation=room[:5], out=out)


def test_zarr_and_dask_arrays(tmp_path: Path) -> None:
    dask_array = pytest.importorskip("dask.array")
    zarr = pytest.importorskip("zarr")
    cost = noise((90, 70), np.float32)
    want = cost_distance(cost, (45, 35)).distances
    chunked = dask_array.from_array(cost, chunks=(32, 32))
    np.testing.assert_array_equal(cost_distance(chunked, (45, 35)).distances, want)
    stored = zarr.open(str(tmp_path / "c.zarr"), mode="w", shape=cost.shape, chunks=(32, 32),
                       dtype="f4")  # fmt: skip
    stored[:] = cost
    seen: list[tuple[float, float]] = []
    for i, source in enumerate((chunked, stored)):
        mapped = map_array(source, tmp_path / f"{i}.npy", progress=lambda *done: seen.append(done))
        np.testing.assert_array_equal(mapped, cost)
        np.testing.assert_array_equal(cost_distance(mapped, (45, 35)).distances, want)
    assert seen == [(90, 90)] * 2
    assert map_array(cost, tmp_path / "wide.npy", dtype=np.float64).dtype == np.float64


def test_blocks_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nearfar.raster import mapping

    monkeypatch.setattr(mapping, "_BLOCK", 1000)
    cost = noise((90, 70), np.float32)
    seen: list[float] = []
    mapped = map_array(cost, tmp_path / "c.npy", progress=lambda done, _: seen.append(done))
    np.testing.assert_array_equal(mapped, cost)
    assert seen == [*range(3, 91, 3)]
    masked = np.ma.masked_equal([[1, 2], [3, 4]], 2)
    mapped = map_array(masked, tmp_path / "m.npy", dtype=np.float32)
    np.testing.assert_array_equal(mapped, [[1, np.nan], [3, 4]])


def test_what_cannot_be_mapped(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"from \.npy files"):
        map_array(np.ones((2, 2)), tmp_path / "c.bin")
    with pytest.raises(GraphError, match="a shape and a dtype"):
        map_array([1, 2], tmp_path / "c.npy")
    with pytest.raises(GraphError, match="give numbers"):
        map_array(np.array([None]), tmp_path / "c.npy")
    masked = np.ma.masked_equal([[1, 2], [3, 4]], 2)
    with pytest.raises(GraphError, match="masked entries"):
        map_array(masked, tmp_path / "c.npy")
    assert not os.listdir(tmp_path)


def test_progress_counts_tiles() -> None:
    seen: list[tuple[float, float]] = []
    cost_distance(np.ones((200, 300)), (0, 0), progress=lambda *done: seen.append(done))
    assert seen[-1] == (20, 20)
    assert all(done <= all_ for done, all_ in seen)
    rows: list[tuple[float, float]] = []
    cost_distances(np.ones((9, 9)), [(0, 0), (1, 1)], progress=lambda *done: rows.append(done))
    assert rows == [(1, 2), (2, 2)]


@pytest.mark.usefixtures("emulated_gpu")
def test_arrays_on_a_device_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from nearfar.system.devices import runtime

    cost = noise((70, 90), np.float32)
    raster = Raster(runtime.upload(cost))
    assert (raster.shape, raster.dtype) == ((70, 90), np.float32)
    want = cost_distance(cost, (35, 45))
    with monkeypatch.context() as patched:
        patched.setattr("nearfar.raster.raster.to_host", None)  # not called
        surface = cost_distance(raster, (35, 45), device="cuda", limit=200)
        assert raster.n_barriers == want.stats["barriers"]
        assert raster.greatest_cost == Raster(cost).greatest_cost
    assert runtime.is_device_array(surface.distances)
    limited = cost_distance(cost, (35, 45), limit=200)
    np.testing.assert_array_equal(np.asarray(surface), limited.distances)
    np.testing.assert_array_equal(surface.links, limited.links)
    np.testing.assert_array_equal(surface.allocation, limited.allocation)
    surface.verify()
    bad = cost.copy()
    bad[3, 4] = -1
    with pytest.raises(NegativeWeightError, match=r"1 negative cost, the first at cell \(3, 4\)"):
        Raster(runtime.upload(bad))
    marked = Raster(runtime.upload(bad), no_data=-1)
    assert not np.isfinite(np.asarray(cost_distance(marked, (35, 45), device="cuda"))[3, 4])
