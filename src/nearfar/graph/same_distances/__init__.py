"""Graphs with the same distances as a given one that are faster to search.

:mod:`~nearfar.graph.same_distances.integer_weights` stores integers in fewer bits,
:mod:`~nearfar.graph.same_distances.backbone` leaves out edges that no shortest path contains, and
:mod:`~nearfar.graph.same_distances.renumbered` brings neighbours close in memory. Plans of ``auto``
search these graphs (:mod:`nearfar.solve.steps.plan`).
"""
