"""Draw the separators of an elimination tree on a map.

``python scripts/separators.py USA-road-d.NY.gr.xz -o docs/images/new-york-separators.png`` orders
the vertices of a graph with coordinates as ``nearfar prepare`` does, divides the elimination tree
from the top, and draws the separators of the first five levels over the roads.

A separator is the part of the tree above the first vertex with two large subtrees: downwards from a
piece's root, it contains every vertex with one large child, up to and including the first one whose
second child has a tenth of the piece or more.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import nearfar
from nearfar.prepared.order.elimination import elimination_order, structure_of
from nearfar.prepared.order.tree import Tree, analyse

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLOURS = ("#c1121f", "#f77f00", "#2a9d8f", "#1d3557", "#7b4ba0")


@dataclass(frozen=True)
class Piece:
    """Part of the graph between the separators above it.

    Attributes
    ----------
    level : int
        0 for the largest component, 1 for its two parts, and so on.
    size : int
        Number of vertices, including the separator.
    height : int
        Number of vertices on the longest path of its part of the tree.
    separator : int array
        Vertices that cut it.
    """

    level: int
    size: int
    height: int
    separator: NDArray[np.int32]


def pieces(tree: Tree, least: int = 2048) -> list[Piece]:
    """Return the pieces of at least ``least`` vertices that a separator cuts, level by level.

    Parameters
    ----------
    tree : Tree
    least : int
    """
    size = np.arange(tree.n_vertices) - tree.low + 1
    by_parent = np.lexsort((-size, tree.parent))  # the largest child first
    first = np.searchsorted(tree.parent[by_parent], np.arange(-1, tree.n_vertices + 1))

    def children(label: int) -> list[int]:
        found: list[int] = by_parent[first[label + 1] : first[label + 2]][:2].tolist()
        return found

    made: list[Piece] = []
    waiting = [(root, 0) for root in children(-1)[:1]]
    for root, level in waiting:  # the list grows during the loop
        total, label, path = size[root], root, [root]
        while len(two := children(label)) < 2 or size[two[1]] * 10 < total:
            if not two:
                break
            label = two[0]
            path.append(label)
        if len(two) < 2:
            continue  # a path to a leaf, without a separator
        height = tree.depth[tree.low[root] : root + 1].max() - tree.depth[root] + 1
        made.append(Piece(level, int(total), int(height), tree.vertex[path]))
        waiting += [(child, level + 1) for child in two if size[child] >= least]
    return made


def draw(graph: nearfar.Graph, found: list[Piece], file: Path) -> None:
    """Draw the separators of the first levels over the roads.

    Parameters
    ----------
    graph : Graph
        Graph with coordinates.
    found : list of Piece
    file : path
        PNG file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from PIL import Image

    points = np.asarray(graph.coordinates, dtype=np.float64)
    # Degrees of longitude are narrower than those of latitude.
    degrees = np.abs(points).max(axis=0)
    geographic = degrees[0] <= 180 and degrees[1] <= 90
    narrower = np.cos(np.radians(np.median(points[:, 1]))) if geographic else 1.0
    points = points * [narrower, 1.0]
    low, high = points.min(axis=0), points.max(axis=0)
    width = 7.0
    figure = Figure(figsize=(width, width * float((high[1] - low[1]) / (high[0] - low[0]))))
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    tails = graph.tails()
    once = tails < graph.indices
    roads = np.stack([points[tails[once]], points[graph.indices[once]]], axis=1)
    axes.add_collection(LineCollection(list(roads), colors="#c4c8cc", linewidths=0.25))
    for level, colour in reversed(list(enumerate(COLOURS))):
        cut = [piece.separator for piece in found if piece.level == level]
        if not cut:
            continue
        at = points[np.concatenate(cut)]
        names = f"level {level + 1}: " + (
            f"{len(at)} vertices cut the map" if level == 0 else f"{len(at)} in {len(cut)} parts"
        )
        side = 60 / (1 + level) + 3
        axes.scatter(at[:, 0], at[:, 1], s=side, c=colour, linewidths=0, label=names, zorder=3)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="lower right", framealpha=1.0, fontsize=9)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    axes.set_axis_off()
    figure.set_dpi(130)
    canvas.draw()  # type: ignore[no-untyped-call]
    # A palette of a few colours makes the file a third as large.
    drawn = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    few = Image.fromarray(drawn).convert("RGB").quantize(64, method=Image.Quantize.MAXCOVERAGE)
    few.save(file, optimize=True)


def main() -> int:
    """Read, order and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph", help="a file with coordinates, as `nearfar info` reads it")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the picture, a PNG")
    given = parser.parse_args()
    graph = nearfar.read(given.graph)
    if graph.coordinates is None:
        parser.error(f"{given.graph} has no coordinates: there is no map to draw on")
    structure = structure_of(graph)
    order, _ = elimination_order(structure)
    found = pieces(analyse(graph, structure, order)[0])
    draw(graph, found, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
