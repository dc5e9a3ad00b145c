"""Broken files: each named fault is reported with its place, and random damage is detected."""

from __future__ import annotations

import gzip
import json
import os
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearfar import Graph
from nearfar.errors import GraphFormatError, NearfarError, OutOfMemoryError
from nearfar.formats import formats, native, read, write
from nearfar.formats.compression import COMPRESSIONS
from nearfar.formats.roads.movingai import read_scenarios

MM = "%%MatrixMarket matrix coordinate real general\n"
MAP = "type octile\nheight 2\nwidth 3\nmap\n"
ML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="edge" attr.name="weight" attr.type="double"/>
<key id="x" for="node" attr.name="x" attr.type="string"/>
<graph edgedefault="directed">
<node id="a"/><node id="b"/>
"""

# suffix, content, line (None: the format has no lines there), part of the message
BROKEN: list[tuple[str, str, int | None, str]] = [
    (".gr", "c nothing\n", 2, "no problem line"),
    (".gr", "p sp 3 2\na 1 2 5\n", 1, "promises 2 edges, but the file has 1"),
    (".gr", "p sp 3 1\na 1 2 5\na 2 3 1\n", 3, "more edges than the 1"),
    (".gr", "p sp 3 1\na 1 4 5\n", 2, "target 4 is outside 1 to 3"),
    (".gr", "p sp 3 1\na 0 1 5\n", 2, "source 0 is outside"),
    (".gr", "p sp 3 1\na 1 2 x\n", 2, "weight 'x' is not a number"),
    (".gr", "p sp 3 1\na 1 2 nan\n", 2, "not a finite number"),
    (".gr", "p sp 3 1\na 1 2 inf\n", 2, "not a finite number"),
    (".gr", "p sp 3 1\na 1 2 1e999\n", 2, "does not fit a 64-bit float"),
    (".gr", f"p sp 3 1\na 1 2 {2**63}\n", 2, "does not fit 64 bits"),
    (".gr", "p sp 3 1\na 1 2\n", 2, "ends before the weight"),
    (".gr", "p sp 3 1\na 1\n", 2, "ends before the target"),
    (".gr", "p sp 3 1\na 1 2 3 4\n", 2, "unexpected '4'"),
    (".gr", "p sp 3 1\na 1.5 2 3\n", 2, "source '1.5' is not an integer"),
    (".gr", "p sp 3 1\nb 1 2 3\n", 2, "starts with 'b'"),
    (".gr", "p sp 3 1\np sp 3 1\n", 2, "second problem line"),
    (".gr", "a 1 2 3\np sp 3 1\n", 1, "before the problem line"),
    (".gr", "p max 3 1\n", 1, "problem type 'max'"),
    (".gr", "p sp 3 99999999\na 1 2 3\n", 1, "promises 99999999 edges"),
    (".gr", "p sp 99999999999 1\na 1 2 3\n", 1, "promises 99999999999 vertices"),
    (".gr", "p sp -3 1\n", 1, "negative"),
    (".gr", "p sp 3 -1\n", 1, "negative"),
    (".txt", "# only comments\n", 1, "no edge"),
    (".txt", "0 1\n1\n", 2, "1 field"),
    (".txt", "0 1\n1 2 3\n", 2, "3 fields"),
    (".txt", "0 1\n1 x\n", 2, "target 'x' is not an integer"),
    (".txt", "0 1 2\n1 2 nan\n", 2, "not a finite number"),
    (".txt", "0,1\n1,\n", 2, "empty"),
    (".txt", f"0 1\n1 {2**63}\n", 2, "does not fit 64 bits"),
    (".txt", "5\n", 1, "1 field"),
    (".el", "0 1\n-1 2\n", None, "negative"),
    (".mtx", MM + "% no sizes\n", 3, "no size line"),
    (".mtx", MM + "2 3 1\n1 1 1\n", 2, "square"),
    (".mtx", MM + "2 2 1\n1 3 1\n", 3, "column 3 is outside 1 to 2"),
    (".mtx", MM + "2 2 1\n0 1 1\n", 3, "row 0 is outside 1 to 2"),
    (".mtx", MM + "2 2 2\n1 2 1\n", 2, "promises 2 entries, but the file has 1"),
    (".mtx", MM + "2 2 1\n\n1 2 1\n\n2 1 1\n", 6, "more entries than the 1"),
    (".mtx", MM + "2 2 1\n1 2 x\n", 3, "value 'x' is not a number"),
    (".mtx", MM + "2 2 1\n1 2\n", 3, "ends before the value"),
    (".mtx", MM + "2 2 1\n1 2 nan\n", 3, "not a finite number"),
    (".mtx", MM + "2 2 99999999\n1 2 1\n", 2, "promises 99999999 edges"),
    (".mtx", MM + "99999999 99999999 1\n1 2 1\n", 2, "promises 99999999 vertices"),
    (".mtx", MM + "-1 -1 0\n", 2, "negative"),
    (".mtx", MM + "2 2\n", 2, "ends before the number of entries"),
    (".mtx", MM + "2 2 1 1\n1 2 1\n", 2, "unexpected '1'"),
    (".mtx", MM.replace("real", "complex") + "2 2 1\n1 2 1 1\n", 1, "complex"),
    (".mtx", MM.replace("real", "text") + "2 2 1\n1 2 1\n", 1, "field 'text'"),
    (".mtx", MM.replace("general", "hermitian") + "2 2 1\n1 2 1\n", 1, "hermitian"),
    (".mtx", MM.replace("general", "skew-symmetric") + "2 2 1\n2 2 1\n", 3, "diagonal"),
    (".mtx", MM.replace("coordinate", "array") + "2 2\n1\n2\n3\n", 2, "promises 4 entries"),
    (".mtx", MM.replace("real", "pattern") + "2 2 1\n1 2 1\n", 3, "unexpected '1'"),
    (".mtx", "2 2 1\n1 2 1\n", 1, "%%MatrixMarket"),
    # SciPy's reader left the process with SIGSEGV on these ...
    (".mtx", MM + "3 3 2\n1 2 1.0\n2 3 1.0x", 4, "value '1.0x' is not a number"),
    (".mtx", MM + "3 3 2\n1 2 1.0\n2 3 1.0\0", 4, "value '1.0?' is not a number"),
    (".mtx", MM + "3 3 2\n1 2 1.0\n2 \0003 1.0\n", 4, "column '?3' is not an integer"),
    # ... and read these as something else.
    (".mtx", MM.replace("real", "integer") + "2 2 1\n1 2 1.5\n", 3, "'1.5' is not an integer"),
    (".mtx", MM + "2 2 1\n1 2 1.0x\n", 3, "value '1.0x' is not a number"),
    (".mtx", MM + "2 2 1\n1 2 1.0 7\n", 3, "unexpected '7'"),
    (".graph", "% c\n\n", 3, "no header"),
    (".graph", "3 1\n2\n1\n", 4, "after 2 of 3 vertex lines"),
    (".graph", "2 1\n2\n1\n1\n", 4, "more vertex lines"),
    (".graph", "2 2\n2\n1\n", 1, "promises 2 edges"),
    (".graph", "2 1\n3\n1\n", 2, "neighbour 3 is outside"),
    (".graph", "3 1\n2\n3\n\n", 2, "vertices 1 and 2 disagree"),
    (".graph", "2 1 1\n2 5\n1 6\n", 2, "vertices 1 and 2 disagree"),
    (".graph", "2 1 1\n2\n1 6\n", 2, "before the weight"),
    (".graph", "2 1 7\n2\n1\n", 1, "format 7"),
    (".graph", "2 1\n2 x\n1\n", 2, "'x' is not an integer"),
    (".map", "type octile\nheight 2\nmap\n...\n...\n", 3, "before type, height and width"),
    (".map", MAP + "...\n", 6, "after 1 of 2 map lines"),
    (".map", MAP + "...\n..\n", 6, "has 2 cells, but width is 3"),
    (".map", MAP + "...\n.x.\n", 6, "'x' in column 2"),
    (".map", MAP + "...\n...\n...\n", 7, "more map lines"),
    (".map", "type tile\n", 1, "only octile"),
    (".map", "type octile\nheight 99999\nwidth 99999\nmap\n", 2, "does not fit"),
    (".jlg", "3,2,x,graph\n1,2\n", 1, "first line"),
    (".jlg", "3,2,u,graph\n1,2\n", 1, "promises 2 edges"),
    (".jlg", "3,1,d,graph\n1,4\n", 2, "outside 1 to 3"),
    (".csv", "source,target,weight\n0,1,2\n0,1\n", 3, "expected 3 fields as in the header, got 2"),
    (".csv", "# c\nsource,target\n\n0,1\n\n0,1,5\n", 6, "got 3"),
    (".csv", "source,target,weight\n0,1,\n", 2, "empty in 1 row"),
    (".csv", "source,target,weight\na,b,1\n\nb,,1\n", 4, "'target' is empty in 1 row"),
    (".csv", "source,target,weight\n0,1,NA\n", 2, "weight 'NA'"),
    (".csv", "source,target,weight\n0,1,1_000\n", 2, "weight '1_000'"),
    (".csv", "source,target,weight\n0,1,nan\n", 2, "weight nan is not a finite number"),
    (".csv", "source,target,weight\n1.0,2.0,3\n", None, "holds double, first 1.0"),
    (".csv", "source,target,weight\n1,2,3\n3,007,3\n", 3, "'007' in column 'target' begins"),
    (".csv", "007,1,3\n", 1, "source '007' begins with zeros: names=True"),
    (".csv", "a,b,3\nb,c,4\n", 1, "or format='edges' for a file without names of columns"),
    (".csv", f"source,target,weight\n0,1,5\n1,2,{2**63}\n", 3, "does not fit 64 bits"),
    (".csv", '"a\nb",target,weight\n0,1,2\n', 1, r"'a\nb', target, weight"),
    (".txt", "1 2\n2 -01\n", 2, "target '-01' begins with zeros"),
    (".txt", "1.0 2\n2 3\n", 1, "source '1.0' is not an integer"),
    (".txt", "1.0 2 5\n2 3 6\n", 1, "source '1.0' is not an integer"),
    (".csv", "source,target,weight\n0,1,2\n1,2,x\n", 3, "weight 'x'"),
    (".csv", "source,source,weight\n0,1,2\n", 1, "2 columns are called 'source': rename them"),
    (".csv", "source,target,weight,weight\n0,1,2,3\n", 1, "2 columns are called 'weight'"),
    (".csv", "Source,source,target\n0,1,2\n", 1, "match 'source', Source, source: choose with"),
    (".csv", "source,target,Weight,WEIGHT\n0,1,2,3\n", 1, "match 'weight', Weight, WEIGHT"),
    (".csv", "source,target,km,km\n0,1,2,3\n", 1, "no column 'weight', but numbers in km"),
    (".csv", "source,target\nA,B\nB, A\n", None, "'A' and ' A' differ only by blanks: remove"),
    (".csv", "source,target,weight\n0,1,0.5\n0,1,inf\n", 3, "finite"),
    (".parquet", "no parquet", None, "magic"),
    (".npz", "no zip", None, "not a valid SciPy"),
    (".nfg", "no container", None, "magic"),
    (".gt", "no graph-tool", None, "magic"),
    (".sg", "short", None, "header"),
    (".pbf", "no protobuf at all, and long enough to be read as one", None, "OpenStreetMap"),
    (".graphml", ML, 6, "not a valid GraphML file: no element found"),
    (".graphml", ML + "<edge source='a'/>", 6, "an element 'edge' has no target"),
    (".graphml", ML + "<node/>", 6, "an element 'node' has no id"),
    (".graphml", ML + "<node id='c'><data key='k'/>", 6, "no key 'k'"),
    (".graphml", ML + "<node id='c'><data key='x'>east</data>", 6, "vertex attribute 'x' is not"),
    (".graphml", ML + "<edge source='a' target='b'>\n<data key='w'>1 h</data>", 7, "one is '1 h'"),
    (
        ".graphml",
        ML + "<edge source='a' target='b' directed='false'/>",
        6,
        "some edges are directed",
    ),
    (".graphml", ML + "<hyperedge/>", 6, "hyperedges are not supported"),
    (".graphml", ML + "<node id='c'><graph/>", 6, "graphs inside vertices or edges are not"),
    (".graphml", "<graphml>\n</graphml>\n", None, "the file has no graph"),
]


@pytest.mark.parametrize(("suffix", "text", "line", "message"), BROKEN)
def test_named_fault(
    suffix: str, text: str, line: int | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / f"broken{suffix}"
    path.write_text(text)
    with pytest.raises(GraphFormatError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert caught.value.line == line
    if line is not None:
        assert f"line {line}:" in str(caught.value)


@pytest.mark.parametrize("name", ["g.gr", "g.txt", "g.nfg", "g.mtx.gz", "g.npz"])
def test_missing_empty_and_folder(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with pytest.raises(GraphFormatError, match="no such file"):
        read(path)
    path.touch()
    with pytest.raises(GraphFormatError, match=r"empty|not gzip"):
        read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(GraphFormatError, match="folder"):
        read(path)
    with pytest.raises(GraphFormatError, match="cannot be opened"):
        read("nul\0byte.gr")


TEXTS = {
    ".gr": "p sp 3 2\na 1 2 4\na 2 3 5\n",
    ".txt": "# c\n0 1 4\n1 2 5\n",
    ".csv": "source,target,weight\na,b,4\nb,c,5\n",
    ".mtx": "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 4\n2 3 5\n",
    ".graph": "3 2 1\n2 4\n1 4 3 5\n2 5\n",
    ".wel": "0 1 4\n1 2 5\n",
    ".graphml": ML + "<edge source='a' target='b'/></graph></graphml>\n",
    ".jlg": "3,2,d,graph\n1,2\n2,3\n",
    ".map": "type octile\nheight 2\nwidth 3\nmap\n...\n...\n",
}


@pytest.mark.parametrize("suffix", TEXTS)
def test_what_editors_do_to_text(suffix: str, tmp_path: Path) -> None:
    """Regression: of lines that end in CR an edge list silently gave one edge."""
    if suffix == ".csv":
        pytest.importorskip("pyarrow")
    path, text = tmp_path / f"g{suffix}", TEXTS[suffix]
    path.write_text(text)
    want = read(path)
    for changed in (
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + text.encode(),
        gzip.compress(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()),
    ):
        path.write_bytes(changed)
        found = read(path)
        assert found.indptr.tolist() == want.indptr.tolist()
        assert found.indices.tolist() == want.indices.tolist()
        assert found.effective_weights.tolist() == want.effective_weights.tolist()
    path.write_bytes(text.encode("utf-16"))
    with pytest.raises(GraphFormatError, match="UTF-16 text: save it as UTF-8"):
        read(path)
    path.write_bytes(b"\xef\xbb\xbf")
    with pytest.raises(GraphFormatError, match="the file is empty"):
        read(path)


def test_serialised_graphs_lose_no_weights_silently(tmp_path: Path) -> None:
    graph = Graph.from_edges([0], [1], np.array([7], dtype=np.int32))
    with pytest.raises(GraphFormatError, match=r"which only \.wsg holds"):
        write(graph, tmp_path / "g.sg")
    write(graph, tmp_path / "g.wsg")
    assert read(tmp_path / "g.wsg").weights.tolist() == [7]
    write(graph, tmp_path / "g.sg", weighted=False)
    write(graph.without_weights(), tmp_path / "g.sg")
    assert read(tmp_path / "g.sg").weights is None


def test_coordinates_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "g.gr").write_text("p sp 2 1\na 1 2 3\n")
    for text, line, message in [
        ("p aux sp co 3\nv 1 0 0\nv 2 0 0\nv 3 0 0\n", None, "the graph has 2"),
        ("p aux sp co 2\nv 1 0 0\n", 1, "promises 2 vertices"),
        ("p aux sp co 2\nv 1 0 0\nv 1 0 0\n", 3, "appears twice"),
        ("p aux sp co 2\nv 1 0 0\nv 2 0 nan\n", 3, "not a finite number"),
        ("p aux sp co 2\nv 1 0 0\nv 2 0\n", 3, "before both"),
        ("v 1 0 0\n", 1, "before the problem line"),
    ]:
        (tmp_path / "g.co").write_text(text)
        with pytest.raises(GraphFormatError, match=message) as caught:
            read(tmp_path / "g.gr")
        assert caught.value.line == line
        assert "g.co" in str(caught.value)
    (tmp_path / "g.co").unlink()
    with pytest.raises(GraphFormatError, match=r"no \.co file"):
        read(tmp_path / "g.gr", coordinates=True)


@pytest.mark.parametrize("packed", list(COMPRESSIONS))
def test_cut_and_mislabelled_streams(packed: str, tmp_path: Path) -> None:
    path = tmp_path / f"g.gr{packed}"
    rng = np.random.default_rng(2)
    write(
        Graph.from_edges(rng.integers(0, 99, 999), rng.integers(0, 99, 999), rng.random(999)), path
    )
    whole = path.read_bytes()
    for keep in (len(whole) - 1, len(whole) - 9, len(whole) // 2, 12):
        path.write_bytes(whole[:keep])
        with pytest.raises(GraphFormatError, match=r"damaged or cut short|empty inside"):
            read(path)
    path.write_text("p sp 1 0\n")
    with pytest.raises(GraphFormatError, match=f"ends in {packed}, but the content is not"):
        read(path)


def test_concatenated_streams_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "g.gr.gz"
    path.write_bytes(gzip.compress(b"p sp 2 2\na 1 2 3\n") + gzip.compress(b"a 2 1 4\n"))
    assert read(path).n_edges == 2
    zstandard = pytest.importorskip("zstandard")
    pack = zstandard.ZstdCompressor().compress
    path = tmp_path / "g.gr.zst"
    path.write_bytes(pack(b"p sp 2 2\na 1 2 3\n") + pack(b"a 2 1 4\n"))
    assert read(path).n_edges == 2


def test_native_header_faults(tmp_path: Path) -> None:
    path = tmp_path / "g.nfg"
    write(Graph.from_edges([0, 1], [1, 0], [3, 4]), path)
    whole = path.read_bytes()
    for change, message in [
        (whole[:-1], "cut short or has grown"),
        (whole + b"\0", "cut short or has grown"),
        (whole[:100], "ends inside its header"),
        (whole[:30] + b"?" + whole[31:], "checksum"),
        (whole[:8] + struct.pack("<I", 2) + whole[12:], "version 2"),
    ]:
        path.write_bytes(change)
        with pytest.raises(GraphFormatError, match=message):
            read(path)


def container(header: object, arrays: bytes = b"", prefix: int = 24) -> bytes:
    """Return a container with any header and the right checksum."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    raw = raw.ljust(-(-(prefix + len(raw)) // 64) * 64 - prefix)
    return struct.pack("<8sIIII", b"NEARFAR\n", 1, len(raw), zlib.crc32(raw), 0) + raw + arrays


