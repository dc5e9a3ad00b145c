"""Beyond the papers: nearfar's best engine and its peers on the papers' graphs, with a roofline.

Every installed peer solves the same graphs in alternation with ``auto`` on one worker and on all;
NetworkX solves only graphs that it builds within seconds. On a GPU the one-launch engine is also
measured, after its first solves have chosen a form for the graph, and the CPU
engine of the same machine. The roofline (:mod:`nearfar.papers.beyond.roofline`) compares each time
with a bound set by the memory.
"""
