"""Duan, Mao, Mao, Shu, Yin (2025), "Breaking the Sorting Barrier for Directed SSSP": BMSSP.

**Proposed.** Dijkstra's method settles vertices in order of distance, which sorts them: O(m + n
log n). Bounded multi-source shortest paths settle sets of vertices below a bound instead. Rounds of
Bellman-Ford relaxations shrink the set of sources to the pivots whose trees are large, and a queue
returns the least elements of a level without sorting them: O(m log^(2/3) n) comparisons and
additions on a graph of constant degree.

**Variant** (``bmssp``): ``bmssp@cpu`` is section 3 (Algorithms 1 to 3, the queue of Lemma 3.3, the
total order of Assumption 2.1). ``constant_degree=True`` searches the graph of section 2;
``pivot_rounds`` and ``level_bits`` are the paper's k and t.

**Found.** docs/reproduction/duan-2025.md has operation counts and times of BMSSP, Dijkstra's method
over four heaps and delta-stepping, for 2^10 to 2^24 vertices, and the verdict.

**Measured** (``run.py``). Sparse random graphs (4 edges per vertex), road-like graphs and Kronecker
graphs (16 edges per vertex), int32 weights, one core. The paper reports no measurements; the claims
are its bound on comparisons against Dijkstra's, and reports of public implementations.
"""
