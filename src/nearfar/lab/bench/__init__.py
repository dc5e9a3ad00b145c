"""Benchmarks: named graphs, fair timing, reports, and one adapter for each peer library.

``nearfar bench peers`` runs it. All scripts follow these rules:

- Everything that a contender may prepare once (its own graph object) is made before timing
  starts.
- One warm-up solve per source, then rounds in one process in which the contenders alternate, in an
  order that rotates, so that load on the machine affects all of them alike.
- Every sample is kept. Tables show medians; ratios are formed within one run, never across runs.
- Every answer is compared, outside the timed region, with one that the certificate has proven.
- Sources are drawn once, with a fixed seed, from the vertices that reach most of the graph.
"""
