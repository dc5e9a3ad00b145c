"""The generated documentation: pages made from the code, and tables made from measured results.

``python -m docs.generators`` writes all of it in a checkout of the repository, or the pages named
by their stems (``README``, ``cpu-engine``, ``martin-2009``); ``--check`` only compares. What
is measured comes from ``benchmarks/results``; nothing here measures. A result that was not measured
yet leaves a line that says how to measure it.

Tables are declared in ``tables.toml`` and charts in ``charts.toml``, in the language of
:mod:`docs.generators.results`; to add one, add an entry, and for a table its markers in the page.
Pages and blocks that are made of code (``methods``, ``python_reference``, ``command_line``,
``formats``) have a module each.
"""
