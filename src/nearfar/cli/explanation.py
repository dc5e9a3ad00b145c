"""Print the chooser's ranking of the methods for a request."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import nearfar
from nearfar.cli.console import duration, emit
from nearfar.cli.flags import call_of, refuse_others
from nearfar.cli.parser import flag
from nearfar.graph.graph import Graph


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the flag for :func:`show_explanation`."""
    flag(parser, "--explain", "print the ranking of methods instead of solving")


def check_explain(args: argparse.Namespace, *more: str) -> None:
    """Refuse flags that mean nothing to :func:`nearfar.explain`, except more."""
    free = {"explain", *more, *inspect.signature(nearfar.explain).parameters}
    why = "--explain ranks all methods and solves nothing: leave out {flag}"
    refuse_others(args, free, why)


def show_explanation(args: argparse.Namespace, graph: Graph, *sources: Any) -> None:
    """Print how the chooser ranks the methods for a request, and why others are excluded."""
    found = nearfar.explain(graph, *sources, **call_of(args, graph, nearfar.explain))
    others = [{"id": name, "reason": found.reason(name)} for name in found.others]
    places: list[dict[str, Any]] = [
        {"id": c.variant.id, "seconds": c.seconds, "reason": c.reason} for c in found.ranking
    ]
    width = max((len(item["id"]) for item in [*places, *others]), default=0)
    lines = ["inputs of the models:"]
    made = found.made_of
    lines += [] if made is None else [f"     {made}"]
    for name, value in found.statistics.items():
        if name == "prepared":
            continue
        shown = (
            f"{value:,.4g}"
            if isinstance(value, float)
            else f"{value:,}"
            if type(value) is int
            else value
        )
        lines.append(f"     {name.replace('_', ' ')}: {shown}")
    for device, when in found.machines.items():
        known = "defaults (`nearfar tune` measures)" if when == "defaults" else f"measured {when}"
        lines.append(f"     speeds of the {device}: {known}")
    lines.append("ranking (estimated time):")
    for place, item in enumerate(places, start=1):
        time_text = duration(item["seconds"])
        lines.append(f"{place:3}. {item['id']:<{width}}  {time_text:>8}  {item['reason']}")
    lines += ["not ranked:"] if others else []
    lines += not_ranked(found.others, width, found.elsewhere)
    facts = {
        "ranking": places,
        "others": others,
        "statistics": found.statistics,
        "machines": found.machines,
    }
    emit(args, facts, lines)


def not_ranked(
    others: Mapping[str, str], width: int, elsewhere: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the excluded variants with the reasons; a shared reason is printed once."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, reason in others.items():
        groups.setdefault(reason, []).append((name, (elsewhere or {}).get(name, "")))
    for shared, members in groups.items():
        if len(members) < 3:
            for name, own in members:
                yield f"     {name:<{width}}  {shared}{' - ' if own else ''}{own}"
            continue
        yield f"   {len(members)} methods: {shared}"
        yield from (f"     {name:<{width}}  {own}".rstrip() for name, own in members)
