"""Dijkstra's method: settle one vertex at a time, always the nearest unsettled one.

Dijkstra 1959. With a queue ``Q`` of reached vertices keyed by their distances::

    distance[*] = unreached; distance[source] = 0; insert source into Q
    while Q is not empty:
        v = the vertex of least distance, taken out of Q
        for each edge (v, t) of weight w:
            if distance[v] + w < distance[t]:
                distance[t] = distance[v] + w
                insert t into Q, or decrease its key

The variants differ only in the queue: a plain array (Martin et al. 2009, Fig. 1), a binary heap, a
lazy heap with four children per node, a radix heap, a pairing heap, and the two baselines of the
papers, the Fibonacci heap and the relaxed heap. One driver serves all heaps (``heaps.cpp``); each
heap has a file in ``cpu/heaps/``.
"""
