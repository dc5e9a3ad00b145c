"""Martin, Torres, Gavilanes (2009): Figures 6 and 7, the iterations, and the counterexample.

Section 6: random graphs by predecessors, seven per vertex, 1 to 11 times 2**20 vertices as lists;
n/5 predecessors, 1 to 15 times 2**10 vertices as matrices; integer weights 1 to 10; vertex 0 is the
source; 256 threads per block; 25 graphs per size. The base is Dijkstra with a Fibonacci heap (FH)
on one core.

Departures. ``small`` has three graphs per size and the same multiples of 2**15 and 2**7 vertices.
At ``paper`` scale on a GPU the methods that run wholly or partly on the host are timed on the first
graph of a size only: they take seconds per solve.
"""
