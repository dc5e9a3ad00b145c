"""Interactive map of an answer: a self-contained HTML file.

Drag to pan, use the wheel or keys to zoom, hover over an edge to see its distance, and move the
slider to select the streets within a distance. The page (``page.html``) draws the map; this module
encodes the answer as little-endian arrays in base64.
"""

from __future__ import annotations

import base64
import html
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.answer.paths import Paths
from nearfar.answer.streets import map_coordinates, one_per_street, parts_of
from nearfar.errors import GraphError
from nearfar.graph.dtypes import unreached_value
from nearfar.graph.geography import on_earth
from nearfar.options import check_above_zero, file_name
from nearfar.system.output import replacing


def draw_page(
    paths: Paths,
    file: str | os.PathLike[str],
    *,
    title: str = "",
    scale: float = 1.0,
    unit: str = "",
) -> None:
    """Write an interactive map of an answer as one HTML file.

    Parameters
    ----------
    paths, title, scale, unit
        As for :func:`draw_isochrones`.
    file : str or path
        Path of the file, which is written atomically.

    Raises
    ------
    GraphError
        If the graph has no coordinates, or no edge with both ends reached.
    OptionError
        If ``scale`` is not above 0, or ``file`` is not a name.

    Notes
    -----
    O(n + m log m). The file has about 25 bytes per street; browsers draw several hundred thousand
    streets smoothly. Both directions of an edge are one line.
    """
    check_above_zero(scale=scale)
    name = file_name(file)
    graph = paths.graph
    xy = map_coordinates(graph)
    values = paths._host_distances
    reached = values != unreached_value(values.dtype)
    edges = one_per_street(graph, np.arange(graph.n_edges, dtype=np.int64))
    tails, heads = graph.tails(np.int64), graph.indices
    edges = edges[tails[edges] != heads[edges]]
    if not (reached[tails[edges]] & reached[heads[edges]]).any():
        raise GraphError("no edge has both ends reached: there is nothing to draw")
    parts = parts_of(graph, edges)
    used, codes = np.unique(np.column_stack((tails[edges], heads[edges])), return_inverse=True)
    codes = codes.reshape(-1, 2)
    far = np.where(reached, values.astype(np.float64), np.nan)
    begins = np.append(True, parts.edge[1:] != parts.edge[:-1])  # at a vertex, not a bend
    bends, bend = np.flatnonzero(~begins), len(used) + np.cumsum(~begins) - 1
    on = edges[parts.edge[bends]]
    at_bends = far[tails[on]] + parts.since[bends] * (far[heads[on]] - far[tails[on]])
    where = np.concatenate([xy[used], parts.begin[bends]])
    first = np.where(begins, codes[parts.edge, 0], bend)
    last = np.append(np.where(begins[1:], codes[parts.edge[:-1], 1], bend[1:]), codes[-1, 1])
    geographic = on_earth(graph)
    middle = (where.min(axis=0) + where.max(axis=0)) / 2
    shrink = math.cos(math.radians(middle[1])) if geographic else 1.0
    # Metres per unit of y: float32 is exact to centimetres across a country.
    places = (where - middle) * [shrink, 1.0]
    shown = np.concatenate([far[used], at_bends]) / scale
    source = (xy[paths._source_index] - middle) * [shrink, 1.0]
    data: dict[str, Any] = {
        "places": _packed(places.astype("<f4")),
        "ends": _packed(np.column_stack((first, last)).astype("<u4")),
        "values": _packed(shown.astype("<f4")),
        "source": source.tolist(),
        "name": str(paths.source),
        "unit": unit,
        "metres": 111_320.0 if geographic else 0,
        "attribution": str(graph.attributes.get("attribution", "")),
    }
    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    heading = title or f"Distances from {paths.source}"
    # Escaped so that no text in the data can end the script element.
    text = json.dumps(data).replace("<", "\\u003c")
    page = template.replace("{{title}}", html.escape(heading)).replace("{{data}}", text)
    with replacing(name) as place:
        place.write_text(page, encoding="utf-8")


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