_ENTRY = {"name": "indptr", "dtype": "<i4", "offset": 256, "length": 1}


@pytest.mark.parametrize("verify", [None, True, False])
@pytest.mark.parametrize(
    "header",
    [
        b"[" * 100_000,
        b'{"arrays": ' + b"[" * 100_000,
        b'{"arrays": [], "file_size": Infinity}',
        b'{"arrays": [], "file_size": -Infinity}',
        b"\xff\xfe",
        [],
        {},
        {"arrays": {}},
        {"arrays": [1]},
        {"arrays": [[]]},
        {"arrays": [{}]},
        {"arrays": [{**_ENTRY, "name": ["indptr"]}]},
        {"arrays": [{**_ENTRY, "dtype": {}}]},
        {"arrays": [{**_ENTRY, "dtype": "O"}], "file_size": 256},
        {"arrays": [{**_ENTRY, "offset": float("inf")}]},
        {"arrays": [{**_ENTRY, "offset": 1e300}]},
        {"arrays": [{**_ENTRY, "offset": -64}], "file_size": 192},
        {"arrays": [{**_ENTRY, "offset": 10**40}], "file_size": 192},
        {"arrays": [{**_ENTRY, "length": -1}], "file_size": 192},
        {"arrays": [{**_ENTRY, "length": 2**62}], "file_size": 192},
        {"arrays": [{**_ENTRY, "length": True}], "file_size": 192},
        {"arrays": [], "file_size": 64},
    ],
    ids=lambda header: repr(header)[:40],
)
def test_crafted_container_headers(header: object, verify: bool | None, tmp_path: Path) -> None:
    """A right checksum over a header that no writer produces."""
    path = tmp_path / "g.nfg"
    path.write_bytes(container(header))
    with pytest.raises(GraphFormatError, match=r"header|file has|inside the file|do not hold"):
        read(path, verify=verify)


