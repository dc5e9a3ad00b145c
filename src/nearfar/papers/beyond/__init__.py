"""Beyond the papers: this project's best engine on their graphs, every installed peer, a roofline.

Every installed peer solves the same graphs in turns with ``auto`` on one worker and on all;
NetworkX only graphs that its dicts hold within seconds. On a GPU the engine in one launch is also
measured, once it has settled on a form for the graph (its first solves choose it), and the CPU
engine of the same machine. The roofline (:mod:`nearfar.papers.beyond.roofline`) compares each time
with a bound of the memory.
"""
