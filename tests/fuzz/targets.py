"""Targets: every format, plain and compressed, and saved rows, with their readers."""

from __future__ import annotations

import bz2
import functools
import gzip
import hashlib
import io
import json
import lzma
import math
import random
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nearfar
from nearfar import Graph, Prepared
from nearfar.cli.answers import SUFFIXES, save_answer
from nearfar.cli.saved_answers import load_answer
from nearfar.errors import NearfarError
from nearfar.formats import formats, native, read, write
from nearfar.formats.roads.movingai import read_scenarios
from nearfar.solve.rows.row_files import read_rows
from tests.formats.test_formats_broken import samples
from tests.fuzz.mutations import damaged

__all__ = ["Target", "check_graph", "prepared_file", "prepared_parts", "targets", "use_prepared"]


@dataclass
class Target:
    """One kind of input.

    Attributes
    ----------
    name : str
    seeds : list of bytes
        Valid inputs.
    parse : callable
        ``(rng, data, folder)``: reads the bytes, and raises the errors that a user would see.
    pack, unpack : callables
        Conversions between the file and the bytes to damage, for content with a checksum.
    """

    name: str
    seeds: list[bytes]
    parse: Callable[[random.Random, bytes, Path], None]
    pack: Callable[[bytes], bytes] = bytes
    unpack: Callable[[bytes], bytes] = bytes

    def made(self, rng: random.Random) -> bytes:
        """Return one damaged input; content with a checksum is damaged before or after sealing."""
        whole = rng.choice(self.seeds)
        if rng.random() < 0.8:
            return self.pack(damaged(rng, self.unpack(whole)))
        return damaged(rng, whole)


def check_graph(graph: Graph, solve: bool = True) -> None:
    """Check the invariants that solvers rely on, and solve once."""
    assert graph.indptr[0] == 0
    assert graph.indptr[-1] == graph.n_edges == len(graph.indices)
    assert (np.diff(graph.indptr) >= 0).all()
    if graph.n_edges:
        assert graph.indices.min() >= 0
        assert graph.indices.max() < graph.n_vertices
        assert np.isfinite(graph.effective_weights).all()
    assert graph.vertex_names is None or len(graph.vertex_names) == graph.n_vertices
    assert graph.coordinates is None or graph.coordinates.shape == (graph.n_vertices, 2)
    if solve and 0 < graph.n_vertices < 10_000:
        source = 0 if graph.vertex_names is None else graph.vertex_names[0]
        try:
            nearfar.sssp(graph, source)
        except NearfarError:  # a negative cycle, a sum above 64 bits, two vertices of one name
            return


_OPTIONS: dict[str, list[Any]] = {
    "directed": [True, False],
    "diagonal": [False],
    "names": [True, False],
    "header": [True, False],
    "weighted": [True, False],
    "renumber": [True, False],
    "base": [0, 1],
    "columns": ["0,1", "1,0,2"],
    "skip_lines": [1, 10**9],
    "check_counts": [False],
    "data": ["int", "uint", "float"],
    "weight": ["w", False],
    "verify": [True],
    "coordinates": [False],
}


def reader(name: str, suffix: str, solve: bool) -> Callable[[random.Random, bytes, Path], None]:
    spec = formats()[name]

    def parse(rng: random.Random, data: bytes, folder: Path) -> None:
        path = folder / f"case{suffix}"
        path.write_bytes(data)
        given: dict[str, Any] = {"format": name} if rng.random() < 0.5 else {}
        if given:
            for option in spec.read_options():
                values = _OPTIONS.get(option)
                if values and rng.random() < 0.2 and (option, name) != ("weight", "osm"):
                    given[option] = rng.choice(values)
        native.VERIFY_BELOW = rng.choice([0, 256 << 20])
        check_graph(read(path, **given), solve)

    return parse


