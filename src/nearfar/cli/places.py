"""Read tables of places, whose columns are recognised by name and reported."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.cli.arguments import read_vertex, two_numbers
from nearfar.cli.console import note
from nearfar.cli.flags import add_flags
from nearfar.cli.parser import flag
from nearfar.cli.tables import FileTable
from nearfar.errors import OptionError, quoted
from nearfar.graph.geography import on_earth
from nearfar.graph.graph import Graph

if TYPE_CHECKING:
    from nearfar.solve.places.given import NamedPlaces

#: Columns that name places, in order of preference, if --id names none.
_IDS = ("id", "name", "label", "osmid", "geoid")


def add_snapping(parser: argparse.ArgumentParser, function: Callable[..., Any]) -> None:
    """Add the flags for places on streets and for the turns between them."""
    group = parser.add_argument_group("places")
    add_flags(group, function, ["to", "parts", "max_distance"])
    add_turns(group)


def add_turns(to: argparse._ActionsContainer) -> None:
    """Add the flag that :func:`nearfar.cli.arguments.read_with_turns` reads."""
    flag(to, "--turns", "obey the turn restrictions of an OpenStreetMap file or of a .nfp file")


def add_tables(parser: argparse.ArgumentParser, function: Callable[..., Any]) -> None:
    """Add the tables of origins and destinations, and the column that names them."""
    texts = {"origins": "table of places, .csv or .parquet", "destinations": "likewise"}
    add_flags(parser, function, texts, help=texts)
    flag(parser, "--id COLUMN", "column with the names of places in both tables")


@contextlib.contextmanager
def remarks(args: argparse.Namespace, graph: Graph) -> Iterator[None]:
    """Print warnings of the library as remarks of the program."""
    if graph.forbidden_turns and not getattr(args, "turns", False):
        without = " without --turns" if hasattr(args, "turns") else ""
        note(args, f"{len(graph.forbidden_turns):,} forbidden turns are ignored{without}")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for text in dict.fromkeys(str(one.message) for one in told):
                note(args, text.replace("parts='all'", "--parts all"))


def read_places(
    args: argparse.Namespace, graph: Graph, path: str, what: str, values: str | None = None
) -> tuple[NamedPlaces, Any]:
    """Read places from a CSV or Parquet table, and a column of values where one is named."""
    from nearfar.solve.places.given import NamedPlaces, coordinate_columns

    table = FileTable(path)
    columns = table.columns
    x, y = coordinate_columns(graph, columns, path)
    wanted = getattr(args, "id", None)
    table.check(*(name for name in (wanted, values) if name is not None))
    named = wanted or next((c for kind in _IDS for c in columns if c.strip().lower() == kind), None)
    labels = np.arange(1, len(columns[x]) + 1) if named is None else _labels(columns[named])
    places = NamedPlaces(table.array(x), table.array(y), labels)
    extra = None if values is None else table.array(values)
    east, north = ("longitude", "latitude") if on_earth(graph) else ("x", "y")
    called = "numbered from 1" if named is None else f"named by {named!r}"
    note(args, f"{path}: {east} in {x!r}, {north} in {y!r}; {len(labels):,} {what} {called}")
    return places, extra


def _labels(column: list[Any]) -> Any:
    """Return names as numbers if all are integers, else as text."""
    try:
        return np.array([int(str(value)) for value in column])
    except ValueError:
        return np.array([str(value) for value in column], dtype=object)


def one_place(args: argparse.Namespace, graph: Graph, text: str, what: str) -> Any:
    """Read LAT,LON as maps write it, X,Y in other coordinates, or a vertex."""
    place = two_numbers(text)
    if text.lower().endswith((".csv", ".parquet")):
        raise OptionError(
            f"{what} {quoted(text)} is a table: give one place or vertex here; nearfar table and "
            "nearfar catchment take tables of places"
        )
    if place is None or graph.coordinates is None:
        return read_vertex(args, graph, text, what)
    return place[::-1] if on_earth(graph) else place
