"""Text of the kernel on the emulated device: the bits of the CPU's engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar.errors import (
    DistanceOverflowError,
    NegativeWeightError,
    OptionError,
    OutOfMemoryError,
)
from nearfar.raster import Raster, SlopeTable, cost_distance, cuda, map_array
from nearfar.system.devices import runtime
from tests.covering import each_value
from tests.raster.landscapes import noise, serpentine

FORMS = [
    ((70, 131), 4),
    ((70, 131), 8),
    ((50, 40), 16),
    ((20, 18, 33), 6),
    ((20, 18, 33), 18),
    ((9, 18, 33), 26),
]


def same(raster: Raster, sources: Any, **options: Any) -> None:
    want = cost_distance(raster, sources, **options)
    got = cost_distance(raster, sources, device="cuda", **options)
    np.testing.assert_array_equal(got.distances, want.distances)
    assert got.engine == "tiles@cuda"
    assert got.stats["tile_visits"] >= 1


def compare(shape: tuple[int, ...], connectivity: int, kind: str) -> None:
    source = tuple(n // 2 for n in shape)
    if kind == "slope":
        heights = noise(shape, np.float32, holes=0.05)
        same(Raster(None, elevation=heights, cell_size=7, connectivity=connectivity), [source])
        return
    whole = {"step": "enter", "lengths": False, "no_data": 9} if kind == "int32" else {}
    raster = Raster(noise(shape, np.dtype(kind)), connectivity=connectivity, **whole)
    same(raster, [source])
    same(raster, [source], initial=[30], limit=150)
    same(raster, [source], targets=[tuple(0 for _ in shape)])


@pytest.mark.usefixtures("emulated_gpu")
def test_a_finite_factor_before_an_infinite_one_counts() -> None:
    steps = np.zeros((20, 70), dtype=np.float32)
    steps[:, 50:] = 1
    table = SlopeTable(-1.0, 1.0, [np.inf, 1.0, np.inf])
    same(Raster(None, elevation=steps, slope=table, connectivity=8), [(10, 35)])


# Two kinds of cost for each form; the GPU suite has the product.
KINDS = ("float32", "float64", "int32", "slope")


@pytest.mark.parametrize(
    ("form", "kind"),
    each_value(FORMS, KINDS) + each_value(FORMS, [*KINDS[2:], *KINDS[:2]]),
    ids=str,
)
@pytest.mark.usefixtures("emulated_gpu")
def test_the_emulated_device_gives_the_bits_of_the_cpu(
    form: tuple[tuple[int, ...], int], kind: str
) -> None:
    compare(*form, kind)


@pytest.mark.usefixtures("emulated_gpu")
def test_corridors_wind_through_many_phases() -> None:
    same(Raster(serpentine(100)), (0, 0))
    same(Raster(np.zeros((70, 70), dtype=np.float32)), [(0, 0), (69, 69)])


@pytest.mark.usefixtures("emulated_gpu")
def test_corridors_are_followed_within_a_phase() -> None:
    surface = cost_distance(Raster(serpentine(160)), (0, 0), device="cuda")
    assert surface.stats["tile_visits"] > 3 * surface.stats["phases"]


@pytest.mark.usefixtures("checked_loads")
def test_nothing_is_read_before_it_is_written() -> None:
    same(Raster(noise((40, 70), np.float32)), (20, 35))


def by_parts(raster: Raster, sources: Any, lines: int, **options: Any) -> dict[str, Any]:
    """Solve in memory for a number of lines, and compare with the CPU."""
    want = cost_distance(raster, sources, **options)
    memory = cuda.Engine(raster).bytes_of(lines)
    got = cost_distance(raster, sources, device="cuda", memory=memory, **options)
    np.testing.assert_array_equal(got.distances, want.distances)
    got.verify()
    assert got.stats["device_bytes"] < memory + 20_000  # a table of slopes
    assert got.stats["parts"] > 1
    return got.stats


def random_request(seed: int, connectivity: int) -> tuple[Raster, Any, dict[str, Any]]:
    """Return a raster, sources, and options of the search."""
    rng = np.random.default_rng(seed)
    flat = connectivity in (4, 8, 16)
    shape = rng.integers(26, 90, 2) if flat else rng.integers(5, 30, 3)
    shape[0] = max(shape[0], 26)
    cost = noise(tuple(shape), np.float64, seed, holes=rng.choice([0, 0.2, 0.45]))
    options: dict[str, Any] = {"connectivity": connectivity}
    kind = rng.choice(["float32", "float64", "int32", "slope"])
    if kind == "int32":
        cost = np.floor(np.nan_to_num(cost, nan=-1, posinf=-1)).astype(np.int32)
        options |= {"step": "enter", "lengths": False, "negative": "barrier"}
    elif kind == "slope":
        options |= {"elevation": noise(cost.shape, np.float64, seed + 1, holes=0.1)}
    else:
        cost = cost.astype(kind)
        options["step"] = str(rng.choice(["mean", "enter"]))
        options["cut_corners"] = options != {"connectivity": 8, "step": "mean"}
    raster = Raster(cost, **options)
    free = np.flatnonzero(raster._may_enter(np.arange(raster.n_vertices)))
    cells = np.stack(np.unravel_index(rng.choice(free, rng.integers(1, 4)), raster.shape), axis=1)
    search: dict[str, Any] = {}
    if rng.random() < 0.3:
        search["limit"] = float(rng.integers(10, 400))
    if rng.random() < 0.3:
        search["targets"] = [tuple(rng.integers(0, n) for n in raster.shape)]
    if rng.random() < 0.3:
        search["initial"] = rng.integers(0, 60, len(cells))
    return raster, cells, search


def random_parts(connectivity: int, seeds: range) -> None:
    """Solve random rasters in memory for 6 (12) lines up to half; some parts have to wait."""
    visits = []
    for seed in seeds:
        raster, cells, search = random_request(seed, connectivity)
        least = 12 if connectivity == 16 else 6
        most = max(least + 1, raster.shape[0] // 2)
        lines = int(np.random.default_rng(seed).integers(least, most))
        stats = by_parts(raster, cells, lines, **search)
        visits.append(stats["part_visits"] / stats["parts"])
    assert max(visits) > 1


@pytest.mark.parametrize("connectivity", [4, 8, 16, 6, 26])
@pytest.mark.usefixtures("emulated_gpu")
def test_parts_give_the_bits_of_the_whole(connectivity: int) -> None:
    random_parts(connectivity, range(1, 5))


@pytest.mark.usefixtures("emulated_gpu")
def test_a_passage_crosses_the_parts_many_times(tmp_path: Path) -> None:
    raster = Raster(np.ascontiguousarray(serpentine(64).T))
    stats = by_parts(raster, (0, 0), 30)
    assert stats["part_visits"] > 32
    seen: list[tuple[float, float]] = []
    surface = cost_distance(
        Raster(map_array(noise((80, 50), np.float32), tmp_path / "cost.npy")), (40, 25),
        device="cuda", memory=9000, out=tmp_path / "d.npy", progress=lambda *at: seen.append(at),
    )  # fmt: skip
    surface.verify()
    assert isinstance(surface.distances, np.memmap)
    assert len(seen) == surface.stats["part_visits"] + 1
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.usefixtures("emulated_gpu")
def test_memory_for_no_part_is_refused() -> None:
    raster = Raster(noise((50, 60), np.float32))
    with pytest.raises(OutOfMemoryError, match="GPU with more memory"):
        cost_distance(raster, (25, 30), device="cuda", memory=1000)
    with pytest.raises(OptionError, match="memory"):
        cost_distance(raster, (25, 30), device="cuda", memory="much")


@pytest.mark.parametrize("shape", [(40, 1, 1), (3, 1, 40), (1, 4, 40), (1, 90)])
@pytest.mark.usefixtures("emulated_gpu")
def test_sources_at_the_border_of_a_tile(shape: tuple[int, ...]) -> None:
    for at in (3, 4, 15, 16, 29, 30):
        same(Raster(np.ones(shape)), tuple(min(at, n - 1) for n in shape))


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize(("patience", "wide"), [(2, 0), (8, 1), (10, 3)])
def test_handed_over_where_few_tiles_are_at_work(
    patience: int, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the CPU and back, as often as passages and open areas alternate."""
    monkeypatch.setattr(cuda, "_patience", lambda nbytes: patience)
    monkeypatch.setattr(cuda, "_WIDE", wide)
    hall = noise((91, 130), np.float32)
    winding = Raster(np.hstack([serpentine(91), hall, serpentine(91)]))
    for raster, source in (
        (winding, (0, 0)),
        (Raster(noise((20, 18, 33), np.float32), connectivity=26), (10, 9, 16)),
        (Raster(noise((70, 131), np.float64), connectivity=16), (35, 65)),
    ):
        same(raster, [source])
        same(raster, [source], limit=700, initial=[2])
    surface = cost_distance(winding, (0, 0), device="cuda", threads=2)
    assert surface.stats["handed_over"] >= 1
    assert surface.stats["visits_on_cpu"] >= 1
    surface.verify()