def _reseal(header_and_arrays: bytes) -> bytes:
    """Return a container with right checksums, if its header can still be read."""
    data = bytearray(header_and_arrays)
    if len(data) < 24:
        return bytes(data)
    (length,) = struct.unpack_from("<I", data, 12)
    length = min(length, len(data) - 24)
    raw = bytes(data[24 : 24 + length])
    try:
        header = json.loads(raw)
        state = hashlib.sha256()
        for entry in header["arrays"]:
            size = np.dtype(entry["dtype"]).itemsize * entry["length"]
            state.update(data[entry["offset"] : entry["offset"] + size])
        old, new = str(header["sha256"]).encode(), state.hexdigest().encode()
        if len(old) == len(new):
            raw = raw.replace(old, new)
        grown, said = str(len(data)).encode(), str(header["file_size"]).encode()
        if len(grown) == len(said):
            raw = raw.replace(b'"file_size": ' + said, b'"file_size": ' + grown)
    except Exception:  # damage may have left anything
        pass
    data[24 : 24 + length] = raw
    struct.pack_into("<II", data, 12, length, zlib.crc32(raw))
    return bytes(data)


def _unzip(whole: bytes) -> bytes:
    """Return every member of an archive, after a line with its name and size."""
    out = []
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        for member in archive.infolist():
            raw = archive.read(member)
            out.append(f"{member.filename} {len(raw)}\n".encode() + raw)
    return b"".join(out)


def _zip(flat: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        while flat:
            head, _, flat = flat.partition(b"\n")
            name, _, size = head.decode("latin-1").partition(" ")
            count = int(size) if size.isdecimal() and len(size) < 9 else 64
            name = re.sub(r"[^\w.]", "_", name)
            if name and name not in archive.namelist():
                archive.writestr(name, flat[:count])
            flat = flat[count:]
    return out.getvalue()


def _scenarios(rng: random.Random, data: bytes, folder: Path) -> None:
    path = folder / "case.scen"
    path.write_bytes(data)
    read_scenarios(path)


def _coordinates(rng: random.Random, data: bytes, folder: Path) -> None:
    (folder / "case.co").write_bytes(data)
    (folder / "case.gr").write_text("p sp 3 1\na 1 2 5\n")
    check_graph(read(folder / "case.gr", coordinates=folder / "case.co"), solve=False)
    (folder / "case.co").unlink()


def _resumed(suffix: str, place: Path) -> Target:
    """Return a target of a manifest for saved rows: the run resumes, restarts or is refused."""
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [4, 5, 6, 7])
    truth = nearfar.distances(graph)
    whole = place / f"rows{suffix}"
    nearfar.distances(graph, out=whole, block=2)
    manifest = whole.with_name(whole.name + ".manifest.json")

    def parse(rng: random.Random, data: bytes, folder: Path) -> None:
        mine = folder / whole.name
        (shutil.copytree if whole.is_dir() else shutil.copy)(whole, mine)
        (folder / manifest.name).write_bytes(data)
        try:
            nearfar.distances(graph, out=mine, block=2)
            rows = read_rows(mine)[1] if suffix == ".parquet" else np.load(mine)
            assert np.array_equal(rows, truth)
        finally:
            shutil.rmtree(mine) if mine.is_dir() else mine.unlink()

    return Target(f"manifest{suffix}", [manifest.read_bytes()], parse)


def _saved_rows(place: Path) -> Target:
    whole = next((place / "rows.parquet").glob("block-*0.parquet"))

    def parse(rng: random.Random, data: bytes, folder: Path) -> None:
        (folder / "block-000000.parquet").write_bytes(data)
        sources, rows = read_rows(folder)
        assert len(sources) == len(rows)

    return Target("rows.parquet", [whole.read_bytes()], parse)


