"""Answers of searches: paths, proofs and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.answer.geography import isochrones, routes, write_geography
    from nearfar.answer.isochrone import draw_isochrones
    from nearfar.answer.page import draw_page
    from nearfar.answer.paths import FlatPaths
    from nearfar.answer.proof import certify

__all__ = [
    "FlatPaths",
    "certify",
    "draw_isochrones",
    "draw_page",
    "isochrones",
    "routes",
    "write_geography",
]

_NAMES = {
    "paths": ("FlatPaths",),
    "proof": ("certify",),
    "isochrone": ("draw_isochrones",),
    "page": ("draw_page",),
    "geography": ("isochrones", "routes", "write_geography"),
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
