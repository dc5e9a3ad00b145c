"""Johnson's all-pairs method on a GPU (the paper on CUDA forms of its inner Dijkstra).

Table 1 and Figures 3 and 4: execution times and speed-ups of the sequential method and of the
flag, queue and prefix forms. This project's batched engines stand beside them. Six of the paper's
eight graphs are in the folder of public graphs; Graph4 is listed once per edge there and is made
symmetric. The paper says nothing of weights: they are whole numbers 1..100 with seed 1.

All pairs of the larger graphs would take the paper's forms hours, so every method solves a sample
of sources, spread evenly, and its time is scaled to all; the JSON has both. The batched engines
solve larger samples, because a few sources would not fill what they run on.
"""