def test_a_large_container_is_checked_too(tmp_path: Path, monkeypatch: Any) -> None:
    """Regression: one index out of range in a file above 256 MiB crashed the process."""
    path = tmp_path / "g.nfg"
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(*rng.integers(0, 99, (2, 999)), rng.random(999), n_vertices=99)
    write(graph, path)
    whole = path.read_bytes()
    header = json.loads(whole[24 : 24 + int.from_bytes(whole[12:16], "little")])
    place = {entry["name"]: entry["offset"] for entry in header["arrays"]}
    monkeypatch.setattr(native, "VERIFY_BELOW", 0)
    for name, value, message in [
        ("indices", struct.pack("<i", 2**31 - 1), "edge 5 goes to 2147483647"),
        ("indices", struct.pack("<i", -7), "edge 5 goes to -7"),
        ("indptr", struct.pack("<i", 2**30), r"indptr\[\d\] is"),
        ("weights", struct.pack("<d", np.nan)[-4:], "weights must be finite"),
    ]:
        at = place[name] + (5 * 8 + 4 if name == "weights" else 20)
        path.write_bytes(whole[:at] + value + whole[at + 4 :])
        with pytest.raises(GraphFormatError, match=message):
            read(path)


def test_a_container_that_shrinks_after_it_was_read(tmp_path: Path) -> None:
    """Regression: solving raised SIGBUS; up to 256 MiB the graph does not depend on the file."""
    path = tmp_path / "g.nfg"
    rng = np.random.default_rng(1)
    graph = Graph.from_edges(*rng.integers(0, 9999, (2, 99_999)), n_vertices=9999)
    write(graph, path)
    found = read(path)
    os.truncate(path, 100)
    assert np.array_equal(found.indices, graph.indices)
    with pytest.raises(GraphFormatError, match="ends inside its header"):
        read(path)