def _answer(suffix: str, place: Path) -> Target:
    """Return a target of a saved distance table, as `nearfar verify` reads it."""
    graph = Graph.from_edges(
        [0, 1, 2], [1, 2, 0], [4.0, 5.0, 6.5], vertex_names=["a", "b", "7"], names=False
    )
    whole = place / f"answer{suffix}"
    save_answer(str(whole), nearfar.sssp(graph, "a"), predecessors=True)
    pack, unpack = {
        ".csv.gz": (gzip.compress, gzip.decompress),
        ".npz": (_zip, _unzip),
    }.get(suffix, (bytes, bytes))

    def parse(rng: random.Random, data: bytes, folder: Path) -> None:
        (folder / whole.name).write_bytes(data)
        saved = load_answer(str(folder / whole.name), graph)
        assert saved.distances.shape == (3,)

    return Target(f"answer{suffix}", [whole.read_bytes()], parse, pack, unpack)


def _prepared(place: Path) -> Iterator[Target]:
    """Return targets of prepared graphs: header or arrays damaged, with right checksums."""
    ends = np.arange(40)
    ring = Graph.from_edges(
        *(ends, (ends + 1) % 40, ends + 1), vertex_names=[f"v{end}" for end in ends], names=False
    )
    rng = np.random.default_rng(3)
    tails, heads = rng.integers(0, 30, (2, 90))
    both = Graph.from_edges(tails, heads, rng.random(90), n_vertices=30, directed=False)
    plain = Graph.from_edges(tails, heads, n_vertices=30)
    seeds = []
    for number, graph in enumerate((ring, both, plain)):
        whole = place / f"prepared{number}.nfp"
        nearfar.prepare(graph, order="multilevel", force=True).save(whole)
        seeds.append(whole.read_bytes())

    def parse(rng: random.Random, data: bytes, folder: Path) -> None:
        (folder / "case.nfp").write_bytes(data)
        use_prepared(nearfar.load(folder / "case.nfp"))

    yield Target("prepared", seeds, parse, _right_header)
    for number, seed in enumerate(seeds):
        header, arrays = prepared_parts(seed)
        pack = functools.partial(prepared_file, header)
        yield Target(f"prepared-arrays{number}", [arrays], parse, pack)


def _right_header(data: bytes) -> bytes:
    if len(data) < 24:
        return data
    (length,) = struct.unpack_from("<Q", data, 16)
    length = min(length, len(data) - 24)
    crc = struct.pack("<I", zlib.crc32(data[24 : 24 + length]))
    return data[:12] + crc + struct.pack("<Q", length) + data[24:]


def use_prepared(graph: Prepared) -> None:
    """Run every kind of loop over the arrays of a prepared graph."""
    first, last = graph.name_of(0), graph.name_of(graph.n_vertices - 1)
    graph.distance(first, last)
    rows = nearfar.distances(graph, [first, last], method="elimination_tree_rows")
    assert rows[0, 0] == rows[1, -1] == 0
    nearfar.sssp(graph, last, method="elimination_tree")
    graph.distances_of_pairs([(first, last), (last, first)])
    graph.label().distances_of_pairs([(first, last)])
    graph.reweight(graph.effective_weights + 1)
    graph.update([0], [graph.effective_weights[0]])
    graph.path(first, last)


