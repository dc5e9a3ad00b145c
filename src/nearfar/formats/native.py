r"""Native container `.nfg`: raw arrays after a JSON header, mapped instead of parsed.

Layout, little-endian throughout::

    0   8   magic "NEARFAR\n"
    8   4   version, 1
    12  4   length of the header in bytes
    16  4   CRC-32 of the header
    20  4   zero
    24      header: JSON in UTF-8, padded with blanks
    ...     arrays, each at a multiple of 64 bytes

The header names every array with dtype, shape and offset, the size of the whole file (so a
truncated file is detected at once), the graph's statistics (so that opening needs no pass over the
weights) and a SHA-256 of all arrays.

Indices, row starts and weights are checked when a container of any size is opened, in one pass
on all cores, since solvers rely on them. The digest is also compared up to 256 MiB, in a
compressed file, and with ``verify=True``. ``verify=False`` touches no array, so a graph of a
billion edges opens in milliseconds; it is for trusted files, because a damaged one can then
crash the process.

A file of at most 256 MiB is read into memory, except with ``verify=False``. A larger one stays
mapped while the graph exists, and a mapping follows changes of the file: truncating it ends the
process with SIGBUS at the next access, which cannot be turned into an error, and overwriting it
changes the graph. Replace a container by renaming another to its name, as :func:`nearfar.write`
does: the old content then remains until it is unmapped.
"""

from __future__ import annotations

import hashlib
import json
import struct
import warnings
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import GraphError, listed, quoted
from nearfar.formats.files import Sink, Source, array_of_names
from nearfar.formats.specs import Format, register
from nearfar.graph.build import HostArrays, index_dtype
from nearfar.graph.graph import Graph
from nearfar.graph.snapping.edge_arrays import edge_arrays, with_edge_arrays
from nearfar.graph.snapping.lines import EDGE_LINES, OF_EDGES, EdgeLines, edge_lines

MAGIC = b"NEARFAR\n"
VERSION = 1
ALIGNMENT = 64
VERIFY_BELOW = 256 << 20
_PREFIX = struct.Struct("<8sIIII")
_DTYPES = {"<i4", "<i8", "<f4", "<f8"}
_CHUNK = 1 << 24
_SCAN = {"n_negative", "first_negative", "n_zero", "min", "max", "mean"}


def sniff(head: bytes) -> bool:
    """Return whether the content begins with the magic bytes."""
    return head.startswith(MAGIC)


def read(source: Source, *, verify: bool | None = None) -> Graph:
    """Open a container."""
    if verify is not False and source.mapped and source.data.size <= VERIFY_BELOW:
        source.keep()
    header = read_header(source)
    arrays = {entry["name"]: _array(source, entry) for entry in header["arrays"]}
    for name in ("indptr", "indices"):
        if name not in arrays:
            raise source.fail(f"the header names no array {quoted(name)}")
    coordinates = arrays.get("coordinates")
    if coordinates is not None and (coordinates.dtype.kind != "f" or coordinates.size % 2):
        raise source.fail("the coordinates are not pairs of floats")
    kept: dict[str, Any] = {
        "directed": header.get("directed", True) is not False,
        "vertex_names": _names(source, arrays, header),
        "coordinates": None if coordinates is None else coordinates.reshape(-1, 2),
        "attributes": header.get("attributes", {}),
    }
    if not isinstance(kept["attributes"], dict):
        raise source.fail("the attributes in the header are not named")
    if "line_first" in arrays and "line_xy" in arrays:
        if arrays["line_xy"].dtype.kind != "f" or arrays["line_xy"].size % 2:
            raise source.fail("the points of lines are not pairs of floats")
        kept["attributes"][EDGE_LINES] = EdgeLines(
            arrays["line_first"], arrays["line_xy"].reshape(-1, 2)
        )
    try:
        kept["attributes"] = with_edge_arrays(
            kept["attributes"], arrays, len(arrays["indptr"]) - 1, len(arrays["indices"])
        )
    except GraphError as error:
        raise source.fail(str(error)) from None
    if verify is False:
        return _trusted(source, arrays, header, kept)
    if verify or not source.mapped:
        found = _digest([arrays[entry["name"]] for entry in header["arrays"]])
        if found != header.get("sha256"):
            raise source.fail(
                "the arrays do not have the SHA-256 that the header gives: the file is damaged"
            )
    graph: Graph = Graph.from_csr(
        arrays["indptr"], arrays["indices"], arrays.get("weights"), copy=False, **kept
    )
    edge_lines(graph)  # checks that the lines belong to the edges
    return graph