def test_names_that_would_fill_the_memory(tmp_path: Path, monkeypatch: Any) -> None:
    """Each of a million names would take the space of the longest one."""
    monkeypatch.setattr("nearfar.system.memory.free_memory", lambda: 1 << 27)
    path = tmp_path / "g.txt"
    path.write_text("x" * 100_000 + " y\n" + "".join(f"v{i} y\n" for i in range(1000)))
    with pytest.raises(OutOfMemoryError, match="the longest one"):
        read(path)


def test_scenario_faults(tmp_path: Path) -> None:
    path = tmp_path / "g.scen"
    path.write_text("version 1\n0\tmap\t4\t4\t0\t0\t1\t1\n")
    with pytest.raises(GraphFormatError, match="8 fields") as caught:
        read_scenarios(path)
    assert caught.value.line == 2
    for wrong in ("nan", "1.5", "-1", "99999999999"):  # regression: nan became the cell -2**63
        path.write_text(f"version 1\n\n0\tmap\t4\t4\t0\t{wrong}\t1\t1\t1.4\n")
        with pytest.raises(GraphFormatError, match=f"'{wrong}' is not a number") as caught:
            read_scenarios(path)
        assert caught.value.line == 3
    path.write_text("0\tmap\t4\t4\t0\t0\t1\t1\t1.4\n")
    with pytest.raises(GraphFormatError, match="version"):
        read_scenarios(path)


