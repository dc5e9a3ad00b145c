"""Reading and writing graphs: :func:`read`, :func:`write`, :func:`detect`.

Each format has one file, which registers it in :mod:`nearfar.formats.specs`. Text formats
without a library are parsed in C++ over one buffer. A file that does not follow its format raises
:class:`nearfar.errors.GraphFormatError` with the file and, for text, the line; files are never
read partially.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from nearfar.errors import GraphFormatError, OptionError, by_name, keyword
from nearfar.formats.compression import split_suffix
from nearfar.formats.files import Source, finish, replacing
from nearfar.formats.roads.tntp import Traffic, read_flows, read_traffic, read_trips
from nearfar.formats.specs import Format, formats, with_suffix
from nearfar.options import file_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from nearfar.graph.graph import Graph

__all__ = [
    "Format",
    "Traffic",
    "detect",
    "formats",
    "read",
    "read_flows",
    "read_traffic",
    "read_trips",
    "write",
]

#: Files of lines and other shapes, which GeoPandas reads.
_GEOGRAPHIC = (".gpkg", ".geojson", ".shp", ".fgb")
# Suffixes that only mean "text" or "data": the content decides first.
_VAGUE = {"", ".txt", ".dat", ".data", ".bin"}


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    dtype: DTypeLike | None = None,
    max_unpacked: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> Graph:
    """Read a graph from a file, plain or compressed (.gz, .xz, .zst, .bz2).

    Parameters
    ----------
    path : str or path
    format : str or None
        Name of a format (see :func:`formats`); None detects it from suffix and content.
    dtype : dtype or None
        Dtype of the weights: int32, int64, float32 or float64; None keeps that of the file, with
        integers of a text file in int32 if all fit it.
    max_unpacked : int or None
        Maximum number of bytes of compressed or piped content. None means half of the free memory,
        and for a compressed file at most 200 times its size, or 256 MiB if that is more.
    progress : callable or None
        ``progress(stage, done, total)`` with stages ``"decompress"`` and ``"parse"``, in bytes.
    **options
        Options of the format, such as ``directed``; see the reference of formats. Every format
        takes ``weight=None``, which counts edges.

    Returns
    -------
    Graph
        Graph whose ``attributes`` hold ``source_file``, ``format`` and the metadata of the file.

    Raises
    ------
    GraphFormatError
        If the file is missing, damaged, cut short, or not of its format, or its content is
        larger than ``max_unpacked``; the message names file and line.
    OptionError
        For an unknown format or option.
    MissingDependencyError
        If the format needs a package that is not installed.

    Examples
    --------
    >>> graph = nearfar.read("USA-road-d.NY.gr.gz")             # doctest: +SKIP
    >>> graph = nearfar.read("wiki-Vote.txt", directed=False)   # doctest: +SKIP
    """
    # A wrong name fails before any reading.
    wanted = None if format is None else by_name(formats(), format, "format")
    source = Source(path, progress, max_unpacked)
    spec = wanted or _detect(source)
    if spec.read is None:
        raise OptionError(f"{spec.name} files can be written, but not read")
    counted = options.get("weight", "") is None
    if counted and not spec.counts_edges():
        del options["weight"]
    spec.check_options(options, writing=False)
    with finish(source.path):
        try:
            graph = spec.read(source, **options)
        except GraphFormatError as error:
            if wanted is not None or source.suffix in spec.suffixes or spec.sniff is not None:
                raise
            raise GraphFormatError(
                f"the suffix {source.suffix or '(none)'} is of no known format, and as an edge "
                f"list it fails: {error.message}; pass {keyword('format', ...)}, or convert the "
                "file first",
                error.path,
                error.line,
            ) from None
        if counted:
            graph = graph.without_weights()
            graph.attributes.pop("unit", None)
        graph.attributes.setdefault("source_file", os.path.basename(source.path))
        graph.attributes["format"] = spec.name  # containers store their own attributes
        return graph if dtype is None else graph.astype(dtype)


def write(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,
) -> None:
    """Write a graph to a file; a suffix .gz, .xz, .zst or .bz2 compresses it.

    The file appears under its name only when it is complete.

    Parameters
    ----------
    graph : Graph
    path : str or path
    format : str or None
        Name of a format; None determines it from the suffix.
    progress : callable or None
        ``progress("write", done, total)`` in edges.
    **options
        Options of the format.

    Raises
    ------
    GraphFormatError
        If the format cannot hold this graph (for example METIS and directed edges), or the file
        cannot be written.
    OptionError
        For an unknown format, suffix or option.
    """
    name = file_name(path)
    spec = written_as(name, format)
    spec.check_options(options, writing=True)
    with replacing(name, progress) as sink, finish(name):
        spec.write(graph, sink, **options)  # type: ignore[misc]  # it has a writer


def written_as(name: str, format: str | None) -> Format:
    """Return the format in which a file is written, with a writer."""
    named = None if format is None else [by_name(formats(), format, "format")]
    for spec in named or with_suffix(split_suffix(name)[0]):
        if spec.write is not None:
            return spec
    what = f"files named {os.path.basename(name)!r}" if format is None else f"{format} files"
    writable = [spec.name for spec in formats().values() if spec.write is not None]
    raise OptionError(
        f"{what} cannot be written: give another suffix or a format, one of {', '.join(writable)}"
    )


def detect(path: str | os.PathLike[str]) -> str:
    """Return the name of the format of a file, from its suffix and its first bytes.

    Parameters
    ----------
    path : path

    Returns
    -------
    str

    Raises
    ------
    GraphFormatError
        If suffix and content disagree, or neither identifies a format.
    """
    return _detect(Source(path)).name


def _detect(source: Source) -> Format:
    by_suffix = [spec for spec in with_suffix(source.suffix) if spec.read is not None]
    by_content = [
        spec
        for spec in formats().values()
        if spec.read is not None and spec.sniff is not None and spec.sniff(source.head)
    ]
    both = [spec for spec in by_suffix if spec in by_content]
    if both:
        return both[0]
    if by_content:
        if not by_suffix or source.suffix in _VAGUE:
            return by_content[0]
        content = by_content[0].name
        raise source.fail(
            f"the name says {by_suffix[0].name}, but the content is {content}: rename it, or pass "
            f"{keyword('format', content)}"
        )
    if by_suffix:
        unsure = [spec for spec in by_suffix if spec.sniff is None]
        return (unsure or by_suffix)[0]
    from nearfar.formats.lists.edges import looks_like_edges

    if looks_like_edges(source.head):
        return formats()["edges"]
    if source.suffix == ".nfp":
        raise source.fail("it is a prepared graph: nearfar.load opens it")
    if source.suffix in _GEOGRAPHIC:
        raise source.fail(
            "geographic tables are read by GeoPandas: in Python, "
            "Graph.from_geodataframe(geopandas.read_file(name)); then nearfar.write(graph, 'x.nfg')"
        )
    raise source.fail(
        f"neither the suffix {source.suffix or '(none)'} nor the content tells the format: pass "
        f"{keyword('format', ...)}, one of {', '.join(formats())}"
    )
