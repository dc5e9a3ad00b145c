"""Damaged files by the thousand: the result must be a graph or one of the library's errors.

``python -m tests.fuzz --count 100000 --seed 7`` reads that many mutated files, evenly over all
formats, in a subprocess with a limit of memory and time (worker.py). A case is given by its number:
the same seed makes the same bytes. Past findings are in ``found/``, and tests/fuzz/test_fuzz.py
reads them again.
"""