#: Package of each extra.
_PACKAGES = {"tables": "pyarrow", "osm": "osmium", "networkx": "networkx"}


def samples(tmp_path: Path) -> dict[str, Path]:
    """Return one valid file per format."""
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 30, (2, 120))
    directed = Graph.from_edges(*ends, rng.integers(1, 50, 120).astype(np.int32), n_vertices=30)
    loopless = ends[:, ends[0] != ends[1]]
    undirected = Graph.from_edges(*loopless, n_vertices=30, directed=False)
    found: dict[str, Path] = {}
    for name, spec in formats().items():
        path = tmp_path / f"sample-{name}{spec.suffixes[0]}"
        if name == "movingai":
            rows = ("".join(rng.choice(list("...@T"), 12)) for _ in range(9))
            path.write_text("type octile\nheight 9\nwidth 12\nmap\n" + "\n".join(rows) + "\n")
        elif name == "graph-tool":
            path.write_bytes(graph_tool_bytes(undirected))
        elif name == "osm":
            path.with_suffix(".osm").write_text(_OSM)
            path = path.with_suffix(".osm")
        elif name == "tntp":
            path.write_text(_TNTP)
        elif name == "gap":
            path = path.with_suffix(".wsg")  # .sg holds no weights
            write(directed, path)
        elif name in ("metis", "graphs-jl"):
            write(undirected, path, format=name)
        else:
            write(directed, path, format=name)
        found[name] = path
    return found


