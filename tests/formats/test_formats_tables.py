"""Tables of edges: columns, rows, lines, weights and names."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar import Graph
from nearfar.errors import GraphFormatError
from nearfar.formats import read, write
from nearfar.formats.compression import COMPRESSIONS

PACKED = ("", *COMPRESSIONS)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".arrow", ".feather"])
@pytest.mark.parametrize("packed", PACKED)
def test_tables_with_names(suffix: str, packed: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    graph = Graph.from_edges(
        [0, 1, 2, 2],
        [1, 2, 0, 1],
        [1.5, 2.25, 0.1, 1e300],
        vertex_names=["Oslo", "Rīga", 'a "b", c'],
        names=False,
    )
    path = tmp_path / f"t{suffix}{packed}"
    write(graph, path)
    found = read(path)
    order = [found.index_of(name) for name in graph.vertex_names]  # type: ignore[union-attr]
    dense = found.to_scipy().toarray()[np.ix_(order, order)]
    np.testing.assert_array_equal(dense, graph.to_scipy().toarray())
    assert found.attributes["columns"] == ["source", "target", "weight"]


def test_table_columns_and_rows_are_chosen(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.csv"
    path.write_text("kind,~from,~to,miles:int,note\nr,1,2,5,x\ns,2,3,7,y\nr,0,1,9,\n")
    graph = read(path, columns=("~from", "~to", "miles:int"), where={"kind": "r"})
    assert (graph.n_vertices, graph.n_edges) == (3, 2)
    assert graph.weights is not None
    assert graph.weights.tolist() == [9, 5]
    assert graph.weights.dtype == np.int32
    with pytest.raises(GraphFormatError, match="no column 'cost'"):
        read(path, columns=("~from", "~to", "cost"))
    path.write_text("a,b\n1,2\n")
    with pytest.raises(GraphFormatError, match="pass columns="):
        read(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("2,3,,y", "line 4: column 'weight' is empty in 1 row"),
        ("2,3,inf,y", "line 4: weight inf is not a finite number"),
        ("02,3,7,y", "line 4: '02' in column 'from' begins with zeros"),
        (f"2,3,{10**20},y", f"line 4: weight '{10**20}' does not fit 64 bits"),
    ],
)
def test_lines_of_chosen_rows_are_those_of_the_file(
    tmp_path: Path, rows: str, message: str
) -> None:
    """Regression: a row left out before a bad one shifted the line in the error."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.csv"
    path.write_text(f"from,to,weight,kind\n1,2,3,x\n1,3,4,y\n{rows}\n")
    with pytest.raises(GraphFormatError, match=message):
        read(path, where={"kind": "y"})
    with pytest.raises(GraphFormatError, match="no row has 'z' in column 'kind'"):
        read(path, where={"kind": "z"})
    with pytest.raises(GraphFormatError, match="column 'kind' holds string: no row equals 3"):
        read(path, where={"kind": 3})


def test_rows_left_out_are_not_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.csv"
    path.write_text(f"from,to,weight,kind\n1,2,{10**20},x\n1,3,1e30,y\n")
    assert read(path, where={"kind": "y"}).max_weight == 1e30


def test_rows_of_a_file_without_lines_are_counted_in_the_file(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    kind, weight = ["x", "y", "y"], [1.0, 2.0, None]
    table = {"source": [0, 1, 2], "target": [1, 2, 3], "weight": weight, "kind": kind}
    parquet.write_table(arrow.table(table), tmp_path / "t.parquet")
    with pytest.raises(GraphFormatError, match="first in row 2"):
        read(tmp_path / "t.parquet", where={"kind": "y"})


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".txt"])
@pytest.mark.parametrize("ends", ["names", "numbers"])
def test_weights_are_never_dropped_silently(tmp_path: Path, suffix: str, ends: str) -> None:
    """Regression: a file with the columns from, to and km was solved in hops."""
    first, second = (["a", "b"], ["b", "c"]) if ends == "names" else ([0, 1], [1, 2])

    def file(**columns: list[Any]) -> Path:
        path = tmp_path / f"g{suffix}"
        if suffix == ".parquet":
            pa = pytest.importorskip("pyarrow")
            importlib.import_module("pyarrow.parquet").write_table(pa.table(columns), path)
            return path
        gap = {".csv": ",", ".tsv": "\t", ".txt": " "}[suffix]
        rows = [columns, *zip(*columns.values(), strict=True)]
        path.write_text("".join(gap.join(map(str, row)) + "\n" for row in rows))
        return path

    path = file(**{"from": first, "to": second, "km": [3, 4]})
    with pytest.raises(GraphFormatError, match="no column 'weight', but numbers in km") as told:
        read(path)
    assert "weight='km'; weight=None counts edges" in str(told.value)
    assert read(path, weight="km").weights.tolist() == [3, 4]
    assert not read(path, weight=None).is_weighted
    with pytest.raises(GraphFormatError, match=r"no column 'kms'; did you mean 'km'\?"):
        read(path, weight="kms")
    path = file(**{"from": first, "to": second, "weight": [3, 4], "km": [5, 6]})
    assert read(path).weights.tolist() == [3, 4]
    assert read(path, weight="km").weights.tolist() == [5, 6]
    path = file(**{"from": first, "to": second, "note": ["x", "y"]})
    if suffix != ".txt" or ends == "numbers":
        assert not read(path).is_weighted
    with pytest.raises(GraphFormatError, match=r"column|weight"):
        read(path, weight="note")


@pytest.mark.parametrize("text", ["from,to,weight\na,b,2\n", "from\tto\tweight\na\tb\t2\n"])
def test_text_without_a_suffix_is_a_table_where_that_is_said(tmp_path: Path, text: str) -> None:
    """Regression: piped content without a name was neither Parquet nor Arrow."""
    path = tmp_path / "stdin"
    path.write_text(text)
    graph = read(path, format="table")
    assert (graph.vertex_names.tolist(), graph.weights.tolist()) == (["a", "b"], [2])
    path.write_bytes(b"PAR\0")
    with pytest.raises(GraphFormatError, match="neither Parquet nor an Arrow file"):
        read(path, format="table")


def test_a_vertex_without_a_name_is_no_text(tmp_path: Path) -> None:
    graph = Graph.from_edges(["", "a"], ["a", "b"], [1, 2])
    with pytest.raises(GraphFormatError, match=r"vertices without names: write \.parquet"):
        write(graph, tmp_path / "g.csv")
    write(graph, tmp_path / "g.parquet")
    assert read(tmp_path / "g.parquet").vertex_names.tolist() == ["", "a", "b"]
    with pytest.raises(GraphFormatError, match="a table file cannot hold this: Unsupported"):
        write(Graph.from_edges([(0, 0)], [(0, 1)]), tmp_path / "g.csv")
