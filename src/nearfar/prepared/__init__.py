"""Prepared graphs: an elimination order with its shortcuts, made once and asked many times.

``order`` finds in which order to eliminate the vertices, ``tree`` what that makes of the graph
(before any shortcut is built: how many there will be), ``metric`` gives the arcs their weights, and
``prepared`` asks. A file each for the queries: walk, labels, sweep, table.
"""