def prepared_parts(whole: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header of a prepared graph's file, and its concatenated arrays."""
    (length,) = struct.unpack_from("<Q", whole, 16)
    return json.loads(whole[24 : 24 + length]), whole[-(-(24 + length) // 64) * 64 :]


def prepared_file(header: dict[str, Any], arrays: bytes) -> bytes:
    """Return a file of these arrays with right checksums."""
    entries = []
    for entry in header["arrays"]:
        size = np.dtype(entry["dtype"]).itemsize * math.prod(entry["shape"])
        part = arrays[entry["offset"] : entry["offset"] + size]
        entries.append({**entry, "crc": zlib.crc32(part)})
    text = json.dumps({**header, "arrays": entries}).encode()
    prefix = struct.pack("<8sIIQ", b"nearfar\0", 2, zlib.crc32(text), len(text))
    return (prefix + text).ljust(-(-(24 + len(text)) // 64) * 64, b"\0") + arrays


def targets(place: Path, *, only: str = "", solve: bool = True) -> list[Target]:
    """Return all kinds of input whose name starts with ``only``; write seeds to ``place``."""
    found = [*_files(place, solve), *_compressed(place, solve)]
    beside = b"c x\np aux sp co 3\nv 1 5 -7\nv 2 0 0\nv 3 1 1\n"
    found.append(Target("coordinates", [beside], _coordinates))
    scen = b"version 1\n0\tarena.map\t4\t4\t0\t0\t1\t1\t1.41\n1\ta b.map\t4\t4\t0\t3\t1\t1\t2.5\n"
    found.append(Target("scenarios", [scen], _scenarios))
    if solve:
        found += [_resumed(suffix, place) for suffix in (".npy", ".parquet")]
        found.append(_saved_rows(place))
        found += _prepared(place)
        found += [_answer(suffix, place) for suffix in SUFFIXES]
    return [target for target in found if target.name.startswith(only)]


def _files(place: Path, solve: bool) -> Iterator[Target]:
    """Yield one target per format, and per kind of table."""
    for name, path in samples(place).items():
        seeds, parse = [path.read_bytes(), *_more(name, place)], reader(name, path.suffix, solve)
        if name == "native":
            yield Target(name, seeds, parse, pack=_reseal)
        elif name == "npz":
            yield Target(name, seeds, parse, _zip, _unzip)
        else:
            yield Target(name, seeds, parse)
        if name == "table":
            for other in (".parquet", ".arrow"):
                file = place / f"more{other}"
                write(read(path), file)
                yield Target(name + other, [file.read_bytes()], reader(name, other, solve))


def _compressed(place: Path, solve: bool) -> Iterator[Target]:
    """Yield DIMACS text, damaged before or after compression."""
    import zstandard

    text = (place / "sample-dimacs.gr").read_bytes()
    one = zstandard.ZstdCompressor(write_checksum=True)
    for suffix, pack, unpack in [
        (".gz", gzip.compress, gzip.decompress),
        (".xz", lzma.compress, lzma.decompress),
        (".bz2", bz2.compress, bz2.decompress),
        (".zst", one.compress, zstandard.ZstdDecompressor().decompress),
    ]:
        parse = reader("dimacs", f".gr{suffix}", solve)
        yield Target(f"dimacs{suffix}", [pack(text)], parse, pack, unpack)


def _more(name: str, place: Path) -> list[bytes]:
    """Yield further shapes of a format in addition to its sample."""
    if name == "native":
        file = place / "named.nfg"
        graph = Graph.from_edges(
            *([0, 1], [1, 2], [0.5, 2.0]),
            vertex_names=["a", "b", "ccc"],
            names=False,
            coordinates=np.zeros((3, 2)),
            attributes={"unit": "m"},
        )
        write(graph, file)
        return [file.read_bytes()]
    return {
        "dimacs": [b"c x\np tw 4 2\n1 2\n2 3\n", b"t title\np sp 3 2\nn 1\na 1 2 0.5\na 2 3 1e3\n"],
        "edges": [
            b"# Undirected graph\n# Nodes: 5 Edges: 3\n0 1\n1 2\n3 4\n",
            b"from,to,weight\na,b,1\nb,c,2.5\n",
            b"-5;7;1\n7;9000000000;2\n",
        ],
        "matrix-market": [
            b"%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 3\n",
            b"%%MatrixMarket matrix array real general\n2 2\n0\n1.5\n2.5\n0\n",
            b"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 1 -7\n",
        ],
        "metis": [b"3 2 001\n2 4\n1 4 3 5\n2 5\n", b"2 1 011 2\n9 9 2 1\n9 9 1 1\n"],
        "table": [b'source;target;weight\n"a";"b";1\nb;c;2\n', b"u\tv\n1\t2\n"],
    }.get(name, [])
