"""Estimators for scikit-learn with distances along a neighbourhood graph: Isomap, and nearest.

The estimators follow scikit-learn's conventions: parameters in the constructor, ``fit``,
``transform``, pipelines, cloning and grid search. Both have a parameter ``landmarks``: distances
from some samples replace those from all, so that a hundred thousand samples take seconds and
megabytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.sklearn.estimators import GeodesicKNeighborsTransformer, Isomap

__all__ = ["GeodesicKNeighborsTransformer", "Isomap"]

_NAMES = {"estimators": ("GeodesicKNeighborsTransformer", "Isomap")}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
