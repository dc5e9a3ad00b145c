"""Methods for many sources, solved as a batch instead of a loop over single sources.

Both kinds of devices have two methods::

    one source per worker:
        each worker (CPU core, thread block) repeatedly takes the next source and solves it,
        reusing its memory
    one source per lane:
        each edge is read once for 8 to 64 sources, whose distances to one vertex lie side by side
        while a vertex waits:
            v = a vertex whose least improved lane is nearest
            for each edge (v, t, w):
                improved = distance[v][:] + w < distance[t][:]
                distance[t][:] = where(improved, distance[v][:] + w, distance[t][:])
                if any(improved): t waits

The first does the least work and is faster where searches have little in common, as on road
networks. The second relaxes some edges repeatedly, but serves all lanes with one memory access,
and is faster on graphs of small diameter: its working set is one graph, not one per worker.

Rows are independent: a row has the same bits in every batch.
"""
