"""Prepared graphs on a CUDA device; a query consists of a front, a bottom and a sink.

``query`` has the launches and the memory of one. ``fronts`` add climbs and the products above the
cells, ``bottoms`` cells, leaves or a product with targets, ``sinks`` write rows, restore the sums
of a search, or reduce. ``cut`` divides the tree for thread blocks, ``metric`` gives the arcs their
weights there, ``pairs`` has point queries and their paths.
"""
