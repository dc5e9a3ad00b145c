"""Ortega-Arranz, Torres, Llanos, Gonzalez (2015): Crauser's thresholds on a GPU.

**Proposed.** The out-criterion of Crauser et al. (1998) widens the compound frontier: a vertex
settles when no path through an unsettled one can still improve it.

**Variants** (``crauser``; ``@cpu`` or ``@cuda``)

- ``crauser_successors``, ``crauser_predecessors``: the out-criterion, relaxing both ways (3.2, 3.3)
- ``crauser_in``, ``crauser_in_out``: with the in-criterion of 1998, which the paper leaves out
- ``crauser_fused@cuda``: the loop in one launch, beyond the paper

**Found.** Fewer iterations than compound frontiers at nearly the same cost of each, especially with
a wide range of weights: ``claims.py`` compares every statement of the paper with measurements, and
docs/reproduction/ortega-arranz-2015.md is the page.

**Measured** (``run.py``)

Section 4.1: Martin's graphs (Figure 2 a-d), then uniform random and real graphs (Figures 3-11,
Tables 1-4); 100 random sources per graph; 256 threads per block is the default shape, the optimised
one comes from :func:`nearfar.cuda.tune.tune` on the current device instead of the paper's Table 1;
the sequential base is Dijkstra with a relaxed heap, the queue of the Boost library.

Departures: one GPU replaces the three boards (Figures 7 and 8 have one line); ten sources per graph
at ``small`` scale, at most three on Martin's graphs at any scale; memory of Figure 11 is measured
for every method, not only for two.
"""
