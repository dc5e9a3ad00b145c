"""Papers, one folder each, with variants, experiments, claims, tables, figures and a page.

A paper's ``__init__`` describes its proposal, the section of each variant, the findings, and
further reading. Its packages are families of variants (``cpu.py``, ``cuda.py`` and kernels), found
by the registry; ``run.py`` has the experiment that ``nearfar experiment`` finds. Variants that
``auto`` may choose state a cost and are in ``algorithms/``; those here run only when named.
"""
