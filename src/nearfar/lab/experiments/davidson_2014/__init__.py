"""Davidson, Baxter, Garland, Owens (2014): work-efficient parallel SSSP on GPUs.

Table II (the graphs), Table III (work saved, parallelism and iterations against Bellman-Ford) and
Figures 3 (traversals), 4 (queue sizes), 5 (time over Dijkstra, and MTEPS), 6 (work and iterations
against parallelism) and 7 (delta, with the heuristic's choice). MTEPS count the edges that a
Dijkstra run touches, as the paper does, so that wasted work never looks like speed. On the CPU the
methods run sequentially: their counters are those of the paper's comparison, their times are not.
"""
