"""Language in which ``tables.toml`` selects rows and values of result files.

A path has steps between slashes: a key, a position in a list, ``engine=auto`` for the first entry
of a list with that field (``options=``: with an empty one), ``*`` for each of a list or mapping,
``min`` and ``max`` of the values, ``$trick`` for the key that the row has as ``trick``; a last step
that ends with ``?`` may be missing. Values are paths, numbers, and sums, differences, products and
ratios of them, with spaces around the sign; a list counts as its median. After a bar follows a
format: a unit of :data:`UNITS`, ``x`` for a ratio, or one of Python's. ``@name`` calls a function
of :mod:`docs.generators.readings`.
"""

from __future__ import annotations

import functools
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from docs.generators import readings
from nearfar.lab import checkout
from nearfar.lab.bench.report import number

__all__ = ["at", "cell", "filled", "load", "middle", "rows_of", "value_of"]

#: Factor of a value for its unit.
UNITS = {"ms": 1e3, "us": 1e6, "ns": 1e9, "million": 1e-6, "billion": 1e-9, "MB": 1e-6}
UNITS |= {"MiB": 2.0**-20, "GiB": 2.0**-30}


#: Return the content of a stored result, or None if it was not measured yet.
load = functools.cache(checkout.results)


def rows_of(document: Any, path: str, where: str = "") -> list[dict[str, Any]]:
    """Return the rows at a path, with the fields of all enclosing objects.

    ``*graph`` in the path stores the key of a mapping as ``graph``; a value that is not a mapping
    becomes the field ``value``. ``where`` is ``field`` (has a value), ``field=value``,
    ``field~part`` or ``field!~part``.
    """
    if path.startswith("@"):
        rows = list(getattr(readings, path[1:])(document))
    else:
        rows = list(_spread(document, path.split("/"), {}))
    name, sign, wanted = re.fullmatch(r"([^=~!]+)(!~|~|=|)(.*)", where or "_").groups()  # type: ignore[union-attr]
    tests: dict[str, Callable[[Any], Any]] = {
        "": bool,
        "=": lambda found: str("" if found in ({}, [], None) else found) == wanted,
        "~": lambda found: wanted in str(found),
        "!~": lambda found: wanted not in str(found),
    }
    return [row for row in rows if not where or tests[sign](at(row, f"{name}?"))]


def _spread(value: Any, steps: Sequence[str], above: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows below a value; a missing step yields none."""
    row = {**above, **(value if isinstance(value, dict) else {"value": value})}
    if not steps:
        yield row
    elif steps[0].startswith("*"):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in pairs:
            yield from _spread(one, steps[1:], row | {steps[0][1:] or "position": key})
    else:
        try:
            below = at(value, steps[0])
        except LookupError:
            return
        yield from _spread(below, steps[1:], row)


def at(value: Any, path: str) -> Any:
    """Return the value at a path."""
    return _at(value, path.strip().split("/"), value)


def _at(value: Any, steps: Sequence[str], row: Any) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict) and step in value:
        return _at(value[step], rest, row)
    if step.startswith("$"):
        return _at(value[row[step[1:]]], rest, row)
    if step.endswith("?"):
        return value.get(step[:-1], "") if isinstance(value, dict) else ""
    many = list(value.values()) if isinstance(value, dict) else value
    if step == "*":
        return [_or_nothing(one, rest, row) for one in many]
    if step in ("min", "max"):
        return _at((min if step == "min" else max)(many), rest, row)
    if isinstance(value, list) and "=" in step:
        name, _, wanted = step.partition("=")
        matching = [one for one in value if str(one.get(name) or "") == wanted]
        return _at(matching[0], rest, row)
    return _at(value[int(step)] if isinstance(value, list) else value[step], rest, row)


def _or_nothing(value: Any, steps: Sequence[str], row: Any) -> Any:
    """Return the value at steps, or an empty text."""
    try:
        return _at(value, steps, row)
    except LookupError:
        return ""


def value_of(text: str, row: Any) -> Any:
    """Return the value of an expression for a row."""
    for first, second in ((" + ", " - "), (" * ", " / ")):
        left, sign, right = _last(text, first, second)
        if sign:
            one, other = (middle(value_of(part, row)) for part in (left, right))
            if sign == " / ":
                return one / other
            return one * other if sign == " * " else one + other * (1 if sign == " + " else -1)
    if text.startswith("@"):
        name, *arguments = text[1:].split()
        return getattr(readings, name)(row, *arguments)
    try:
        return float(text)
    except ValueError:
        return at(row, text)


def _last(text: str, *signs: str) -> tuple[str, str, str]:
    """Return the text on both sides of the last of the signs, which are left-associative."""
    sign = max(signs, key=text.rfind)
    return text.rpartition(sign) if sign in text else (text, "", "")


def middle(value: Any) -> float:
    """Return a number; for a list its median, for nested lists the median of their medians."""
    if isinstance(value, list):
        return statistics.median(middle(one) for one in value if one not in ("", None))
    return float(0 if value == "" else value)


def cell(text: str, row: Any) -> str:
    """Return the text of an expression, or of a text with expressions in braces; else a dash."""
    try:
        return filled(text, row) if "{" in text else _shown(text, row)
    except (LookupError, TypeError, ZeroDivisionError, statistics.StatisticsError):
        return "-"


def filled(text: str, row: Any) -> str:
    """Return a text with its expressions in braces filled in."""
    return re.sub(r"\{([^{}]+)\}", lambda found: _shown(found[1], row), text)


def _shown(text: str, row: Any) -> str:
    """Return the value of an expression in its format."""
    expression, _, form = text.partition(" | ")
    value, form = value_of(expression, row), form.strip()
    if isinstance(value, list) and form.startswith("/"):
        return " / ".join(format(one, form[1:]) if one != "" else "-" for one in value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    value = middle(value) if isinstance(value, list) else value
    if value is None or isinstance(value, str):
        return value if value is not None else "-"
    if form in UNITS:
        return number(value * UNITS[form])
    if form in ("x", ""):
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:,}" if isinstance(value, int) else f"{number(value)}{form}"
    return format(value, form)