_TNTP = (
    "<NUMBER OF ZONES> 3\n<NUMBER OF NODES> 9\n<FIRST THRU NODE> 1\n<NUMBER OF LINKS> 24\n"
    "<END OF METADATA>\n~ init term capacity length time b power speed toll type ;\n"
) + "".join(
    f"{1 + i % 9} {1 + (i * 5 + 3) % 9} {900 + i} 1.5 {i / 4} 0.15 4 0 0 1 ;\n" for i in range(24)
)
_OSM = """<?xml version='1.0' encoding='UTF-8'?>
<osm version="0.6">
<node id="7" version="1" lat="60.0" lon="24.0"/>
<node id="8" version="1" lat="60.001" lon="24.0"/>
<node id="9" version="1" lat="60.002" lon="24.001"/>
<way id="1" version="1"><nd ref="7"/><nd ref="8"/><nd ref="9"/>
<tag k="highway" v="residential"/></way>
</osm>
"""


def graph_tool_bytes(graph: Graph, weight: str = "weight") -> bytes:
    out = [b"\xe2\x9b\xbe gt", bytes([1, 0]), struct.pack("<Q", 4), b"test", bytes([0])]
    out.append(struct.pack("<Q", graph.n_vertices))
    for u in range(graph.n_vertices):
        row = graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
        row = row[row >= u]
        out += [struct.pack("<Q", len(row)), row.astype(np.uint8).tobytes()]
    k = graph.n_edges // 2
    values = np.arange(k, dtype="<f8") + 0.5
    out += [struct.pack("<Q", 2), bytes([2]), struct.pack("<Q", len(weight))]
    out += [
        weight.encode(),
        bytes([4]),
        values.tobytes(),
        bytes([1]),
        struct.pack("<Q", 3),
        b"pos",
        bytes([11]),
    ]
    out += [struct.pack("<Qdd", 2, v, -v) for v in range(graph.n_vertices)]
    return b"".join(out)


