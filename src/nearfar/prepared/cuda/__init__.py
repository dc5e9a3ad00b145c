"""A prepared graph on a CUDA device; a query is a front, a bottom and a sink.

``cut`` divides the tree for thread blocks, ``metric`` gives the arcs their weights there.
``fronts`` compute what lies above the cells, ``bottoms`` the cells and leaves, ``sinks`` what
becomes of the rows; ``pairs`` has point queries, paths and tables.
"""
