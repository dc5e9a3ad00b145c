"""The command line: one file per command, found by :mod:`nearfar.cli.main`.

A command is a module of this package with

- ``NAME``: the word typed after ``nearfar``;
- ``HELP``: one line for the list of commands;
- ``CALLS``: the public functions that it calls; ``tests/cli/test_flags.py`` compares its flags with
  their parameters, of which :mod:`nearfar.cli.flags` makes them;
- ``EXAMPLES``: command lines, one per line, shown at the end of its ``--help``;
- ``configure(parser)``: adds arguments to an ``argparse.ArgumentParser``, which gets ``--json``,
  ``--quiet`` and ``--debug`` besides;
- ``run(args) -> int``: does the work and returns an exit code of :class:`nearfar.cli.console.Exit`.

Its docstring is the description in ``--help``. A command raises the library's errors and lets them
pass: the dispatcher turns them into one sentence on stderr and an exit code. Data goes to stdout
through :func:`nearfar.cli.console.emit`, everything else to stderr. Modules import what is heavy
inside ``run``, because listing the commands imports all of them.
"""