@pytest.mark.usefixtures("emulated_gpu")
def test_kept_by_the_device_where_many_tiles_are_at_work() -> None:
    surface = cost_distance(Raster(noise((120, 120), np.float32)), (60, 60), device="cuda")
    assert surface.stats["handed_over"] == 0


@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_device_costs_changed_between_searches_are_read_again(dtype: Any) -> None:
    cp = runtime.cupy()
    exact: dict[str, Any] = {} if dtype is np.float32 else {"step": "enter", "lengths": False}
    cost = np.ones((40, 50), dtype=dtype)
    there = cp.asarray(cost)
    raster = Raster(there, no_data=7, **exact)
    before = cost_distance(raster, (0, 0), device="cuda")
    assert before.stats["barriers"] == 0
    np.testing.assert_array_equal(raster.cost, cost)
    cost[:, 20:] = 3
    cost[:30, 10] = 7
    there[...] = cp.asarray(cost)
    fresh = cost_distance(Raster(cost, no_data=7, **exact), (0, 0))
    for device in ("cuda", "cpu"):
        changed = cost_distance(raster, (0, 0), device=device)  # type: ignore[arg-type]
        np.testing.assert_array_equal(runtime.download(changed.distances), fresh.distances)
        assert changed.stats["barriers"] == raster.n_barriers == 30
        assert raster.greatest_cost == 3
        assert changed.path_to((0, 49)).tolist() == fresh.path_to((0, 49)).tolist()
    there[5, 5] = -1
    with pytest.raises(NegativeWeightError, match=r"cell \(5, 5\)"):
        cost_distance(raster, (0, 0), device="cuda")


@pytest.mark.usefixtures("emulated_gpu")
def test_device_costs_that_grow_between_searches_may_overflow() -> None:
    there = runtime.cupy().asarray(np.ones((4, 40), dtype=np.float32))
    raster = Raster(there)
    cost_distance(raster, (0, 0), device="cuda")
    there[...] = 3e37
    with pytest.raises(DistanceOverflowError, match="float32"):
        cost_distance(raster, (0, 0), device="cuda")
