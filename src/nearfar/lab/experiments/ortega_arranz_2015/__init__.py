"""Ortega-Arranz, Torres, Llanos, Gonzalez (2015): GPU Crauser against Martin, CPU and heaps.

Section 4.1: Martin's graphs (Figure 2 a-d), then uniform random and real graphs (Figures 3-11,
Tables 1-4); 100 random sources per graph; 256 threads per block is the default shape, the optimised
one comes from :func:`nearfar.cuda.tune.tune` on the device at hand in place of the paper's Table 1;
the sequential base is Dijkstra with a relaxed heap, the queue of the Boost library.

Departures: one GPU, whichever is there, in the place of three boards (Figures 7 and 8 have one
line); ten sources per graph at ``small`` scale, at most three on Martin's graphs at any scale;
memory of Figure 11 is measured for every method, not only for two.
"""
