"""Command line: one module per command, discovered by :mod:`nearfar.cli.main`.

A command is a module of this package with

- ``NAME``: the word typed after ``nearfar``;
- ``HELP``: one line for the list of commands;
- ``CALLS``: the public functions that it calls; ``tests/cli/test_flags.py`` compares its flags with
  their parameters, from which :mod:`nearfar.cli.flags` makes them;
- ``EXAMPLES``: command lines, one per line, shown at the end of its ``--help``;
- ``configure(parser)``: adds arguments to an ``argparse.ArgumentParser``; ``--json``,
  ``--quiet`` and ``--debug`` are added to every command;
- ``run(args)``: does the work; a failure without an error returns an exit code of
  :class:`nearfar.cli.console.Exit`.

Its docstring is the description in ``--help``. A command does not catch the library's errors:
the dispatcher turns them into one sentence on stderr and an exit code. Data goes to stdout
through :func:`nearfar.cli.console.emit`, everything else to stderr. Modules import slow
dependencies inside ``run``, because listing the commands imports all modules.
"""
