"""Compound frontiers: settle every vertex whose tentative distance equals the minimum.

Martin, Torres and Gavilanes, "CUDA Solutions for the SSSP Problem" (2009). Dijkstra's algorithm
settles one vertex per iteration even when several share the least tentative distance; all of them
are final, so all can settle at once (DA2CF, Fig. 2)::

    distance[:] = infinity; distance[source] = 0
    frontier = {source}; unsettled = all but source
    repeat
        relax      distance[j] = min(distance[j], distance[f] + w(f, j))   f in frontier
        minimum    least = min(distance[u] for u in unsettled)
        update     frontier = {u in unsettled: distance[u] == least}; unsettled -= frontier
    until least == infinity

``relax`` has two forms: every frontier vertex visits its successors (F; concurrent minima need an
atomic), or every unsettled vertex visits its predecessors (U; no two threads write the same
distance, but edges are read again in every iteration). The paper compares both, on lists and on
matrices, wholly on one device and split between host and device; each combination is a variant here
under the paper's name.

The number of iterations is the number of different distances that occur (with zero-weight edges, a
few more), so the method suits small integer weights: 45 iterations for millions of vertices with
weights 1 to 10, but as many iterations as vertices for real-valued weights.

Departures: only unsettled vertices settle, which the paper's update does not test and zero-weight
edges require; integer sums saturate; a limit or targets end the loop early.
"""
