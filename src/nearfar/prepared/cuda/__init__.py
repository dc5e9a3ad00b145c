"""Prepared graphs on a CUDA device: a query consists of a front, a bottom and a sink.

``query`` has the launches and the memory of a query. ``fronts`` has climbs and the products above
the cells; ``bottoms`` has cells, leaves and products with targets; ``sinks`` write rows, restore
the sums of a search, or reduce. ``cut`` divides the tree for thread blocks, ``metric`` computes the
weights of the arcs on the device, and ``pairs`` has point queries and their paths.
"""
