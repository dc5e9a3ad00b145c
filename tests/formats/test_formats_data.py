"""Real files of the data folder: counts of its manifest, published lengths, streets."""

from __future__ import annotations

import csv
import lzma
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar import Graph
from nearfar.errors import GraphFormatError
from nearfar.formats import detect, read, write
from nearfar.formats.roads.movingai import read_scenarios, vertex_at
from tests.datafiles import data_path, data_root

pytestmark = pytest.mark.data

MANIFEST = data_root() / "MANIFEST.tsv"
OPTIONS: dict[str, dict[str, Any]] = {
    "soc-sign-bitcoinalpha": {"columns": ("from", "to"), "weight": "feature"},
    "air-routes-edges": {
        "columns": ("~from", "~to", "dist:int"),
        "where": {"~label": "route"},
    },
}
FAMILIES = {
    "DIMACS .gr": "dimacs",
    "PACE": "dimacs",
    "DIMACS .sp": "dimacs",
    "METIS": "metis",
    "MatrixMarket": "matrix-market",
    "MovingAI .map": "movingai",
    "graph-tool": "graph-tool",
    "Graphs.jl": "graphs-jl",
    "SNAP edge list": "edges",
    "edge list": "edges",
    "CSV from,to": "table",
    "CSV": "table",
}
# Files that are not graphs: answers, coordinates, other tables, archives.
OTHER = {
    "MovingAI .scen",
    "TNTP",
    "TSV",
    "vertex",
    "LDBC",
    "ProGen",
    "CSV (",
    "DIMACS .co",
    "OSM PBF",
}


def rows() -> Iterator[Any]:
    if not MANIFEST.exists():
        yield pytest.param({}, marks=pytest.mark.skip(reason="no data folder: set NEARFAR_DATA"))
        return
    with open(MANIFEST, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            kind = row["format"].strip('"')
            if any(kind.startswith(other) for other in OTHER) or "daily" in kind:
                continue
            yield pytest.param(row, id=row["name"])


@pytest.mark.parametrize("row", list(rows()))
def test_counts_are_those_of_the_manifest(row: dict[str, str]) -> None:
    path = data_path(row["file"])
    family = next(name for key, name in FAMILIES.items() if row["format"].startswith(key))
    assert detect(path) == family
    if row["name"] == "cond-mat-2005":  # the manifest: has inf weights
        with pytest.raises(GraphFormatError, match="must be finite"):
            read(path, weight="value")
        graph = read(path, weight=None)
    else:
        options = {"weight": "value"} if family == "graph-tool" and row["weighted"] != "no" else {}
        graph = read(path, **options, **OPTIONS.get(row["name"], {}))
        assert graph.is_weighted == (row["weighted"] not in ("no", ""))
    rows_ = graph.tails(np.int64)
    listed = graph.n_edges if graph.directed else int((rows_ <= graph.indices).sum())
    if family == "movingai":  # its manifest counts every direction
        listed = graph.n_edges
    assert listed == int(row["edges"])
    if family in ("edges", "table", "graphs-jl"):
        touched = np.zeros(graph.n_vertices, dtype=bool)
        touched[rows_] = touched[graph.indices] = True
        assert int(touched.sum()) == int(row["nodes"])
        assert graph.n_vertices <= 2 * int(row["nodes"])
    else:
        assert graph.n_vertices == int(row["nodes"])


@pytest.mark.parametrize("name", ["rome99", "USA-road-d.NY"])
def test_dimacs_survives_every_format(name: str, tmp_path: Path) -> None:
    graph = read(data_path(f"dimacs9-road/{name}.gr.xz"))
    for suffix in (".gr", ".txt.gz", ".mtx", ".nfg", ".npz", ".wsg", ".wel", ".parquet"):
        write(graph, tmp_path / f"g{suffix}")
        found = read(tmp_path / f"g{suffix}")
        np.testing.assert_array_equal(found.indptr, graph.indptr)
        np.testing.assert_array_equal(found.indices, graph.indices)
        np.testing.assert_array_equal(found.weights, graph.weights)


def test_new_york_lies_where_it_lies() -> None:
    graph = read(data_path("dimacs9-road/USA-road-d.NY.gr.xz"))
    assert graph.coordinates is not None
    low, high = graph.coordinates.min(axis=0), graph.coordinates.max(axis=0)
    assert -75 < low[0] < high[0] < -73
    assert 40 < low[1] < high[1] < 42


def test_splib_sources_are_those_of_the_table() -> None:
    with lzma.open(data_path("negative-splib/splib-expected.tsv.xz"), "rt") as file:
        expected = {row["instance"]: row for row in csv.DictReader(file, delimiter="\t")}
    checked = 0
    for path in sorted(data_path("negative-splib").glob("*.sp.xz")):
        row = expected[path.name.removesuffix(".sp.xz")]
        graph = read(path)
        assert graph.attributes["source"] == int(row["source"])
        assert (graph.n_vertices, graph.n_edges) == (int(row["nodes"]), int(row["arcs"]))
        checked += 1
    assert checked > 10


@pytest.mark.parametrize("name", ["arena", "den312d", "brc202d", "maze512-1-0", "Berlin_0_512"])
def test_map_lengths_are_the_published_ones(name: str) -> None:
    """Rules of movement, checked by SciPy's Dijkstra on the graph."""
    from scipy.sparse.csgraph import dijkstra

    graph = read(data_path(f"gridmap/{name}.map.xz"))
    queries = read_scenarios(data_path(f"gridmap/{name}.map.scen.xz"))
    rng = np.random.default_rng(9)
    picked = rng.choice(len(queries.length), size=min(12, len(queries.length)), replace=False)
    start = vertex_at(graph, queries.start[picked])
    goal = vertex_at(graph, queries.goal[picked])
    distances = dijkstra(graph.to_scipy(), indices=start)
    found = distances[np.arange(len(picked)), goal]
    # published with six significant digits at least
    np.testing.assert_allclose(found, queries.length[picked], rtol=1e-5)


def test_ldbc_example(tmp_path: Path) -> None:
    with tarfile.open(data_path("reference/ldbc-example.tar.xz")) as archive:
        # The argument came to Python 3.11 with a patch release.
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path, **safe)
    directed = read(tmp_path / "example" / "example-directed.e", renumber=True)
    undirected = read(tmp_path / "example" / "example-undirected.e", directed=False)
    assert (directed.n_vertices, directed.n_edges) == (10, 17)
    assert undirected.n_edges == 24
    assert directed.weight_dtype == np.float64


