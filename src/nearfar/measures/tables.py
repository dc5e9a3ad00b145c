"""Tables of the vertices with several measures side by side."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from nearfar.answer.frames import vertex_frame
from nearfar.solve.steps.request import as_graph


def table(graph: Any, library: str | None = None, /, **columns: ArrayLike) -> Any:
    """Build a table of several measures of all vertices, with the vertices' names.

    Parameters
    ----------
    graph : graph_like
        Graph of the values.
    library : {"pandas", "polars"} or None
        None uses the first that is installed.
    **columns : array_like, shape (n,)
        Values by name, such as ``closeness=nearfar.measures.closeness(graph)``.

    Returns
    -------
    DataFrame
        Columns ``vertex``, ``x`` and ``y`` if the graph has coordinates, and the given ones.

    Raises
    ------
    OptionError
        For an unknown library, or a column without one value per vertex.
    MissingDependencyError
        If the library is not installed.

    Examples
    --------
    >>> import nearfar
    >>> g = nearfar.Graph.from_edges(["a", "b"], ["b", "c"], directed=False)
    >>> nearfar.measures.table(g, closeness=nearfar.measures.closeness(g)).round(2)
      vertex  closeness
    0      a       0.67
    1      b       1.00
    2      c       0.67
    """
    return vertex_frame(as_graph(graph, "weight"), dict(columns), library)
