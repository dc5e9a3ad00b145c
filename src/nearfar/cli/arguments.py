"""Arguments that several commands share: graphs, vertices, methods, options."""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cli.console import note
from nearfar.cli.parser import flag, set_completer
from nearfar.errors import OptionError, VertexError, listed, quoted
from nearfar.formats import formats, read, write
from nearfar.graph.geography import nearest_vertices, on_earth
from nearfar.graph.graph import Graph
from nearfar.system.progress import Progress

if TYPE_CHECKING:
    from nearfar.graph.turns import TurnGraph

#: Name of standard input.
STDIN = "/dev/stdin"


def add_graph(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add the GRAPH argument and the options of its reader."""
    parser.add_argument(
        "graph",
        metavar="GRAPH",
        nargs="?" if optional else None,
        help="graph file, plain or .gz, .xz, .zst, .bz2; or .nfp, as `nearfar prepare` writes it; "
        "- for standard input",
    )
    text = "format of GRAPH, if name and content do not tell; `nearfar convert --list` shows all"
    form = flag(parser, "--format NAME", text)
    set_completer(form, lambda **_: list(formats()))
    add_reader_options(parser)


def add_reader_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading a graph."""
    text = "column or attribute of the weights, 'none' to count edges (default: weight)"
    flag(parser, "--weight NAME", text)
    add_key_values(parser, "--read-option", "option of the reader, such as directed=false")


def add_key_values(to: argparse._ActionsContainer, name: str, text: str) -> None:
    """Add a repeatable flag of options for :func:`key_values`."""
    flag(to, f"{name} KEY=VALUE", f"{text} (repeatable)", action="append", default=[])


def reader_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the keywords of :func:`nearfar.read` for :func:`add_reader_options`."""
    options = key_values(args.read_option, "--read-option")
    if args.weight is not None:
        options["weight"] = value_of(args.weight)
    return options


def device_name(text: str) -> str:
    """Read a device; ``gpu`` is ``cuda`` (an argparse type)."""
    return "cuda" if text == "gpu" else text


def add_device(to: argparse._ActionsContainer, text: str, *names: str) -> None:
    """Add the flag of a device; ``auto`` is its default if it is one of the names."""
    default = "auto" if "auto" in names else None
    flag(to, "--device", text, device_name, choices=list(names), default=default)


def number(text: str) -> int | float:
    """Read an int, or a float for anything that is not one (an argparse type)."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def at_least_one(text: str) -> int:
    """Read an integer above 0 (an argparse type)."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


at_least_one.__name__ = "integer of at least 1"  # shown by argparse in errors


def at_least_zero(text: str) -> float:
    """Read a finite number of at least 0 (an argparse type)."""
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError(text)
    return value


at_least_zero.__name__ = "number of at least 0"


def byte_count(text: str) -> int:
    """Read a number of bytes, such as 4000000, 500M or 4G (an argparse type)."""
    digits, unit = text, text[-1:].upper()
    shift = {"K": 10, "M": 20, "G": 30, "T": 40}.get(unit, 0)
    if shift:
        digits = text[:-1]
    size = float(digits) * (1 << shift)
    if not 1 <= size < math.inf:
        raise ValueError(text)
    return int(size)


byte_count.__name__ = "number of bytes"  # shown by argparse in errors


def value_of(text: str) -> Any:
    """Read the value of KEY=VALUE: a number, true, false, none, or the text itself."""
    named = {"true": True, "false": False, "none": None}
    if text.lower() in named:
        return named[text.lower()]
    try:
        return number(text)
    except ValueError:
        return text


def key_values(given: list[str], flag: str) -> dict[str, Any]:
    """Read repeated KEY=VALUE arguments."""
    found: dict[str, Any] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise OptionError(f"{flag} {quoted(item)} is not of the form KEY=VALUE")
        name = key.strip().replace("-", "_")
        if name in found:
            raise OptionError(f"{flag} gives {name} twice: give it once")
        found[name] = value_of(value.strip())
    return found


def load_methods() -> None:
    """Import all methods, so that measured times do not include imports."""
    from nearfar.registry import variants

    variants()


def read_graph(args: argparse.Namespace) -> tuple[Graph, float]:
    """Read the graph named by :func:`add_graph`, and return it with the seconds taken."""
    return read_file(args, args.graph, args.format)


def read_file(
    args: argparse.Namespace, file: str, form: str | None, dtype: str | None = None
) -> tuple[Graph, float]:
    """Read a graph in a given or detected format, and return it with the seconds taken.

    A file of ``nearfar prepare`` is read as a prepared graph.
    """
    from nearfar.prepared.prepare import load

    began = time.perf_counter()
    options = reader_options(args)
    if file.endswith(".nfp") and form is None:
        if options:
            raise OptionError(
                f"--weight and --read-option are for graph files: {file} is a prepared graph"
            )
        with Progress(f"reading {file}", enabled=not args.quiet):
            graph: Graph = load(file)
            graph = graph if dtype is None else graph.astype(dtype)
    else:
        with Progress(f"reading {file}", enabled=not args.quiet) as progress:
            name = STDIN if file == "-" else file
            stage = progress.stage
            graph = read(name, format=form, dtype=dtype, progress=stage, **options)
    return graph, time.perf_counter() - began


def read_with_turns(args: argparse.Namespace) -> tuple[Graph, Graph | TurnGraph]:
    """Return the graph of a file and the graph to search; they differ with ``--turns``."""
    from nearfar.prepared.prepare import load

    if args.turns and args.graph.endswith(".nfp"):
        ready = load(args.graph, turns=True)
        return ready.original, ready
    graph, _ = read_graph(args)
    return graph, with_turns(args, graph) if args.turns else graph


def with_turns(args: argparse.Namespace, graph: Graph) -> Graph | TurnGraph:
    """Return the graph with its turn restrictions, or unchanged if there are none."""
    from nearfar.prepared.prepared import Prepared

    if isinstance(graph, Prepared):
        raise OptionError(
            "--turns is for graph files: this prepared graph holds no turn restrictions"
        )
    turns = graph.forbidden_turns
    left_out = graph.attributes.get("restrictions_left_out", {})
    note(
        args,
        f"{len(turns):,} forbidden turns"
        + (f"; {sum(left_out.values()):,} restrictions could not be used" if left_out else ""),
    )
    return graph.with_turns(forbidden=turns) if turns else graph


def write_graph(args: argparse.Namespace, graph: Graph, form: str | None) -> float:
    """Write a graph to ``args.output`` in a format, or that of its name; return the seconds."""
    began = time.perf_counter()
    options = key_values(args.write_option, "--write-option")
    with Progress(f"writing {args.output}", enabled=not args.quiet) as progress:
        write(graph, args.output, format=form, progress=progress.stage, **options)
    return time.perf_counter() - began


_PLACE = re.compile(r"(-?\d+(?:\.\d+)?),\s*(-?\d+(?:\.\d+)?)")


def two_numbers(text: str) -> tuple[float, float] | None:
    """Return the numbers of a place, such as LAT,LON; None for other text."""
    place = _PLACE.fullmatch(text)
    return None if place is None else (float(place[1]), float(place[2]))


def _nearest_to_place(
    args: argparse.Namespace, graph: Graph, text: str, first: float, second: float
) -> Any:
    """Return the vertex nearest to LAT,LON or X,Y; report its distance on stderr."""
    if graph.coordinates is None:
        raise VertexError(f"{text} is a place, and this graph has no coordinates: name a vertex")
    geographic = on_earth(graph)
    if geographic and not (abs(first) <= 90 and abs(second) <= 180):
        raise VertexError(f"{text} is not a place on the Earth: write LAT,LON in degrees")
    x, y = (second, first) if geographic else (first, second)
    found, away = nearest_vertices(graph, x, y)
    name = graph.name_of(int(found[0]))
    unit = " m" if geographic else ""
    note(args, f"{text} is nearest to vertex {name}, {away[0]:,.4g}{unit} away")
    return name


def read_vertex(args: argparse.Namespace, graph: Graph, text: str, what: str = "vertex") -> Any:
    """Convert a vertex from the command line to its external name, or index without names.

    A place, ``LAT,LON`` in degrees or ``X,Y`` in other coordinates, is the vertex nearest to it.
    """
    place, numbers = two_numbers(text), graph.vertex_numbers
    if place is not None and not graph._are_names(text):
        return _nearest_to_place(args, graph, text, *place)
    candidates: list[Any] = [text]
    for read_number in (int, float):
        with contextlib.suppress(ValueError):
            candidates.append(read_number(text))
            break
    if numbers is not None:
        if not isinstance(candidates[-1], int):
            some = f"the vertices are numbered {numbers.start} to {numbers.stop - 1}"
            known = some + _comma_hint(graph, text) if numbers else "the graph is empty"
            raise VertexError(f"{what} {quoted(text)} is not a vertex: {known}")
        graph.index_of(candidates[-1], what)
        return candidates[-1]
    for name in candidates:
        if name == name and graph._are_names(name):  # not NaN
            return name
    shown = listed(graph.name_of(np.arange(min(3, graph.n_vertices))).tolist())
    raise VertexError(
        f"{what} {quoted(text)} is not a vertex of this graph; its {graph.n_vertices:,} vertices "
        f"are named like: {shown}{_comma_hint(graph, text)}"
    )


def _comma_hint(graph: Graph, text: str) -> str:
    """Return advice if the text is several vertices separated by commas, else an empty string."""
    parts, numbers = [part.strip() for part in text.split(",")], graph.vertex_numbers
    known = (
        all(part.isdecimal() and int(part) in numbers for part in parts)
        if numbers is not None
        else all(graph._are_names(part) for part in parts)
    )
    if len(parts) < 2 or not known:
        return ""
    return f"; separate several vertices by spaces: {' '.join(parts)}"


def vertex_list(
    args: argparse.Namespace, graph: Graph, given: list[str] | None, what: str = "vertex"
) -> list[Any] | None:
    """Read several vertices, or None."""
    return None if given is None else [read_vertex(args, graph, text, what) for text in given]


def decay_of(text: str) -> Any:
    """Read a decay with its optional scale (an argparse type)."""
    kind, colon, scale = text.partition(":")
    if not colon:
        return text
    try:
        return kind, float(scale)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: give a number after the colon") from None
