"""Main program ``nearfar``: finds the commands of this package, runs one, reports errors."""

from __future__ import annotations

import sys

try:
    import argparse
    import contextlib
    import importlib
    import os
    import pkgutil
    import signal
    import threading
    import weakref
    from typing import Any

    import nearfar
    from nearfar.cli.console import (
        Exit,
        add_output,
        epilog,
        exit_code,
        exit_codes,
        is_short_of_address_space,
    )
    from nearfar.cli.parser import Parser
except KeyboardInterrupt:  # imports take most of a short run, so Ctrl-C is likely here
    sys.stderr.write("nearfar: interrupted\n")
    raise SystemExit(130) from None

from collections.abc import Iterator, Sequence

from nearfar import cli

_DESCRIPTION = "Exact shortest paths in weighted graphs on CPU cores and NVIDIA GPUs."
_EXAMPLES = """\
nearfar info roads.gr.gz
nearfar sssp roads.gr.gz 1 -o distances.csv
nearfar path roads.gr.gz 1 42
nearfar methods"""


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help formatter that keeps line breaks and lists each command with its description."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            longest = max(map(len, action.choices), default=0)
            self._action_max_length = max(self._action_max_length, longest + 4)


def commands() -> dict[str, Any]:
    """Return the modules of the commands by name, sorted."""
    names = [info.name for info in pkgutil.walk_packages(cli.__path__, "nearfar.cli.")]
    modules = [importlib.import_module(name) for name in names if name != "nearfar.cli.main"]
    found = {module.NAME: module for module in modules if hasattr(module, "NAME")}
    return dict(sorted(found.items()))


def build_parser(only: str | None = None) -> Parser:
    """Return the parser with all commands; documentation is generated from it.

    With ``only``, just that command gets its arguments, which saves looking up the choices of
    others.
    """
    parser = Parser(
        prog="nearfar",
        description=_DESCRIPTION,
        epilog=f"{epilog(_EXAMPLES)}\n{exit_codes()}",
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"nearfar {nearfar.__version__}")
    listed = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, module in commands().items():
        child = listed.add_parser(
            name,
            help=module.HELP,
            description=(module.__doc__ or module.HELP).strip(),
            epilog=epilog(module.EXAMPLES),
            formatter_class=_Help,
            allow_abbrev=False,
        )
        if only is not None and name != only:
            continue
        module.configure(child)
        add_output(child)
        child.set_defaults(run=module.run, parser=child)
    return parser


def _sentence(error: BaseException, parser: Parser) -> str:
    """Describe an error in one line, with options named as flags of the command."""
    if (
        isinstance(error, OSError)
        and not isinstance(error, nearfar.NearfarError)
        and error.strerror
    ):
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"{place}{error.strerror}"
    if isinstance(error, MemoryError) and not isinstance(error, nearfar.NearfarError):
        said = f" ({error})" if str(error) else ""
        return f"out of memory{said}: use a smaller graph, or a machine with more memory"
    if is_short_of_address_space(error):
        return f"out of memory ({error}): raise the limit of this shell, ulimit -v"
    said = error.worded(parser.word) if isinstance(error, nearfar.NearfarError) else str(error)
    text = " ".join(said.split()) or type(error).__name__
    if exit_code(error) is Exit.UNEXPECTED:
        return f"{type(error).__name__}: {text} (unexpected: --debug shows the traceback)"
    return text


def _run(args: argparse.Namespace, parser: Parser) -> int:
    try:
        return int(args.run(args) or Exit.OK)
    except BrokenPipeError:
        # The reader of the output has gone, as in `nearfar ... | head`: exit silently, and
        # keep the interpreter from flushing into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED
    except Exception as error:
        if args.debug:
            raise
        print(f"nearfar: error: {_sentence(error, parser)}", file=sys.stderr)
        return exit_code(error)


class _Terminated(BaseException):
    """SIGTERM as an exception that unwinds, so that temporary files are removed."""


@contextlib.contextmanager
def _terminating() -> Iterator[None]:
    """Turn SIGTERM into an exception, unless the caller handles the signal."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return

    raised: list[weakref.ref[_Terminated]] = []

    def stop(number: int, frame: object) -> None:
        # A second signal would interrupt the clean-up. But Python drops an exception that is
        # raised in a callback of a weak reference, and then the next signal has to count.
        if raised and raised[0]() is not None:
            return
        error = _Terminated()
        raised[:] = [weakref.ref(error)]
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _complete() -> None:
    """Complete a word for a shell, and exit; see docs/how-to/use-in-scripts.md."""
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(build_parser())


def _open_closed_streams() -> None:
    """Open null devices for streams that the caller closed, as by ``>&-``.

    Python sets them to None, and the next opened files would get their descriptors.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with arguments, by default those of the process; return the exit code."""
    _open_closed_streams()
    try:
        if "_ARGCOMPLETE" in os.environ:
            _complete()
        given = list(sys.argv[1:] if argv is None else argv)
        parser = build_parser(next((word for word in given if not word.startswith("-")), ""))
        args = parser.parse_all(given)
        if args.command is None:
            parser.print_help(sys.stderr)
            return Exit.USAGE
        with _terminating():
            return _run(args, parser.innermost(given))
    except _Terminated:
        print("nearfar: ended by SIGTERM", file=sys.stderr)
        return Exit.TERMINATED
    except KeyboardInterrupt as stop:
        kept = f": {stop}" if str(stop) else ""
        print(f"nearfar: interrupted{kept}", file=sys.stderr)
        return Exit.INTERRUPTED