@pytest.mark.parametrize("name", sorted(formats()))
def test_random_damage_is_an_error_or_a_graph(name: str, tmp_path: Path) -> None:
    """Truncate, flip, insert or delete bytes: the result is a library error or a valid graph."""
    if formats()[name].extra:
        pytest.importorskip(_PACKAGES[str(formats()[name].extra)])
    sample = samples(tmp_path)[name]
    whole = sample.read_bytes()
    assert read(sample).n_vertices > 0
    rng = random.Random(name)
    refused = named = 0
    rounds = 60 if name == "osm" else 250
    for round_ in range(rounds):
        data = bytearray(whole)
        kind = round_ % 4
        at = rng.randrange(len(data))
        if kind == 0:
            del data[at:]
        elif kind == 1:
            for _ in range(rng.choice([1, 1, 3, 20])):
                data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 8])))
        else:
            digits = [i for i, byte in enumerate(data) if chr(byte).isdigit()] or [at]
            data[rng.choice(digits)] = ord(rng.choice("0123456789-. e"))
        sample.write_bytes(data)
        try:
            graph = read(sample, format=name)
        except GraphFormatError as error:
            refused += str(sample) in str(error)
            named += 1
        else:
            _check(graph)
    assert refused == named  # every error names the file
    assert refused > rounds // 10


