"""What comes back: paths, their proof, and the map of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.answer.isochrone import draw_isochrones
    from nearfar.answer.paths import FlatPaths
    from nearfar.answer.proof import certify

__all__ = [
    "FlatPaths",
    "certify",
    "draw_isochrones",
]

_WHERE = {
    "FlatPaths": "paths",
    "certify": "proof",
    "draw_isochrones": "isochrone",
}

__getattr__, __dir__ = lazy_names(__name__, _WHERE)
