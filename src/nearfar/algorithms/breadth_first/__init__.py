"""Breadth-first search: shortest paths in graphs without weights.

Moore 1959; with the direction switch of Beamer, Asanovic and Patterson 2012. Level by level::

    distance[*] = unreached; distance[source] = 0; frontier = {source}
    for level = 1, 2, ... while the frontier is not empty:
        push:  every frontier vertex adds its unreached successors to the next frontier; or
        pull:  every unreached vertex scans its in-edges up to the first one from the frontier

Pushing scans all edges of the frontier, pulling a few edges of every unreached vertex. If the
frontier has a large part of all edges, as in the middle levels of social networks, pulling scans
far fewer. It needs in-edges: in an undirected graph these are a vertex's own edges, and the
transpose of a directed graph is used only if it already exists.
"""
