"""Floyd-Warshall, blocked in three phases: all pairs of a dense or small graph.

The idea: allow the vertices as intermediate stops one after the other::

    d = matrix of weights, 0 on the diagonal, unreached where there is no edge
    for k in vertices:
        d[i][j] = min(d[i][j], d[i][k] + d[k][j])   for all i, j

Blocked (Venkataraman, Sahni and Mukhopadhyaya 2003) the matrix falls into tiles, and a step takes a
whole tile of stops: first the tile on the diagonal by itself, then its row and its column of tiles,
then all others. The third phase is nearly all of the work and is a matrix product with + for times
and min for plus, so it runs at the speed of arithmetic and not of memory.

O(n^3) whatever the number of edges. A negative cycle is looked for first, because it would make the
entries fall without bound. Integers are exact. Floats are added in another order than along the
path: with ``exact=True`` (the default) one more sweep per row makes them the bits that every other
method returns; without, they are off by a few roundings and the sweep is saved.
"""