class TestHelsinki:
    @pytest.fixture
    def path(self) -> Path:
        pytest.importorskip("osmium")
        return data_path("transport-misc/Helsinki.osm.pbf.xz")

    @pytest.mark.parametrize("mode", ["drive", "cycle", "walk"])
    def test_every_vertex_reaches_every_other(self, path: Path, mode: str) -> None:
        from scipy.sparse.csgraph import connected_components

        graph = read(path, mode=mode)
        matrix = graph.to_scipy().copy()
        matrix.sum_duplicates()  # SciPy's search does not terminate on parallel edges
        assert connected_components(matrix, connection="strong")[0] == 1
        assert graph.n_vertices > 1000
        whole = read(path, mode=mode, largest_component=False)
        assert whole.n_vertices > graph.n_vertices

    def test_what_is_kept(self, path: Path) -> None:
        graph = read(path, mode="walk")
        assert graph.coordinates is not None
        assert graph.vertex_names is not None
        low, high = graph.coordinates.min(axis=0), graph.coordinates.max(axis=0)
        assert 24.8 < low[0] < high[0] < 25.1
        assert 60.1 < low[1] < high[1] < 60.3
        assert graph.vertex_names.dtype == np.int64
        assert "OpenStreetMap contributors" in graph.attributes["attribution"]
        assert "ODbL" in graph.attributes["attribution"]
        assert graph.index_of(int(graph.vertex_names[5])) == 5

    def test_seconds_are_metres_over_speed(self, path: Path) -> None:
        metres = read(path, mode="walk", weight="metres")
        seconds = read(path, mode="walk")
        assert (metres.attributes["unit"], seconds.attributes["unit"]) == ("m", "s")
        np.testing.assert_array_equal(metres.indices, seconds.indices)
        speed = metres.effective_weights / seconds.effective_weights * 3.6
        assert set(np.round(speed, 6)) <= {2.5, 5.0}  # steps and everything else

    @pytest.mark.timeout(60)
    def test_statistics_of_parallel_footways_end(self, path: Path) -> None:
        """SciPy's strong components do not terminate on this graph's parallel edges."""
        from nearfar.measures import describe

        found = describe(read(path, mode="walk"))
        assert found.strong_components == 1

    def test_streets_have_directions(self, path: Path) -> None:
        drive, walk = read(path), read(path, mode="walk")
        assert not _symmetric(drive)
        assert _symmetric(walk)


def _symmetric(graph: Graph) -> bool:
    pattern = graph.without_weights().to_scipy()
    return bool((pattern != pattern.T).nnz == 0)
