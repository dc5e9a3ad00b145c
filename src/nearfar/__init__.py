"""nearfar: exact shortest paths in weighted graphs on CPU cores and NVIDIA GPUs.

The package is named after the best method of Davidson et al. 2014, which uses a near set and a
far pile. Names are imported on first use, so ``import nearfar`` is fast and never imports an
optional dependency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearfar.system.lazy import lazy_names

if TYPE_CHECKING:
    from nearfar.answer.paths import Paths
    from nearfar.answer.proof import verify
    from nearfar.errors import (
        CacheError,
        ClusterError,
        DistanceOverflowError,
        GraphError,
        GraphFormatError,
        KernelCompileError,
        MissingDependencyError,
        NearfarError,
        NegativeCycleError,
        NegativeWeightError,
        OptionError,
        OutOfMemoryError,
        ProofError,
        SolverError,
        UnreachableError,
        VariantUnavailable,
        VertexError,
        ZeroCycleError,
    )
    from nearfar.formats import read, write
    from nearfar.generators import generate
    from nearfar.graph.graph import Graph
    from nearfar.measures.accessibility import accessibility
    from nearfar.measures.catchment import catchment
    from nearfar.prepared.prepare import load, prepare
    from nearfar.prepared.prepared import Prepared
    from nearfar.solve.explain import explain
    from nearfar.solve.isochrone import isochrone, isochrones
    from nearfar.solve.k_shortest import k_shortest_paths
    from nearfar.solve.many import all_pairs, distances
    from nearfar.solve.nearest import nearest
    from nearfar.solve.negative_cycles import find_negative_cycle
    from nearfar.solve.one import shortest_path, sssp
    from nearfar.solve.places.alternatives import routes
    from nearfar.solve.places.nearest import nearest_places
    from nearfar.solve.places.route import Route, route
    from nearfar.solve.places.table import table

__version__ = "0.1.0"

__all__ = [
    "CacheError",
    "ClusterError",
    "DistanceOverflowError",
    "Graph",
    "GraphError",
    "GraphFormatError",
    "KernelCompileError",
    "MissingDependencyError",
    "NearfarError",
    "NegativeCycleError",
    "NegativeWeightError",
    "OptionError",
    "OutOfMemoryError",
    "Paths",
    "Prepared",
    "ProofError",
    "Route",
    "SolverError",
    "UnreachableError",
    "VariantUnavailable",
    "VertexError",
    "ZeroCycleError",
    "accessibility",
    "all_pairs",
    "catchment",
    "distances",
    "explain",
    "find_negative_cycle",
    "generate",
    "isochrone",
    "isochrones",
    "k_shortest_paths",
    "load",
    "nearest",
    "nearest_places",
    "prepare",
    "read",
    "route",
    "routes",
    "shortest_path",
    "sssp",
    "table",
    "verify",
    "write",
]

#: Names by the module that defines them.
_NAMES = {
    "graph.graph": ("Graph",),
    "answer.paths": ("Paths",),
    "prepared.prepared": ("Prepared",),
    "prepared.prepare": ("prepare", "load"),
    "solve.one": ("sssp", "shortest_path"),
    "measures.accessibility": ("accessibility",),
    "measures.catchment": ("catchment",),
    "solve.many": ("distances", "all_pairs"),
    "solve.negative_cycles": ("find_negative_cycle",),
    "solve.k_shortest": ("k_shortest_paths",),
    "solve.explain": ("explain",),
    "solve.isochrone": ("isochrone", "isochrones"),
    "solve.nearest": ("nearest",),
    "solve.places.nearest": ("nearest_places",),
    "solve.places.table": ("table",),
    "solve.places.route": ("route", "Route"),
    "solve.places.alternatives": ("routes",),
    "answer.proof": ("verify",),
    "formats": ("read", "write"),
    "generators": ("generate",),
}
#: All others are errors.
_NAMES["errors"] = tuple({*__all__}.difference(*_NAMES.values()))

#: Further public modules; all others are private. Names without a dot are also attributes.
_PUBLIC = (
    "answer",
    "choose",
    "choose.calibrate",
    "csgraph",
    "cuda.kernel_times",
    "cuda.tune",
    "formats",
    "generators",
    "lab.experiments",
    "lab.profile",
    "lab.report",
    "measures",
    "networkx",
    "raster",
    "raster.interfaces",
    "scale",
    "sklearn",
    "solve",
    "torch",
)

__getattr__, __dir__ = lazy_names("nearfar", _NAMES, tuple(x for x in _PUBLIC if "." not in x))
