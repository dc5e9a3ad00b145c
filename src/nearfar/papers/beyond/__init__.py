"""Beyond the papers: this project's best engine on their graphs, every installed peer, a roofline.

Every peer that is installed solves the same graphs in turns with ``auto`` on one worker and on all;
NetworkX only graphs that its dicts hold within seconds. On a GPU the engine in one launch is
measured besides, once it has settled on a form for the graph (its first solves choose it), with
the CPU engine of the same machine beside it. The roofline
(:mod:`nearfar.papers.beyond.roofline`) says how far a time is from what the memory allows.
"""
