"""Johnson's all-pairs method on CUDA: negative weights, a parallel Dijkstra per source.

**Proposed.** Bellman-Ford over edge classes finds potentials, edges are reweighted, and a parallel
Dijkstra with Crauser's criterion runs from each source in turn.

**Variants** (``bellman_ford`` and ``johnson``; ``@cpu`` or ``@cuda``)

- ``bellman_ford``, ``bellman_ford_queue``, ``bellman_ford_edge_classes``: 4.1 and 5.1
- ``bellman_ford_child_launches@cuda``: dynamic parallelism (5.1); ``bellman_ford_warps@cuda``: a
  warp per vertex instead
- ``johnson_flag@cuda``, ``johnson_queue@cuda``, ``johnson_prefix@cuda``: 5.3

**Found.** One source after the other leaves a GPU idle; a thread block per source
(``johnson@cuda`` in ``algorithms/johnson``) is hundreds of times faster. ``claims.py`` compares
every statement of the paper with measurements, and docs/reproduction/johnson-apsp.md is the page.

**Measured** (``run.py``)

Table 1 and Figures 3 and 4: execution times and speed-ups of the sequential method and of the
flag, queue and prefix forms. This project's batched engines are added. Six of the paper's
eight graphs are in the folder of public graphs; Graph4's file lists each edge once and is made
symmetric. The paper does not specify weights: they are integers 1..100 with seed 1.

All pairs of the larger graphs would take the paper's forms hours, so every method solves a sample
of evenly spaced sources, and its time is scaled to all; the JSON has both. The batched engines
solve larger samples, because a few sources would not fill the device.
"""
