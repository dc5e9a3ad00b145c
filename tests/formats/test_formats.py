"""Formats: written graphs read back equal, and names and contents select the format."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearfar
from nearfar import Graph
from nearfar.errors import GraphFormatError, OptionError, VertexError
from nearfar.formats import detect, formats, read, write
from nearfar.formats.compression import COMPRESSIONS
from tests.formats.test_formats_broken import graph_tool_bytes
from tests.strategies import graphs

PACKED = ("", *COMPRESSIONS)
WRITABLE = [name for name, spec in formats().items() if spec.write is not None]


def canonical(graph: Graph) -> tuple[Any, ...]:
    """Return edges in an order that does not depend on the sorting within rows."""
    rows = graph.tails(np.int64)
    order = np.lexsort((graph.effective_weights, graph.indices, rows))
    return rows[order], graph.indices[order], graph.effective_weights[order]


def assert_same(found: Graph, expected: Graph, *, n: bool = True) -> None:
    if n:
        assert found.n_vertices == expected.n_vertices
    for a, b in zip(canonical(found), canonical(expected), strict=True):
        np.testing.assert_array_equal(a, b)


def simple_undirected(graph: Graph) -> Graph:
    """Return a graph that METIS supports: no loops, integer weights above 0."""
    rows = graph.tails(np.int64)
    keep = rows < graph.indices
    weights = None
    if graph.weights is not None and graph.weights.dtype.kind == "i":
        weights = graph.weights[keep] + 1
    return Graph.from_edges(
        rows[keep], graph.indices[keep], weights, n_vertices=graph.n_vertices, directed=False
    )


def whole_weights(graph: Graph) -> Graph:
    if graph.weights is None or graph.weights.dtype.kind == "i":
        return graph.astype(np.int32)
    return graph.without_weights().astype(np.int32)


def as_is(graph: Graph) -> Graph:
    return graph


# Restriction of a format's input, options for reading it back, and losses.
TRIPS: dict[str, tuple[str, Callable[[Graph], Graph], bool, bool]] = {
    # name: (suffix, restriction, keeps directedness, keeps isolated vertices at the end)
    "dimacs": (".gr", as_is, False, True),
    "edges": (".txt", as_is, True, True),
    "galois": (".gr", as_is, False, True),
    "gap": (".wsg", whole_weights, True, True),
    "gap-list": (".wel", as_is, False, False),
    "graphml": (".graphml", as_is, True, True),
    "graphs-jl": (".jlg", Graph.without_weights, True, True),
    "matrix-market": (".mtx", as_is, True, True),
    "metis": (".graph", simple_undirected, True, True),
    "native": (".nfg", as_is, True, True),
    "npz": (".npz", as_is, False, True),
    "table": (".parquet", as_is, False, True),
}


def test_every_writable_format_has_a_round_trip() -> None:
    missing = set(WRITABLE) - set(TRIPS) - {"movingai"}
    assert not missing, f"give TRIPS a row for {missing}"


@pytest.mark.parametrize("name", sorted(TRIPS))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs(), packed=st.sampled_from(PACKED))
def test_round_trip(name: str, graph: Graph, packed: str, tmp_path: Path) -> None:
    suffix, restrict, keeps_directed, keeps_isolated = TRIPS[name]
    graph = restrict(graph)
    path = tmp_path / f"graph{suffix}{packed}"
    if graph.n_edges == 0 and name == "gap-list":
        with pytest.raises(GraphFormatError, match=r"has no edges.*use \.sg"):
            write(graph, path, format=name)
        return
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        write(graph, path, format=name)
    ends = [*graph.tails(np.int64), *graph.indices]
    assert bool(told) == (not keeps_isolated and graph.n_vertices > max(ends, default=-1) + 1)
    options: dict[str, Any] = {"renumber": False} if name == "table" else {}
    if name == "galois":
        options["data"] = "float" if graph.weight_dtype.kind == "f" else "int"
    dtype = graph.weight_dtype if graph.is_weighted else None
    found = read(path, format=name, dtype=dtype, **options)
    assert_same(found, graph, n=keeps_isolated)
    if keeps_directed:
        assert found.directed == graph.directed
    if name not in ("dimacs", "gap", "gap-list", "edges", "metis", "graphml") or graph.n_edges:
        assert found.is_weighted == graph.is_weighted or name in ("dimacs", "gap")


def test_vertices_without_edges_are_kept_or_reported(tmp_path: Path) -> None:
    """A graph without edges was read back from its table without vertices, and without a remark."""
    pytest.importorskip("pyarrow")
    none = Graph.from_edges([], [], n_vertices=3)
    last = Graph.from_edges([0], [1], n_vertices=4, vertex_names=range(7, 11), names=False)
    named = Graph.from_edges(["a"], ["b"], vertex_names=["a", "b", "c"])
    for suffix in (".parquet", ".arrow"):
        write(none, tmp_path / f"g{suffix}")
        assert read(tmp_path / f"g{suffix}").n_vertices == 3
        write(last, tmp_path / f"g{suffix}")
        assert read(tmp_path / f"g{suffix}").vertex_names == range(7, 11)
    for graph, suffix, lost in (
        (none, ".csv", "3 vertices have"),
        (last, ".tsv", "2 vertices have"),
        (named, ".parquet", "1 vertex has"),
        (named, ".txt", "1 vertex has"),
        (last, ".el", "2 vertices have"),
    ):
        with pytest.warns(UserWarning, match=rf"g\{suffix}: {lost} no edge.*write \.nfg") as told:
            write(graph, tmp_path / f"g{suffix}")
        assert told[0].filename == __file__


def test_a_prepared_graph_has_a_reader_of_its_own(tmp_path: Path) -> None:
    nearfar.prepare(nearfar.generate("grid", rows=5, columns=5)).save(tmp_path / "g.nfp")
    with pytest.raises(GraphFormatError, match=r"it is a prepared graph: nearfar\.load opens it"):
        read(tmp_path / "g.nfp")


@pytest.mark.parametrize("suffix", [".gr", ".nfg", ".npz", ".mtx", ".csv", ".txt", ".graphml"])
def test_edges_of_any_format_can_be_counted(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"g{suffix}"
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], [7, 8, 9], attributes={"unit": "s"})
    write(graph, path)
    counted = read(path, weight=None)
    assert not counted.is_weighted
    assert "unit" not in counted.attributes  # the unit is that of the weights
    if suffix in (".gr", ".nfg", ".npz", ".mtx"):
        with pytest.raises(OptionError, match="have one weight per edge, not 'length': leave"):
            read(path, weight="length")


def test_weights_of_lines_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("0 1 7 1999\n1 2 8 2001\n")
    assert read(path).weights.tolist() == [7, 8]
    assert read(path, weight=3).weights.tolist() == [1999, 2001]
    with pytest.raises(GraphFormatError, match="no column 'km': the file has no header line"):
        read(path, weight="km")
    with pytest.raises(GraphFormatError, match="an edge needs 8"):
        read(path, weight=7)
    table = tmp_path / "g.csv"
    table.write_text("0,1,7\n1,2,8\n")
    assert read(table).weights.tolist() == [7, 8]
    assert not read(table, weight=None).is_weighted


def test_weights_of_graph_tool_properties(tmp_path: Path) -> None:
    path = tmp_path / "g.gt"
    for name, weighted in (("weight", True), ("km", False)):
        path.write_bytes(graph_tool_bytes(Graph.from_edges([0], [1], directed=False), name))
        assert read(path, weight=name).weights.tolist() == [0.5, 0.5]
        assert not read(path, weight=None).is_weighted
        if weighted:
            assert read(path).is_weighted
        else:
            with pytest.raises(GraphFormatError, match="numbers in km"):
                read(path)


def test_coordinates_names_and_attributes_survive(tmp_path: Path) -> None:
    graph = Graph.from_edges(
        [0, 1],
        [1, 2],
        [3, 4],
        vertex_names=["a", "b", "c d"],
        names=False,
        coordinates=[[24.9, 60.1], [-1e-6, 2.5], [3.0, -4.125]],
        attributes={"unit": "s", "levels": [1, 2], "callback": print},
    )
    with pytest.warns(UserWarning, match="attributes callback omitted"):
        write(graph, tmp_path / "g.nfg.xz")
    found = read(tmp_path / "g.nfg.xz")
    assert found.vertex_names is not None
    assert found.coordinates is not None
    assert graph.coordinates is not None
    assert found.vertex_names.tolist() == ["a", "b", "c d"]
    np.testing.assert_array_equal(found.coordinates, graph.coordinates)
    assert found.attributes["levels"] == [1, 2]
    assert "callback" not in found.attributes
    write(graph, tmp_path / "g.gr.gz")
    assert (tmp_path / "g.co.gz").exists()
    again = read(tmp_path / "g.gr.gz")
    np.testing.assert_array_equal(again.coordinates, graph.coordinates)
    assert read(tmp_path / "g.gr.gz", coordinates=False).coordinates is None
    plain = read(tmp_path / "g.gr.gz", coordinates=tmp_path / "g.co.gz", coordinate_scale=1.0)
    np.testing.assert_array_equal(plain.coordinates, graph.coordinates * 1e6)
    with pytest.raises(OptionError, match="coordinate_scale is 0: give a number greater than 0"):
        read(tmp_path / "g.gr.gz", coordinate_scale=0)
    # Of several .co files the one compressed like the graph belongs to it.
    (tmp_path / "g.co").write_text("p aux sp co 9\n")
    assert read(tmp_path / "g.gr.gz").coordinates is not None


def test_a_graph_without_coordinates_does_not_get_those_of_the_file_it_replaces(
    tmp_path: Path,
) -> None:
    file = tmp_path / "g.gr"
    with_places = Graph.from_edges([0], [1], [3], coordinates=[[1, 2], [3, 4]])
    other = Graph.from_edges([1], [0], [4])
    write(with_places, file)
    with pytest.raises(GraphFormatError, match=r"would take those of .*g\.co: remove that file"):
        write(other, file)
    assert read(file).weights is not None  # the old file is complete
    write(other, file, coordinates=False)
    assert read(file, coordinates=False).coordinates is None
    (tmp_path / "g.co").unlink()
    write(other, file)
    assert read(file).coordinates is None


@pytest.mark.parametrize("name", ["g.txt", "g.graphml"])
def test_names_that_text_would_merge_are_refused(tmp_path: Path, name: str) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], vertex_names=[1, "1", 2], names=False)
    with pytest.raises(GraphFormatError, match="two vertices would be called '1'"):
        write(graph, tmp_path / name)
    assert not (tmp_path / name).exists()


def test_what_a_container_changes_is_said(tmp_path: Path) -> None:
    graph = Graph.from_edges(
        [(0, 0)], [(0, 1)], [3], attributes={"levels": np.int64(3), "zones": {1, 2}}
    )
    with (
        pytest.warns(UserWarning, match=r"read back as text, \(0, 0\) as '\(0, 0\)'"),
        pytest.warns(UserWarning, match="attributes zones omitted"),
    ):
        write(graph, tmp_path / "g.nfg")
    found = read(tmp_path / "g.nfg")
    assert found.vertex_names.tolist() == ["(0, 0)", "(0, 1)"]  # type: ignore[union-attr]
    assert found.attributes["levels"] == 3


NUMBERED_FROM_1 = {
    "g.gr": "p sp 4 3\na 1 2 5\na 2 3 7\na 4 1 1\n",
    "g.sp": "t x\np sp 4 3\nn 1\na 1 2 5\na 2 3 7\na 4 1 1\n",
    "g.mtx": "%%MatrixMarket matrix coordinate integer general\n4 4 3\n1 2 5\n2 3 7\n4 1 1\n",
    "g.graph": "4 3 1\n2 5 4 1\n1 5 3 7\n2 7\n1 1\n",
    "g.jlg": "4,3,d,Graphs\n1,2\n2,3\n4,1\n",
}


@pytest.mark.parametrize("name", NUMBERED_FROM_1)
def test_numbers_of_the_file_are_names(name: str, tmp_path: Path) -> None:
    """Regression: `nearfar sssp t.gr 1` started at the file's vertex 2."""
    path = tmp_path / name
    path.write_text(NUMBERED_FROM_1[name])
    graph = read(path)
    assert graph.vertex_names == range(1, 5)
    paths = nearfar.sssp(graph, 1)
    assert paths.distance_to(3) == (2 if name == "g.jlg" else 12)
    assert paths.path_to(3) == [1, 2, 3]
    with pytest.raises(VertexError, match="source 0 is outside the graph: give 1 to 4"):
        nearfar.sssp(graph, 0)
    assert nearfar.distances(graph, [1, 2], targets=[3]).shape == (2, 1)
    for again in ("b.gr", "b.mtx", "b.txt", "b.csv", "b.nfg"):
        write(graph, tmp_path / again)
        back = read(tmp_path / again)
        assert nearfar.sssp(back, 1).path_to(3) == [1, 2, 3]
        if again != "b.csv":  # b.csv has the ids 0 to 4
            assert back.vertex_names == range(1, 5)
            assert back.n_vertices == 4
    if name.endswith(".gr"):
        assert (tmp_path / "b.gr").read_text() == NUMBERED_FROM_1[name]
        lines = (tmp_path / "b.txt").read_text().splitlines()
        assert lines[2] == "# Ids from 1"
        assert lines[4:] == ["1\t2\t5", "2\t3\t7", "4\t1\t1"]
    if name.endswith(".sp"):
        write(graph, tmp_path / "b.sp")
        assert "n 1\n" in (tmp_path / "b.sp").read_text()