def read_header(source: Source) -> dict[str, Any]:
    """Return the JSON header after checking magic, version, checksum, file size and arrays."""
    data = source.data
    if data.size < _PREFIX.size or not source.head.startswith(MAGIC):
        raise source.fail("not a nearfar container: the magic at its start is missing")
    _, version, length, crc, _ = _PREFIX.unpack(source.head[: _PREFIX.size])
    if version != VERSION:
        raise source.fail(f"container version {version}: this release reads version {VERSION}")
    if data.size < _PREFIX.size + length:
        raise source.fail("the file ends inside its header")
    raw = data[_PREFIX.size : _PREFIX.size + length].tobytes()
    if zlib.crc32(raw) != crc:
        raise source.fail("the header does not match its checksum: the file is damaged")
    header = _parsed(source, raw, "header")
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        raise source.fail("the header has no list of arrays")
    for entry in header["arrays"]:
        if not isinstance(entry, dict) or not _is_entry(entry):
            raise source.fail(f"the header describes an array as {quoted(entry)}")
    size = header.get("file_size")
    if size != data.size:
        raise source.fail(
            f"the file has {data.size} bytes, but its header says {quoted(size)}: it is cut short "
            "or has grown"
        )
    result: dict[str, Any] = header
    return result


def _is_entry(entry: dict[str, Any]) -> bool:
    texts = entry.get("name"), entry.get("dtype")
    numbers = entry.get("offset"), entry.get("length")
    return all(isinstance(t, str) for t in texts) and all(type(n) is int for n in numbers)


