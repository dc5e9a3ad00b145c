"""Interpretation of OpenStreetMap tags for a traveller: access, direction and speed.

Sources: the OSM wiki's pages Key:highway, Key:access, Key:oneway, Key:maxspeed, Default speed
limits and Relation:restriction. The functions work on the tags of one way or relation, without a
graph.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

Mode = Literal["drive", "cycle", "walk"]
MODES: tuple[Mode, ...] = ("drive", "cycle", "walk")
Tags = Mapping[str, str]

_MILE = 1.609344
_WALK, _STEPS, _CYCLE = 5.0, 2.5, 16.0

# km/h by road class, used if no limit is tagged.
_DRIVE = {
    "motorway": 110.0,
    "motorway_link": 60.0,
    "trunk": 90.0,
    "trunk_link": 50.0,
    "primary": 70.0,
    "primary_link": 50.0,
    "secondary": 60.0,
    "secondary_link": 45.0,
    "tertiary": 50.0,
    "tertiary_link": 40.0,
    "unclassified": 40.0,
    "residential": 30.0,
    "living_street": 10.0,
    "service": 20.0,
    "road": 30.0,
}
_CYCLE_ONLY = {"cycleway", "path", "track", "bridleway"}
_FOOT_ONLY = {"footway", "pedestrian", "steps", "corridor", "platform"}
_FAST = {"motorway", "motorway_link", "trunk", "trunk_link"}

# Legal limits in km/h for the meaning of a sign ("FI:urban") or a given country:
# (urban, rural, motorway, living street).
COUNTRIES: dict[str, tuple[float, float, float, float]] = {
    "AT": (50, 100, 130, 5),
    "AU": (50, 100, 110, 10),
    "BE": (50, 70, 120, 20),
    "CA": (50, 80, 100, 20),
    "CH": (50, 80, 120, 20),
    "CZ": (50, 90, 130, 20),
    "DE": (50, 100, 130, 7),
    "DK": (50, 80, 130, 15),
    "EE": (50, 90, 90, 20),
    "ES": (50, 90, 120, 20),
    "FI": (50, 80, 120, 20),
    "FR": (50, 80, 130, 20),
    "GB": (30 * _MILE, 60 * _MILE, 70 * _MILE, 20),
    "HU": (50, 90, 130, 20),
    "IE": (50, 80, 120, 20),
    "IT": (50, 90, 130, 20),
    "JP": (40, 60, 100, 20),
    "LT": (50, 90, 130, 20),
    "LV": (50, 90, 90, 20),
    "NL": (50, 80, 100, 15),
    "NO": (50, 80, 110, 15),
    "NZ": (50, 100, 100, 10),
    "PL": (50, 90, 140, 20),
    "PT": (50, 90, 120, 20),
    "RU": (60, 90, 110, 20),
    "SE": (50, 70, 110, 7),
    "UA": (50, 90, 130, 20),
    "US": (25 * _MILE, 55 * _MILE, 65 * _MILE, 15),
}
_URBAN = {"residential", "unclassified", "tertiary", "tertiary_link", "road"}
_RURAL = {"primary", "secondary", "trunk"}

# Most specific first: the first tag present decides.
_ACCESS = {
    "drive": ("motorcar", "motor_vehicle", "vehicle", "access"),
    "cycle": ("bicycle", "vehicle", "access"),
    "walk": ("foot", "access"),
}
_NO = {"no", "private", "agricultural", "forestry", "military", "emergency", "use_sidepath"}
_YES = {"yes", "designated", "permissive", "official", "destination", "customers"}

# Keys of the turns that a mode may not take, and of exceptions; pedestrians may take all.
RESTRICTIONS: dict[Mode, tuple[str, ...]] = {
    "drive": ("restriction:motorcar", "restriction:motor_vehicle", "restriction"),
    "cycle": ("restriction:bicycle", "restriction"),
    "walk": (),
}
_EXCEPTED = {"drive": {"motorcar", "motor_vehicle", "vehicle"}, "cycle": {"bicycle", "vehicle"}}


def usable(tags: Tags, mode: Mode) -> bool:
    """Return whether a way is part of the network of a mode."""
    road = tags.get("highway", "")
    allowed = next((tags[key] for key in _ACCESS[mode] if key in tags), "")
    if allowed in _NO or (tags.get("area") == "yes" and mode != "walk"):
        return False
    if mode == "drive":
        return road in _DRIVE
    if mode == "cycle":
        if road in _FOOT_ONLY:
            return road != "steps" and tags.get("bicycle") in _YES
        return (road in _DRIVE and road not in _FAST) or road in _CYCLE_ONLY
    if road in _FAST:
        return tags.get("foot") in _YES or tags.get("sidewalk") in ("both", "left", "right", "yes")
    return road in _DRIVE or road in _CYCLE_ONLY or road in _FOOT_ONLY


def directions(tags: Tags, mode: Mode) -> tuple[bool, bool]:
    """Return whether the way may be used in its own direction, and against it."""
    if mode == "walk":
        foot = tags.get("oneway:foot", "no")
        return foot != "-1", foot not in ("yes", "1", "true")
    tag: str | None = tags.get("oneway")
    if mode == "cycle":
        tag = tags.get("oneway:bicycle", tag)
        opposite = any(
            tags.get(key, "").startswith("opposite")
            for key in ("cycleway", "cycleway:left", "cycleway:right", "cycleway:both")
        )
        if opposite and "oneway:bicycle" not in tags:
            return True, True
    if tag in ("-1", "reverse"):
        return False, True
    if tag in ("yes", "true", "1"):
        return True, False
    round_way = tags.get("junction") in ("roundabout", "circular")
    implied = round_way or tags.get("highway") in ("motorway", "motorway_link")
    return True, tag in ("no", "false", "0") or not implied


def restricts(tags: Tags, mode: Mode) -> Literal["no", "only", "at times", "unclear"] | None:
    """Return whether a restriction forbids its turn or makes it the only one; None for neither."""
    keys = RESTRICTIONS[mode]
    value = next((tags[key] for key in keys if key in tags), None)
    if not keys or _EXCEPTED[mode] & set(re.split(r"\s*;\s*", tags.get("except", ""))):
        return None
    if value is None or "hour_on" in tags or "day_on" in tags:
        return "at times" if value or any(f"{key}:conditional" in tags for key in keys) else None
    if value.startswith("no_"):
        return "no"
    return "only" if value.startswith("only_") else "unclear"


def speeds(tags: Tags, mode: Mode, country: str | None = None) -> tuple[float, float]:
    """Return the speeds in km/h along the way's own direction and against it."""
    road = tags.get("highway", "")
    if mode == "walk":
        speed = _STEPS if road == "steps" else _WALK
        return speed, speed
    if mode == "cycle":
        speed = _WALK if road in _FOOT_ONLY else _CYCLE
        return speed, speed
    both = limit(tags.get("maxspeed"))
    if both is None:
        both = _by_class(road, country)
    ahead, back = limit(tags.get("maxspeed:forward")), limit(tags.get("maxspeed:backward"))
    return ahead or both, back or both


