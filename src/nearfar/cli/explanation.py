"""Print the chooser's ranking of the methods for a request."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from nearfar.cli.console import Exit, duration, emit

if TYPE_CHECKING:
    from nearfar.choose.ranking import Explanation

#: Message for a flag that --explain excludes.
WHY_NOT = "--explain ranks all methods and solves nothing: leave out {flag}"


def show(args: argparse.Namespace, found: Explanation) -> int:
    """Print how the chooser ranks the methods for a request, and why others are excluded."""
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
    return Exit.OK


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
