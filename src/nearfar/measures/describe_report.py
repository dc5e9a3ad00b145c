"""Figures of a graph and their presentation; :mod:`nearfar.measures.figures` computes them."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearfar.prepared.outlook import Outlook


@dataclass(frozen=True, slots=True)
class Reach:
    """Extent of sweeps over a graph.

    Attributes
    ----------
    source : int or vertex name
        External name of the vertex where the first sweep starts.
    reached : int
        Number of vertices it reaches, including itself.
    hops : int
        Greatest number of edges to a reached vertex.
    distance : int or float or None
        Greatest distance; None for negative weights.
    diameter_hops, diameter_distance : int or float or None
        Greater value of both sweeps: lower bounds on the diameter.
    """

    source: Any
    reached: int
    hops: int
    distance: Any
    diameter_hops: int
    diameter_distance: Any


@dataclass(frozen=True, slots=True)
class GraphStatistics:
    """Figures of a graph; see :func:`describe`.

    Attributes
    ----------
    n_vertices, n_edges : int
        An undirected edge counts twice.
    directed : bool
    nbytes : int
        Bytes of the arrays.
    degree : dict
        Out-degrees: ``min``, ``median``, ``mean``, ``p99``, ``max``, and ``max_in``.
    degree_counts : list of (int, int, int)
        ``(low, high, vertices)``: number of vertices with an out-degree in ``low .. high``;
        classes double in width.
    isolated, without_out_edges : int
        Vertices without any edge; without out-edges.
    self_loops, parallel_edges : int
        Edges from a vertex to itself; edges beyond the first between one ordered pair.
    weight_dtype : str or None
        None for an unweighted graph.
    weight : dict
        ``min``, ``median`` (of at most a million evenly spaced edges), ``mean``, ``max``,
        ``zero`` and ``negative`` (numbers of edges).
    weak_components, strong_components : int
        Number of parts. ``largest_weak`` and ``largest_strong`` are their vertices.
    reach : Reach or None
        None for a graph without vertices.
    shape : str
        ``"empty"``, ``"long"``, ``"skewed"``, ``"dense"`` or ``"random"``: see :func:`describe`.
    preparing : nearfar.prepared.outlook.Outlook or None
        Whether :func:`nearfar.prepare` pays off, with shortcuts, triangles, bytes and the number of
        sources that repay it; None for a graph without vertices.
    """

    n_vertices: int
    n_edges: int
    directed: bool
    nbytes: int
    degree: dict[str, Any]
    degree_counts: list[tuple[int, int, int]]
    isolated: int
    without_out_edges: int
    self_loops: int
    parallel_edges: int
    weight_dtype: str | None
    weight: dict[str, Any]
    weak_components: int
    largest_weak: int
    strong_components: int
    largest_strong: int
    reach: Reach | None
    shape: str
    preparing: Outlook | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return dataclasses.asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """Return labels and values to print, in reading order."""
        d, w = self.degree, self.weight
        kind = "directed" if self.directed else "undirected, both directions stored"
        listed = [
            ("vertices", f"{self.n_vertices:,}"),
            ("edges", f"{self.n_edges:,} ({kind})"),
            ("memory", f"{self.nbytes / 2**20:,.1f} MiB"),
            ("shape", f"{self.shape}: {SHAPES[self.shape]}"),
            (
                "out-degree",
                f"{d['min']} .. {d['max']:,}, mean {d['mean']:.2f}, median {d['median']:g}, "
                f"99% up to {d['p99']:g}; in-degree up to {d['max_in']:,}",
            ),
        ]
        most = max((count for _, _, count in self.degree_counts), default=0)
        for low, high, count in self.degree_counts:
            if not count:
                continue
            label = f"  {low}" if low == high else f"  {low}..{high}"
            bar = "#" * math.ceil(24 * count / most) if most else ""
            listed.append((label, f"{count / self.n_vertices:7.2%}  {bar}"))
        if self.weight_dtype is None:
            listed.append(("weights", "none, every edge counts 1"))
        elif self.n_edges:
            listed.append(
                (
                    "weights",
                    f"{self.weight_dtype}, {_number(w['min'])} .. {_number(w['max'])}, "
                    f"mean {w['mean']:.4g}, median {_number(w['median'])}; "
                    f"{w['zero']:,} zero, {w['negative']:,} negative",
                )
            )
        listed += [
            ("self-loops", f"{self.self_loops:,}"),
            ("parallel edges", f"{self.parallel_edges:,}"),
            (
                "no edges",
                f"{self.isolated:,} vertices; {self.without_out_edges:,} without out-edges",
            ),
            ("components", _parts(self.weak_components, self.largest_weak, self.n_vertices)),
        ]
        if self.directed:
            strong = _parts(self.strong_components, self.largest_strong, self.n_vertices)
            listed.append(("strong components", strong))
        if self.reach is not None:
            r = self.reach
            far = "" if r.distance is None else f", distance up to {_number(r.distance)}"
            share = r.reached / self.n_vertices
            listed.append(
                (
                    f"reach from {r.source}",
                    f"{r.reached:,} vertices ({share:.1%}), up to {r.hops:,} edges away{far}",
                )
            )
            wide = r.diameter_distance
            listed.append(
                (
                    "diameter",
                    f"at least {r.diameter_hops:,} edges"
                    + ("" if wide is None else f"; at least {_number(wide)} in weight"),
                )
            )
        if self.preparing is not None:
            listed.append(("worth preparing", str(self.preparing)))
        return listed


SHAPES = {
    "empty": "no edges",
    "long": "few vertices per step and many steps, like roads and grids",
    "skewed": "a few vertices have most of the edges, like social networks",
    "dense": "more than a hundred edges per vertex",
    "random": "low degrees and a small diameter",
}


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def _parts(count: int, largest: int, n: int) -> str:
    if not n:
        return "0"
    return f"{count:,}, the largest with {largest:,} vertices ({largest / n:.1%})"
