"""Bounded multi-source shortest paths: the recursion of Algorithm 3.

::

    BMSSP(level, bound, sources):
        pivots, near = FindPivots(bound, sources)        # k rounds of relaxing, Algorithm 1
        queue = the pivots, by key                       # Lemma 3.3: M least at a time, unsorted
        until k 2^(level t) vertices are settled or the queue is empty:
            part, next = the 2^((level - 1) t) least of the queue, and a bound above them
            BMSSP(level - 1, next, part) settles vertices below some `done` <= next
            relax from them; what lands below `next` goes to the front of the queue
        settle the vertices of `near` below `done`
    level 0 is Dijkstra's method for k vertices          # Algorithm 2

``bmssp.cpp`` has the loop and the total order of paths, ``partial_order.hpp`` the queue.
"""
