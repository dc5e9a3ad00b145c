"""Generators of documentation: pages from the code, and tables from measured results.

``python -m docs.generators`` writes all generated pages in a checkout of the repository, or those
named by their stems (``README``, ``cpu-engine``, ``martin-2009``); ``--check`` only compares.
Measurements come from ``benchmarks/results``. In place of a missing result, a page has a line with
the command that measures it.

Tables are declared in ``tables.toml`` and charts in ``charts.toml``, in the language of
:mod:`docs.generators.results`; to add one, add an entry, and for a table its markers in the page.
Pages and blocks generated from code (``methods``, ``python_reference``, ``command_line``,
``formats``) have a module each.
"""
