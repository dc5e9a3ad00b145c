"""Table of file formats, with their capabilities and the rules that match a file to one.

Each format registers itself in this table; the documentation, ``nearfar convert`` and the tests
iterate over it. To add a format, add a file; see CONTRIBUTING.md.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.errors import OptionError, keyword, quoted
from nearfar.graph.graph import Graph
from nearfar.options import check_kind

_table: dict[str, Format] = {}
_discovering = threading.RLock()  # one thread imports, the others wait for it
_discovered = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """File format.

    Attributes
    ----------
    name : str
        Name for ``format=`` and the command line.
    title : str
        One line for tables.
    suffixes : tuple of str
        Suffixes with the dot, in lower case, without a compression suffix.
    read : callable or None
        ``(source, **options) -> Graph`` with ``source`` a :class:`nearfar.formats.files.Source`.
    write : callable or None
        ``(graph, sink, **options)`` with ``sink`` a :class:`nearfar.formats.files.Sink`.
    sniff : callable or None
        ``(head) -> bool`` from the first 64 KiB: True only when the content can be no other format.
    extra : str or None
        Required pip extra.
    keeps : str
        Data that survive a round trip, for tables.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: Callable[..., Graph] | None = None
    write: Callable[..., None] | None = None
    sniff: Callable[[bytes], bool] | None = None
    extra: str | None = None
    keeps: str = ""

    def read_options(self) -> dict[str, Any]:
        """Return the keyword options of the reader with their defaults."""
        return _options(self.read)

    def counts_edges(self) -> bool:
        """Return whether the reader takes ``weight=None``."""
        weight = _parameters(self.read).get("weight")
        return weight is not None and "None" in str(weight.annotation)

    def write_options(self) -> dict[str, Any]:
        """Return the keyword options of the writer with their defaults."""
        return _options(self.write)

    def check_options(self, given: dict[str, Any], *, writing: bool) -> None:
        """Refuse an option that the format does not have, or a value of the wrong kind.

        Raises
        ------
        OptionError
            For an unknown option or a wrong value; the message names valid ones.
        """
        known = self.write_options() if writing else self.read_options()
        verb = "writing" if writing else "reading"
        for name, value in given.items():
            if name == "weight" and name not in known and not writing:
                raise OptionError(
                    f"{self.name} files have one weight per edge, not {quoted(value)}: leave "
                    f"weight out, or give {keyword('weight', None)} to count edges"
                )
            if name not in known:
                has = f"it has: {', '.join(known)}" if known else "it has none"
                raise OptionError(f"{verb} {self.name} files has no option {quoted(name)}; {has}")
            annotation = _parameters(self.write if writing else self.read)[name].annotation
            check_kind(f"{verb} {self.name} files", name, value, str(annotation))


def _parameters(function: Callable[..., Any] | None) -> dict[str, inspect.Parameter]:
    if function is None:
        return {}
    parameters = inspect.signature(function).parameters
    return {name: p for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY}


def _options(function: Callable[..., Any] | None) -> dict[str, Any]:
    return {name: p.default for name, p in _parameters(function).items()}


def register(spec: Format) -> Format:
    """Add a format to the table."""
    if spec.name in _table:
        raise ValueError(f"format {spec.name} is registered twice")
    _table[spec.name] = spec
    return spec


def formats() -> dict[str, Format]:
    """Return all formats by name, in alphabetical order.

    Returns
    -------
    dict of str to Format
    """
    global _discovered
    if not _discovered:
        with _discovering:
            for info in pkgutil.walk_packages([str(Path(__file__).parent)], "nearfar.formats."):
                importlib.import_module(info.name)
            _discovered = True
    return dict(sorted(_table.items()))


def with_suffix(suffix: str) -> list[Format]:
    """Return the formats that use a suffix (lower case, with the dot)."""
    return [spec for spec in formats().values() if suffix in spec.suffixes]
