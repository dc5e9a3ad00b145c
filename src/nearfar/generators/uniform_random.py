"""Uniform random graphs of fixed out-degree: the second input set of Ortega-Arranz et al. (2015).

Its section 4.3 has 24,576, 49,152 and 98,304 vertices with fan-out 2, 20, 200, 1,000 and 2,000 and
integer weights uniform in 1..100.
"""

from __future__ import annotations

from nearfar.generators.catalogue import generator
from nearfar.generators.common import with_distinct_others
from nearfar.graph.graph import Graph


@generator("uniform_random", "k random successors per vertex (Ortega-Arranz et al. 2015)")
def uniform_random(
    vertices: int = 98_304,
    degree: int = 200,
    low: float = 1,
    high: float = 100,
    weight_dtype: str | None = "int32",
    seed: int = 1,
) -> Graph:
    """Make the graph of Ortega-Arranz et al. (2015), section 4.3: k distinct successors per vertex.

    Out-degree is ``degree`` everywhere; in-degree is binomial with the same mean. O(n degree) time.

    Parameters
    ----------
    vertices : int
        Number of vertices; the paper has 24576, 49152 and 98304.
    degree : int
        Distinct successors of each vertex; the paper has 2, 20, 200, 1000 and 2000.

    Returns
    -------
    Graph
        Directed, ``vertices * degree`` edges.
    """
    return with_distinct_others(
        "uniform_random",
        vertices,
        degree,
        called="degree",
        own_is_source=True,
        weight_dtype=weight_dtype,
        low=low,
        high=high,
        seed=seed,
    )
