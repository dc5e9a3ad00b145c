"""Prepared graphs: an elimination order with its shortcuts, made once and asked many times.

Eliminating vertices in a nested-dissection order joins the neighbours of each by shortcuts; where
separators are small there are few, and every query becomes a walk to the root of the elimination
tree (Dibbelt, Strasser and Wagner 2016, "Customizable contraction hierarchies"; in matrix words, a
min-plus Cholesky factor).

``order`` finds in which order to eliminate (``reduce.cpp``, ``dissect.cpp``), ``tree`` what that
makes of the graph, before any shortcut is built (``symbolic.cpp``), ``metric`` gives the arcs their
weights (``customize``), and ``prepared`` asks: point queries (``walk``, ``unpack``, ``labels``),
rows and tables (``sweep``). ``cpu`` registers variants, so that ``sssp``, ``distances`` and
``all_pairs`` take a prepared graph as any other, and ``file`` keeps it on disk.
"""