def _parsed(source: Source, raw: bytes, what: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise source.fail(f"the {what} cannot be read as JSON: {error}") from None


def _array(source: Source, entry: dict[str, Any]) -> NDArray[Any]:
    """Return a view of one array into the file's bytes."""
    kind, offset, length = entry["dtype"], entry["offset"], entry["length"]
    if kind not in _DTYPES and kind != "|u1":
        raise source.fail(
            f"array {quoted(entry['name'])} has dtype {quoted(kind)}, which containers do not hold"
        )
    dtype = np.dtype(kind)
    stop = offset + length * dtype.itemsize
    if offset < 0 or offset % ALIGNMENT or length < 0 or stop > source.data.size:
        raise source.fail(f"array {quoted(entry['name'])} extends beyond the file")
    return source.data[offset:stop].view(dtype)


def _names(
    source: Source, arrays: dict[str, NDArray[Any]], header: dict[str, Any]
) -> NDArray[Any] | range | None:
    first = header.get("first_name")
    if first is not None:
        if not isinstance(first, int) or abs(first) > 2**62:
            raise source.fail(f"first_name is {quoted(first)}: the header is invalid")
        return range(first, first + len(arrays["indptr"]) - 1)
    if "names" in arrays:
        return arrays["names"]
    if "name_bytes" not in arrays:
        return None
    texts = _parsed(source, arrays["name_bytes"].tobytes(), "list of vertex names")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise source.fail("the vertex names are not a list of texts")
    return array_of_names(texts)


def _digest(arrays: list[NDArray[Any]]) -> str:
    state = hashlib.sha256()
    for array in arrays:
        raw = _bytes(array)
        for at in range(0, len(raw), _CHUNK):
            state.update(raw[at : at + _CHUNK])
    return state.hexdigest()


def _bytes(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).view(np.uint8).data if array.size else memoryview(b"")


def _trusted(
    source: Source, arrays: dict[str, NDArray[Any]], header: dict[str, Any], kept: dict[str, Any]
) -> Graph:
    """Return a graph over mapped arrays after checking only their shapes."""
    indptr, indices, weights = arrays["indptr"], arrays["indices"], arrays.get("weights")
    n, m = len(indptr) - 1, len(indices)
    expected = index_dtype(n, m)
    scan = header.get("scan")
    if (
        n < 0
        or indptr.dtype != expected
        or indices.dtype != expected
        or (weights is not None and len(weights) != m)
        or not isinstance(scan, dict)
        or not scan.keys() >= _SCAN
        or (kept["coordinates"] is not None and len(kept["coordinates"]) != n)
        or int(indptr[0]) != 0
        or int(indptr[-1]) != m
    ):
        raise source.fail("the arrays do not fit together")
    return Graph.from_checked(HostArrays(indptr, indices, weights, scan), copy=False, **kept)


def write(graph: Graph, sink: Sink) -> None:
    """Write a container with everything that JSON and arrays can represent."""
    arrays: list[tuple[str, NDArray[Any]]] = [("indptr", graph.indptr), ("indices", graph.indices)]
    if graph.weights is not None:
        arrays.append(("weights", graph.weights))
    if graph.coordinates is not None:
        arrays.append(("coordinates", graph.coordinates.reshape(-1)))
    lines = edge_lines(graph)
    if lines is not None:
        arrays += [("line_first", lines.first), ("line_xy", lines.xy.reshape(-1))]
    arrays += edge_arrays(graph).items()
    if isinstance(graph.vertex_names, np.ndarray):
        arrays.append(_packed_names(graph.vertex_names))
    plain = [(name, np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("<"))) for name, a in arrays]
    header: dict[str, Any] = {
        "n_vertices": graph.n_vertices,
        "n_edges": graph.n_edges,
        "directed": graph.directed,
        # first name, if names are consecutive numbers other than the indices
        "first_name": graph.vertex_names.start if isinstance(graph.vertex_names, range) else None,
        "scan": {key: _plain(value) for key, value in graph._scan.items()},
        "attributes": _kept_attributes(graph),
        "sha256": _digest([a for _, a in plain]),
    }
    raw, places = _layout(header, plain)
    sink.write(_PREFIX.pack(MAGIC, VERSION, len(raw), zlib.crc32(raw), 0) + raw)
    at = _PREFIX.size + len(raw)
    total = sum(a.nbytes for _, a in plain)
    done = 0
    for (_, array), place in zip(plain, places, strict=True):
        sink.write(bytes(place - at))
        view = _bytes(array)
        for start in range(0, len(view), _CHUNK):
            sink.write(view[start : start + _CHUNK])
            done += len(view[start : start + _CHUNK])
            sink.tell(graph.n_edges * done // max(total, 1), graph.n_edges)
        at = place + len(view)


def _layout(
    header: dict[str, Any], arrays: list[tuple[str, NDArray[Any]]]
) -> tuple[bytes, list[int]]:
    """Return the header's bytes, padded to a fixed length, and the arrays' offsets."""
    reserve = 256 * (len(arrays) + 1)
    body = len(json.dumps(header)) + reserve
    at = -(-(_PREFIX.size + body) // ALIGNMENT) * ALIGNMENT
    length = at - _PREFIX.size
    entries, places, end = [], [], at
    for name, array in arrays:
        at = -(-end // ALIGNMENT) * ALIGNMENT
        entries.append({"name": name, "dtype": array.dtype.str, "length": array.size, "offset": at})
        places.append(at)
        end = at + array.nbytes
    text = json.dumps({**header, "arrays": entries, "file_size": end})
    return text.encode().ljust(length), places


def _packed_names(names: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    if names.dtype.kind in "iu" and names.dtype != np.uint64:
        return "names", names.astype(np.int64)
    values = names.tolist()
    other = next((name for name in values if not isinstance(name, str)), None)
    if other is not None:
        warnings.warn(
            f"vertex names are read back as text, {quoted(other)} as {quoted(str(other))}: this "
            "file holds integers that fit 64 bits, or text",
            stacklevel=4,
        )
    text = json.dumps([str(name) for name in values]).encode()
    return "name_bytes", np.frombuffer(text, dtype=np.uint8)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _kept_attributes(graph: Graph) -> dict[str, Any]:
    """Return the attributes that JSON can represent, with a warning for the others."""
    given = {k: _plain(v) for k, v in graph.attributes.items() if k not in OF_EDGES}
    left = [str(name) for name, value in given.items() if not _is_json(value)]
    if left:
        warnings.warn(
            f"attributes {listed(left)} omitted: not text, numbers or lists", stacklevel=4
        )
    return {k: v for k, v in given.items() if _is_json(v)}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


register(
    Format(
        name="native",
        title="nearfar container: memory-mapped arrays, opened without parsing",
        suffixes=(".nfg",),
        read=read,
        write=write,
        sniff=sniff,
        keeps="everything",
    )
)