def test_other_numbers_are_kept(tmp_path: Path) -> None:
    graph = Graph.from_edges(
        [0, 1], [1, 2], [3, 4], n_vertices=4, vertex_names=range(100, 104), names=False
    )
    write(graph, tmp_path / "g.txt")
    write(graph, tmp_path / "g.nfg")
    for name in ("g.txt", "g.nfg"):
        found = read(tmp_path / name)
        assert found.vertex_names == range(100, 104)
        assert nearfar.sssp(found, 100).path_to(102) == [100, 101, 102]
    (tmp_path / "g.txt").write_text("# Ids from 7\n3 4\n")
    with pytest.raises(GraphFormatError, match="vertex id 3 is below base=7"):
        read(tmp_path / "g.txt")


def test_splib_source_and_title(tmp_path: Path) -> None:
    path = tmp_path / "g.sp"
    path.write_text("c x\nt a title \r\np sp 3 2\nn 2\na 1 2 -7\r\n\na  2 3\t5\n")
    graph = read(path)
    assert graph.attributes["source"] == 2
    assert graph.attributes["title"] == "a title"
    write(graph, tmp_path / "again.sp")
    assert read(tmp_path / "again.sp").attributes["source"] == 2


def test_pace_topology_is_undirected(tmp_path: Path) -> None:
    path = tmp_path / "g.tw.gr"
    path.write_text("p tw 4 2\n1 2\nc in between\n2 3\n")
    graph = read(path)
    assert (graph.n_vertices, graph.n_edges, graph.directed, graph.is_weighted) == (
        4,
        4,
        False,
        False,
    )
    assert read(path, directed=True).n_edges == 2


