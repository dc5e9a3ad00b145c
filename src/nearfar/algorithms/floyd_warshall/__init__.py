"""Floyd-Warshall, blocked in three phases: all pairs of a dense or small graph.

The idea: allow one more vertex as an intermediate stop at a time::

    d = matrix of weights, 0 on the diagonal, unreached where there is no edge
    for k in vertices:
        d[i][j] = min(d[i][j], d[i][k] + d[k][j])   for all i, j

The blocked form (Venkataraman, Sahni and Mukhopadhyaya 2003) divides the matrix into tiles, and
each step handles a whole tile of stops: first the tile on the diagonal, then the tiles in its row
and column, then all others. The third phase is nearly all of the work: a matrix product over
(min, +), whose speed is limited by arithmetic and not by memory.

O(n^3) for any number of edges. Negative cycles are detected first, because they would
decrease entries without bound. Integers are exact. Floats are not added in the order of the path:
with ``exact=True`` (the default) one more sweep per row makes them equal to those of the other
methods bit for bit; without it they differ by a few roundings.
"""
