"""Output and exit codes of every command: data on stdout, everything else on stderr."""

from __future__ import annotations

import argparse
import enum
import json
import math
import sys
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from nearfar import errors


class Exit(enum.IntEnum):
    """Exit codes of every command, with their meanings."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        """Return a code with its meaning."""
        made = int.__new__(cls, code)
        made._value_, made.meaning = code, meaning
        return made

    OK = 0, "success"
    UNEXPECTED = 1, "unexpected error; repeat with --debug for the traceback"
    USAGE = 2, "wrong option, argument or method name"
    BAD_INPUT = 3, "bad input: a file, a vertex, or weights that the method does not accept"
    OUT_OF_MEMORY = 4, "out of memory"
    NEGATIVE_CYCLE = 5, "negative cycle reachable from the source"
    FAILED_PROOF = 6, "an answer failed its proof"
    NO_PATH = 7, "the target is not reachable"
    UNAVAILABLE = 8, "a method, optional package or cluster is not available"
    INTERRUPTED = 130, "interrupted by Ctrl-C"
    PIPE_CLOSED = 141, "the program that read the output ended, as in `| head`"
    TERMINATED = 143, "ended by SIGTERM"


EXIT_CODES: dict[Exit, str] = {code: code.meaning for code in Exit}

# The first matching entry decides, so subclasses precede their bases.
_BY_ERROR: tuple[tuple[tuple[type[BaseException], ...], Exit], ...] = (
    ((errors.OptionError,), Exit.USAGE),
    ((errors.NegativeCycleError,), Exit.NEGATIVE_CYCLE),
    ((errors.ProofError,), Exit.FAILED_PROOF),
    ((errors.UnreachableError,), Exit.NO_PATH),
    ((errors.VariantUnavailable, errors.KernelCompileError, ImportError), Exit.UNAVAILABLE),
    ((errors.ClusterError, errors.SolverError), Exit.UNAVAILABLE),
    ((errors.GraphFormatError, errors.GraphError, errors.VertexError), Exit.BAD_INPUT),
    ((errors.NegativeWeightError, errors.ZeroCycleError), Exit.BAD_INPUT),
    ((errors.DistanceOverflowError, OSError), Exit.BAD_INPUT),
    ((MemoryError,), Exit.OUT_OF_MEMORY),
)


def is_short_of_address_space(error: BaseException) -> bool:
    """Return whether a library was not loaded for lack of address space.

    The loader reports that as an ordinary ImportError.
    """
    if not isinstance(error, ImportError) or isinstance(error, ModuleNotFoundError):
        return False
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limits
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def exit_code(error: BaseException) -> Exit:
    """Return the exit code of an exception."""
    if is_short_of_address_space(error):
        return Exit.OUT_OF_MEMORY
    found = (code for kinds, code in _BY_ERROR if isinstance(error, kinds))
    return next(found, Exit.UNEXPECTED)


def plain(value: Any) -> Any:
    """Convert NumPy values and infinities to JSON values; an infinity is null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (set, frozenset)):
        return plain(sorted(value))
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)


def epilog(examples: str) -> str:
    """Format the examples for the end of a help text."""
    return "examples:\n" + "".join(f"  {line}\n" for line in examples.strip().splitlines())


def exit_codes() -> str:
    """Describe the exit codes of all commands, for the end of the program's help."""
    codes = "".join(f"  {code.value:<4}{text}\n" for code, text in EXIT_CODES.items())
    return f"exit codes:\n{codes}"


def add_output(parser: argparse.ArgumentParser, *, nested: bool = False) -> None:
    """Add --json, --quiet and --debug; a ``nested`` parser keeps flags given before its name."""
    default: Any = argparse.SUPPRESS if nested else False
    group = parser.add_argument_group("output")
    for flags, text in (
        (("--json",), "print JSON on stdout"),
        (("-q", "--quiet"), "print only errors and requested data"),
        (("--debug",), "show the traceback of an error"),
    ):
        group.add_argument(*flags, action="store_true", default=default, help=text)


def emit(
    args: argparse.Namespace, data: Any, lines: Iterable[str], *, summary: bool = False
) -> None:
    """Print the result on stdout: ``data`` as JSON with ``--json``, else the lines as text.

    Lines of a ``summary`` of written files are omitted with ``--quiet``.
    """
    if summary and args.quiet and not args.json:
        return
    if args.json:
        sys.stdout.write(json.dumps(plain(data), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def note(args: argparse.Namespace, text: str) -> None:
    """Print a remark on stderr, unless ``--quiet``."""
    if not args.quiet:
        print(f"nearfar: {text}", file=sys.stderr, flush=True)


def rows(pairs: Iterable[tuple[str, object]]) -> list[str]:
    """Return the lines of ``label  value`` with the values in one column."""
    listed = [(label, str(value)) for label, value in pairs]
    width = max((len(label) for label, _ in listed), default=0)
    return [f"{label:<{width}}  {value}" for label, value in listed]


def duration(seconds: float) -> str:
    """Format seconds with three digits and a unit: ``12.3 ms``, ``4.56 s``."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale or unit == "us":
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s"