class TestEdgeLists:
    def read(self, tmp_path: Path, text: str, **options: Any) -> Graph:
        path = tmp_path / "g.txt"
        path.write_text(text)
        return read(path, **options)

    @pytest.mark.parametrize(
        "text",
        [
            "0 1 5\n1 2 7",
            "0\t1\t5\r\n1\t2\t7\r\n",
            "0,1,5\n1, 2 ,7\n",
            "# c\n0;1;5\n% d\n\n1;2;7\n",
        ],
    )
    def test_separators(self, tmp_path: Path, text: str) -> None:
        graph = self.read(tmp_path, text)
        assert canonical(graph)[2].tolist() == [5, 7]
        assert graph.weight_dtype == np.int32

    @pytest.mark.parametrize("suffix", [".csv", ".txt"])
    def test_numbers_that_begin_with_zeros(self, tmp_path: Path, suffix: str) -> None:
        """007 and 7 are one number but two names: only names= can distinguish them."""
        path = tmp_path / f"zips{suffix}"
        path.write_text("source,target,weight\n007,7,2\n7,10,1\n")
        assert read(path, names=True).vertex_names.tolist() == ["007", "7", "10"]
        numbers = read(path, names=False, renumber=True)
        assert numbers.vertex_names.tolist() == [7, 10]

    def test_names_of_chosen_rows(self, tmp_path: Path) -> None:
        path = tmp_path / "zips.csv"
        path.write_text("source,target,weight,kind\n1,2,2,a\n007,7,3,b\n7,10,1,b\n")
        graph = read(path, names=True, where={"kind": "b"})
        assert graph.vertex_names.tolist() == ["007", "7", "10"]
        assert graph.weights.tolist() == [3, 1]

    @pytest.mark.parametrize("header", ["u,v,weight\n", "source,target,1\n"])
    def test_header_is_seen(self, tmp_path: Path, header: str) -> None:
        name = header.strip().split(",")[2]
        graph = self.read(tmp_path, header + "0,1,2\n1,2,3\n", weight=name)
        assert (graph.n_edges, graph.max_weight) == (2, 3)

    def test_weights_widen_when_needed(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, f"0 1 {2**40}\n").weight_dtype == np.int64
        graph = self.read(tmp_path, "0 1 3\n0 1 0.1\n0 1 1e3\n0 1 +4\n")
        assert canonical(graph)[2].tolist() == [0.1, 3.0, 4.0, 1000.0]
        assert self.read(tmp_path, "0 1 3\n", dtype="float32").weight_dtype == np.float32

    def test_names(self, tmp_path: Path) -> None:
        graph = self.read(tmp_path, "Oslo Turku 3\nTurku Rīga 4\n")
        assert graph.vertex_names is not None
        assert graph.vertex_names.tolist() == ["Oslo", "Turku", "Rīga"]
        spaced = self.read(
            tmp_path, "from,to\nSan Jose,Los Angeles\nLos Angeles,Oslo\n", header=True
        )
        assert spaced.vertex_names is not None
        assert spaced.vertex_names.tolist() == ["San Jose", "Los Angeles", "Oslo"]
        numbers = self.read(tmp_path, "07 7\n7 1\n", names=True)
        assert numbers.vertex_names is not None
        assert numbers.vertex_names.tolist() == ["07", "7", "1"]

    def test_ids_are_kept_while_they_waste_at_most_half(self, tmp_path: Path) -> None:
        kept = self.read(tmp_path, "1 2\n2 3\n")
        assert (kept.n_vertices, kept.vertex_names) == (4, None)
        assert self.read(tmp_path, "1 2\n2 3\n", base=1).n_vertices == 3
        wide = self.read(tmp_path, "10 900\n900 -5\n")
        assert wide.vertex_names is not None
        assert wide.vertex_names.tolist() == [10, 900, -5]
        assert self.read(tmp_path, "10 900\n", renumber=False).n_vertices == 901
        forced = self.read(tmp_path, "2 1\n1 0\n", renumber=True)
        assert forced.vertex_names is not None
        assert forced.vertex_names.tolist() == [2, 1, 0]
        huge = self.read(tmp_path, f"{2**62} {-(2**62)}\n")
        assert huge.n_vertices == 2
        with pytest.raises(GraphFormatError, match="leave renumber at None"):
            self.read(tmp_path, f"0 {2**40}\n", renumber=False)
        with pytest.raises(GraphFormatError, match="below base=1"):
            self.read(tmp_path, "0 1\n", base=1)

    def test_snap_comments(self, tmp_path: Path) -> None:
        head = "# Undirected graph\n# Nodes: 5 Edges: 2\n"
        graph = self.read(tmp_path, head + "0 1\n1 2\n")
        assert (graph.n_vertices, graph.n_edges, graph.directed) == (5, 4, False)
        with pytest.raises(GraphFormatError, match="promises 2 edges, but the file has 1"):
            self.read(tmp_path, head + "0 1\n")
        assert self.read(tmp_path, head + "0 1\n", check_counts=False).n_edges == 2
        assert self.read(tmp_path, "# Nodes: 3 Edges: 0\n").n_vertices == 3

    def test_columns(self, tmp_path: Path) -> None:
        text = "9 0 1 0.5\n8 1 2 0.25\n"
        graph = self.read(tmp_path, text, columns=(1, 2, 3))
        assert canonical(graph)[2].tolist() == [0.5, 0.25]
        assert not self.read(tmp_path, text, columns=(1, 2), weight=None).is_weighted
        assert self.read(tmp_path, text, columns=(1, 2), weight=0).max_weight == 9
        with pytest.raises(GraphFormatError, match="numbers in 0, 3: choose with weight='0'"):
            self.read(tmp_path, text, columns=(1, 2))
        assert not self.read(tmp_path, "0 1 9\n", weight=None).is_weighted
        assert self.read(tmp_path, "3 2\n0 1\n1 2\n", skip_lines=1).n_edges == 2
        with pytest.raises(OptionError, match="columns"):
            self.read(tmp_path, text, columns=(1, 1))


