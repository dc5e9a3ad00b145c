"""Convert turn restrictions of OpenStreetMap to turns between vertices.

A relation ``type=restriction`` names a way to come from, a point to turn at and a way to go to,
and refers to the segments next to the point. Restrictions that lead over ways instead of a
point, apply at certain times, or are ambiguous are counted and left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from nearfar.formats.roads.osm_tags import restricts


class Restrictions:
    """Restrictions of an extract for a mode: collected first, then matched with the ways."""

    def __init__(self, mode: Literal["drive", "cycle", "walk"]) -> None:
        self.mode = mode
        self.left_out: Counter[str] = Counter()  # number of restrictions left out, by reason
        self._found: list[tuple[bool, str, list[int], int, list[int]]] = []

    def add(self, tags: Mapping[str, str], members: Sequence[tuple[str, int, str]]) -> None:
        """Record a relation; members are (type, id, role)."""
        if tags.get("type") != "restriction":
            return
        says = restricts(tags, self.mode)
        if says is None:
            return
        if says in ("at times", "unclear"):
            self.left_out[says] += 1
            return
        ways = {
            role: [ref for kind, ref, as_ in members if as_ == role and kind == "w"]
            for role in ("from", "to", "via")
        }
        points = [ref for kind, ref, as_ in members if as_ == "via" and kind == "n"]
        if ways["via"]:
            self.left_out["over ways"] += 1
        elif len(points) != 1 or not ways["from"] or not ways["to"]:
            self.left_out["unclear"] += 1
        else:
            back = any(value.endswith("u_turn") for value in tags.values())
            self._found.append(
                (says == "only", "back" if back else "", ways["from"], points[0], ways["to"])
            )

    @property
    def ways(self) -> set[int]:
        """Return the ids of the ways that restrictions name."""
        return {way for _, _, origins, _, ends in self._found for way in (*origins, *ends)}

    def turns(
        self,
        pieces: Mapping[int, Sequence[tuple[list[int], bool, bool]]],
        onward: Mapping[int, set[int]],
    ) -> list[list[int]]:
        """Return forbidden turns (from, via, to) by the ids of points, ascending."""
        forbidden: set[tuple[int, int, int]] = set()
        for only, back, origins, via, ends in self._found:
            before = [_next_to(pieces.get(way, ()), via, arriving=True) for way in origins]
            after = [_next_to(pieces.get(way, ()), via, arriving=False) for way in ends]
            same = back and origins == ends
            if not same and max(map(len, before + after)) > 1:
                self.left_out["unclear"] += 1  # the way continues after the point
                continue
            sources, targets = set().union(*before), set().union(*after)
            if not sources or not targets:
                continue  # no edge of this mode, so nothing to forbid
            for u in sources:
                to = {u} & targets if same else targets
                to = onward.get(via, set()) - to if only else to
                forbidden.update((u, via, w) for w in to)
        return [
            list(turn)
            for turn in sorted(forbidden)
            if turn[1] in onward.get(turn[0], ()) and turn[2] in onward.get(turn[1], ())
        ]


def _next_to(runs: Sequence[tuple[list[int], bool, bool]], via: int, *, arriving: bool) -> set[int]:
    """Return the points of a way that precede or follow one of its points."""
    found: set[int] = set()
    for points, ahead, against in runs:
        for i, point in enumerate(points):
            if point != via:
                continue
            if i > 0 and (ahead if arriving else against):
                found.add(points[i - 1])
            if i + 1 < len(points) and (against if arriving else ahead):
                found.add(points[i + 1])
    return found
