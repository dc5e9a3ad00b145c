"""Answers of searches: paths, their proof, and maps of them."""

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

_WHERE = {
    "FlatPaths": "paths",
    "certify": "proof",
    "draw_isochrones": "isochrone",
    "draw_page": "page",
    "isochrones": "geography",
    "routes": "geography",
    "write_geography": "geography",
}

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