def limit(value: str | None) -> float | None:
    """Return a `maxspeed` in km/h: numbers, mph, knots, zones like ``DE:urban``; None if unclear.

    Of several values ("50;30") the lowest counts.
    """
    if not value:
        return None
    found = [_one_limit(part.strip()) for part in re.split(r"[;|]", value)]
    known = [speed for speed in found if speed is not None and speed > 0]
    return min(known) if known else None


def _one_limit(value: str) -> float | None:
    match = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*(mph|knots|km/?h|kmh|kph)?", value)
    if match:
        unit = {"mph": _MILE, "knots": 1.852}.get(match[2] or "", 1.0)
        return float(match[1]) * unit
    if value == "walk":
        return _WALK
    if value == "none":
        return 130.0
    zone = re.fullmatch(r"([A-Z]{2}):(?:zone:?)?([a-z_]+|\d+)", value)
    if zone is None:
        return None
    if zone[2].isdigit():
        return float(zone[2]) * (_MILE if zone[1] in ("GB", "US") else 1.0)
    place = {"urban": 0, "rural": 1, "motorway": 2, "living_street": 3, "trunk": 1}.get(zone[2])
    return None if place is None or zone[1] not in COUNTRIES else COUNTRIES[zone[1]][place]


def _by_class(road: str, country: str | None) -> float:
    default = _DRIVE.get(road, 30.0)
    if country is None:
        return default
    urban, rural, motorway, living = COUNTRIES[country]
    if road == "motorway":
        return motorway
    if road == "living_street":
        return living
    if road in _RURAL:
        return min(rural, default) if road != "trunk" else rural
    return min(urban, default) if road in _URBAN else default
