"""One folder per paper: its variants, its experiments, its claims, tables, figures and page.

A paper's ``__init__`` says what it proposed, which variant is which section, what was found, and
where to read on. Its packages are families of variants (``cpu.py``, ``cuda.py`` and kernels), found
by the registry; ``run.py`` has the experiment that ``nearfar experiment`` finds. Variants that
``auto`` may choose state a cost and lie in ``algorithms/``; those here run when they are named.
"""
