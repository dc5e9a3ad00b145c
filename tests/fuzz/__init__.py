"""Damaged files by the thousand: only a graph or one of the library's errors may come out.

``python -m tests.fuzz --count 100000 --seed 7`` reads that many mutated files, evenly over all
formats, in a subprocess with a limit of memory and time (worker.py). A case is its number: the same
seed makes the same bytes, so nothing has to be kept. What was found is in ``found/`` and read again
by tests/fuzz/test_fuzz.py.
"""
