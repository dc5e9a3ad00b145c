"""Crauser's thresholds: settle every vertex that no unsettled vertex can improve any more.

Ortega-Arranz, Torres, Gonzalez-Escribano and Llanos (2015) put the out-criterion of Crauser,
Mehlhorn, Meyer and Sanders, "A Parallelization of Dijkstra's Shortest Path Algorithm" (1998), on
the GPU. It is the loop of the frontier family with a wider minimum::

    lightest_out[v] = min(w(v, z))                          once per graph
    repeat
        relax      as in the frontier family, successors or predecessors
        minimum    threshold = min(distance[u] + lightest_out[u] for u in unsettled)
        update     frontier = {u in unsettled: distance[u] <= threshold}; unsettled -= frontier
    until threshold == infinity

A path that still improves v must leave the unsettled set over some u's out-edge, so it is at least
as long as the threshold. The 1998 paper has a second criterion, which the GPU paper leaves out: a
path that still improves v must end with an in-edge from an unsettled vertex, so v also settles
when ``distance[v] <= least + lightest_in[v]``, least being the minimum over the unsettled.
``crauser_in`` uses only it, ``crauser_in_out`` settles by either criterion.

Departures: integer sums saturate; the loop of the out-criterion ends with the last vertex that has
an out-edge (vertices without one need not settle, their distances are final); all sums are
compared as sums (``distance <= least + lightest``), which is exact for rounded floats. A self-loop
counts as an out- and an in-edge, as the definition says: it makes thresholds smaller, never wrong.
"""
