"""Many sources at once: the batch is the primitive, not a loop over single sources.

Two ideas, on either kind of device::

    one source per worker:
        each worker (CPU core, thread block) takes the next source and solves it alone, in memory
        that it keeps
    one source per lane:
        each edge is read once for 8 to 64 sources, whose distances to one vertex lie side by side
        while some vertex waits:
            v = a vertex whose least improved lane is nearest
            for each edge (v, t, w):
                improved = distance[v][:] + w < distance[t][:]
                distance[t][:] = where(improved, distance[v][:] + w, distance[t][:])
                if any(improved): t waits

The first does the least work an answer needs and wins where searches have little in common, as on
road networks. The second does some edges again, but all lanes for one memory access, and wins on
graphs of small diameter: its working set is one graph's, not one per worker.

Rows are independent: a row is the same bits whatever batch it was solved in.
"""