def _check(graph: Graph) -> None:
    assert graph.indptr[0] == 0
    assert graph.indptr[-1] == graph.n_edges
    assert (np.diff(graph.indptr) >= 0).all()
    if graph.n_edges:
        assert graph.indices.min() >= 0
        assert graph.indices.max() < graph.n_vertices
        assert np.isfinite(graph.effective_weights).all()


@pytest.mark.parametrize("size", [1, 7, 40, 5000])
@pytest.mark.parametrize("name", sorted(formats()))
def test_garbage(name: str, size: int, tmp_path: Path) -> None:
    spec = formats()[name]
    if spec.extra:
        pytest.importorskip(_PACKAGES[str(spec.extra)])
    rng = np.random.default_rng(size)
    for suffix in spec.suffixes:
        path = tmp_path / f"garbage{suffix}"
        for _ in range(5):
            path.write_bytes(rng.integers(0, 256, size).astype(np.uint8).tobytes())
            with pytest.raises(NearfarError) as caught:
                read(path)
            assert isinstance(caught.value, GraphFormatError)


def test_missing_packages_name_their_extra(tmp_path: Path, monkeypatch: Any) -> None:
    import sys

    from nearfar.errors import MissingDependencyError

    write(Graph.from_edges([0], [1], [3]), tmp_path / "g.csv.zst")
    for module, extra in (("zstandard", "zstd"), ("pyarrow", "tables")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingDependencyError, match=rf"nearfar\[{extra}\]"):
            read(tmp_path / "g.csv.zst")
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "osmium", None)
    (tmp_path / "g.osm").write_text(_OSM)
    with pytest.raises(MissingDependencyError, match=r"nearfar\[osm\]"):
        read(tmp_path / "g.osm")


def test_names_that_are_not_utf8_have_a_line(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_bytes("# towns\na b 1\nb Zürich 2\n".encode("latin-1"))
    with pytest.raises(GraphFormatError, match="save the file as UTF-8") as caught:
        read(path)
    assert caught.value.line == 3


def test_names_with_blanks_around_them_are_kept_on_request(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "g.csv"
    path.write_text("source,target\nA,B\nB, A\n")
    assert read(path, names=True).vertex_names.tolist() == ["A", "B", " A"]  # type: ignore[union-attr]
