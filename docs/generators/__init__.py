"""The generated documentation: pages made from the code, and tables made from measured results.

``python -m docs.generators`` writes all of it in a checkout of the repository, or the pages named
by their stems (``README``, ``cpu-engine``, ``martin-2009``); ``--check`` only compares. A module
here is named as the page it fills. What is measured comes from ``benchmarks/results``; nothing here
measures. A result that was not measured yet leaves a line that says how to measure it.

To add a table, write a function without parameters that returns Markdown, name it in ``BLOCKS`` of
``__main__``, and put its markers into the page.
"""
