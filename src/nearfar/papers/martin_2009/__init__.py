"""Martin, Torres, Gavilanes (2009), "CUDA Solutions for the SSSP Problem": compound frontiers.

**Proposed.** Dijkstra's algorithm settles one vertex per iteration; this method settles all that
share the least tentative distance, and relaxes by successors (F) or by predecessors (U).

**Variants** (``frontier``; ``@cpu`` or ``@cuda``)

- ``frontier_successors``, ``frontier_predecessors``: F and U on lists (3 and 4.1);
  ``frontier_matrix_*``: on a matrix (5)
- ``frontier_predecessors_2min``, ``_h1``, ``_h2``, ``_h3``: parts of U on the host (4.1);
  ``_plus``: staged in shared memory (4.2)
- ``*_no_atomics`` and ``two_cost_arrays``: unsafe, with the races shown in the paper (4.1, 4.3)

**Found.** F on a GPU is faster than a Fibonacci heap, as the paper says; U is not the fastest on
matrices. ``claims.py`` compares every statement of the paper with measurements, and
docs/reproduction/martin-2009.md is the page. docs/explanation/compound-frontiers.md explains the
method.

**Measured** (``run.py``)

Section 6: random graphs by predecessors, seven per vertex, 1 to 11 times 2**20 vertices as lists;
n/5 predecessors, 1 to 15 times 2**10 vertices as matrices; integer weights 1 to 10; vertex 0 is the
source; 256 threads per block; 25 graphs per size. The base is Dijkstra with a Fibonacci heap (FH)
on one core.

Departures. ``small`` has three graphs per size and the same multiples of 2**15 and 2**7 vertices.
At ``paper`` scale on a GPU the methods that run wholly or partly on the host are timed on the first
graph of a size only: they take seconds per solve.
"""
