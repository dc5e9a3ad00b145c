"""Breadth-first search: shortest paths where every edge counts 1.

Moore 1959; with the direction switch of Beamer, Asanovic and Patterson 2012. Level by level::

    distance[*] = unreached; distance[source] = 0; frontier = {source}
    for level = 1, 2, ... while the frontier is not empty:
        push:  every vertex of the frontier puts its unreached successors into the next one; or
        pull:  every unreached vertex looks for one predecessor in the frontier, and stops there

Pushing scans all edges of the frontier, pulling a few edges of every unreached vertex. When the
frontier has a large part of all edges, as in the middle levels of social networks, pulling scans
far fewer. It needs the in-edges of a vertex: those of an undirected graph are its own edges, and
the transpose of a directed graph is used only if it already exists.
"""