class TestDetection:
    def test_content_tells_the_two_gr_apart(self, tmp_path: Path) -> None:
        graph = Graph.from_edges([0, 1], [1, 0], [3, 4])
        write(graph, tmp_path / "text.gr")
        write(graph, tmp_path / "binary.gr", format="galois")
        assert detect(tmp_path / "text.gr") == "dimacs"
        assert detect(tmp_path / "binary.gr") == "galois"
        assert_same(read(tmp_path / "binary.gr"), graph)

    def test_content_beats_a_vague_name(self, tmp_path: Path) -> None:
        graph = Graph.from_edges([0, 1], [1, 0], [3, 4])
        for name in ("native", "matrix-market", "npz", "dimacs"):
            write(graph, tmp_path / "data.bin", format=name)
            assert detect(tmp_path / "data.bin") == name

    def test_name_against_content(self, tmp_path: Path) -> None:
        write(Graph.from_edges([0], [1], [3]), tmp_path / "g.mtx", format="dimacs")
        with pytest.raises(GraphFormatError, match="content is dimacs"):
            read(tmp_path / "g.mtx")
        assert read(tmp_path / "g.mtx", format="dimacs").n_edges == 1

    def test_edges_without_a_suffix(self, tmp_path: Path) -> None:
        (tmp_path / "g").write_text("# x\n0 1\n")
        assert detect(tmp_path / "g") == "edges"
        (tmp_path / "g").write_text("who knows\n")
        with pytest.raises(GraphFormatError, match="pass format="):
            detect(tmp_path / "g")

    def test_columns_as_text(self, tmp_path: Path) -> None:
        lines, table = tmp_path / "g.txt", tmp_path / "g.csv"
        lines.write_text("7 0 1\n8 1 2\n")
        table.write_text("km,a,b\n7,0,1\n8,1,2\n")
        for graph in (read(lines, columns="1,2,0"), read(table, columns="a,b,km")):
            assert (graph.n_vertices, graph.weights.tolist()) == (3, [7, 8])
        for wrong in ("0", "0,x", "", 3, [0, 1.5], "0,0"):
            with pytest.raises(OptionError, match="two or three"):
                read(lines, columns=wrong)
        for wrong in ("a", 3):
            with pytest.raises(OptionError, match="two or three"):
                read(table, columns=wrong)
        with pytest.raises(OptionError, match="where is 'a': give a dict"):
            read(table, where="a")
        with pytest.raises(OptionError, match="skip_lines is -1"):
            read(lines, skip_lines=-1)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".nfg", ".npz", ".mtx", ".gr"])
    def test_no_vertices_and_no_edges_come_back(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"none{suffix}"
        write(Graph.from_edges([], [], np.zeros(0, dtype=np.int32)), path)
        graph = read(path)
        assert (graph.n_vertices, graph.n_edges) == (0, 0)

    def test_the_format_is_that_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "g.gr").write_text("p sp 2 1\na 1 2 3\n")
        write(read(tmp_path / "g.gr"), tmp_path / "g.nfg")
        assert read(tmp_path / "g.nfg").attributes["format"] == "native"

    def test_unknown_names_and_options(self, tmp_path: Path) -> None:
        graph = Graph.from_edges([0], [1])
        with pytest.raises(OptionError, match="did you mean 'dimacs'"):
            read(tmp_path / "x", format="dimac")
        with pytest.raises(OptionError, match="give another suffix or a format, one of "):
            write(graph, tmp_path / "x.unknown")
        with pytest.raises(OptionError, match="cannot be written"):
            write(graph, tmp_path / "x.pbf")
        with pytest.raises(OptionError, match="no option 'bass'"):
            write(graph, tmp_path / "x.gr", bass=1)
        write(graph, tmp_path / "x.gr")
        with pytest.raises(OptionError, match="it has: directed"):
            read(tmp_path / "x.gr", direct=True)

    def test_compression_by_content(self, tmp_path: Path) -> None:
        graph = Graph.from_edges([0], [1], [3])
        for packed in COMPRESSIONS:
            write(graph, tmp_path / f"g.gr{packed}")
            (tmp_path / "plain.gr").write_bytes((tmp_path / f"g.gr{packed}").read_bytes())
            assert_same(read(tmp_path / "plain.gr"), graph)


class TestWriting:
    def test_a_failed_write_leaves_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "g.graph"
        path.write_text("old")
        with pytest.raises(GraphFormatError, match="undirected"):
            write(Graph.from_edges([0], [1]), path)
        assert path.read_text() == "old"
        assert [p.name for p in tmp_path.iterdir()] == ["g.graph"]

    def test_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(GraphFormatError, match=r"nowhere.*cannot be written"):
            write(Graph.from_edges([0], [1]), tmp_path / "nowhere" / "g.gr")
        with pytest.raises(GraphFormatError, match="folder"):
            write(Graph.from_edges([0], [1]), tmp_path, format="dimacs")

    @pytest.mark.parametrize("suffix", [".gr", ".txt", ".nfg", ".mtx"])
    @pytest.mark.parametrize("packed", PACKED)
    def test_equal_graphs_give_equal_files(self, suffix: str, packed: str, tmp_path: Path) -> None:
        graph = Graph.from_edges([0, 1, 1], [1, 0, 1], [3, 4, 5])
        for name in ("a", "b"):
            write(graph, tmp_path / f"{name}{suffix}{packed}")
        first, second = ((tmp_path / f"{n}{suffix}{packed}").read_bytes() for n in "ab")
        assert first == second

    def test_progress_reaches_the_end(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        k = 400_000
        graph = Graph.from_edges(
            rng.integers(0, k, k), rng.integers(0, k, k), rng.integers(1, 9, k)
        )
        said: list[tuple[str, int, int]] = []
        for name in ("g.gr", "g.txt.gz", "g.nfg", "g.mtx"):
            said.clear()
            write(graph, tmp_path / name, progress=lambda *a: said.append(a))
            assert said[-1][0] == "write"
            assert said[-1][1] == said[-1][2]
        said.clear()
        read(tmp_path / "g.txt.gz", progress=lambda *a: said.append(a))
        assert {stage for stage, _, _ in said} == {"decompress", "parse"}
        parsed = [done for stage, done, _ in said if stage == "parse"]
        assert parsed == sorted(parsed)
        assert said[-1][1] == said[-1][2]

    def test_an_exception_in_progress_stops_the_read(self, tmp_path: Path) -> None:
        write(Graph.from_edges([0], [1], [3]), tmp_path / "g.gr")

        def stop(stage: str, done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            read(tmp_path / "g.gr", progress=stop)

    @pytest.mark.parametrize(
        ("suffix", "make", "why"),
        [
            (".graph", lambda: Graph.from_edges([0, 0], [1, 0], directed=False), "self-loop"),
            (".graph", lambda: Graph.from_edges([0], [1], [0.5], directed=False), "integer"),
            (".wsg", lambda: Graph.from_edges([0], [1], [0.5]), "int32"),
            (".wsg", lambda: Graph.from_edges([0], [1], [2**40]), "int32"),
            (".jlg", lambda: Graph.from_edges([0], [1], [3]), "weights"),
            (".map", lambda: Graph.from_edges([0], [1], [3]), "coordinates"),
            (
                ".txt",
                lambda: Graph.from_edges([0], [1], vertex_names=["a b", "c"], names=False),
                "name",
            ),
        ],
    )
    def test_what_a_format_cannot_hold_is_refused(
        self, suffix: str, make: Callable[[], Graph], why: str, tmp_path: Path
    ) -> None:
        with pytest.raises(GraphFormatError, match=why):
            write(make(), tmp_path / f"g{suffix}")
        assert not list(tmp_path.iterdir())


def test_a_guessed_edge_list_that_fails_says_that_it_was_guessed(tmp_path: Path) -> None:
    """Regression: for a .sch file the message spoke of the fields of an edge list."""
    file = tmp_path / "psp3.sch"
    file.write_text("100\t5\t0\t0\n0\t1\t2\t8\t5\t[0]\t[0]\n")
    with pytest.raises(GraphFormatError, match=r"\.sch is of no known format, and as an edge list"):
        nearfar.read(file)
    with pytest.raises(GraphFormatError, match=r"line 2: the line has 7 fields"):
        nearfar.read(file, format="edges")
    named = tmp_path / "psp3.txt"
    named.write_bytes(file.read_bytes())
    with pytest.raises(GraphFormatError, match=r"line 2: the line has 7 fields"):
        nearfar.read(named)
