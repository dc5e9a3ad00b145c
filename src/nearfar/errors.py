"""Exceptions of nearfar. Each message names the error, its place and a remedy."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "CacheError",
    "ClusterError",
    "DistanceOverflowError",
    "GraphError",
    "GraphFormatError",
    "KernelCompileError",
    "MissingDependencyError",
    "NearfarError",
    "NegativeCycleError",
    "NegativeWeightError",
    "OptionError",
    "OutOfMemoryError",
    "ProofError",
    "SolverError",
    "UnreachableError",
    "VariantUnavailable",
    "VertexError",
    "ZeroCycleError",
    "by_name",
    "did_you_mean",
    "does_not_fit",
    "keyword",
    "listed",
    "not_reached",
    "quoted",
    "size_text",
    "wrong_device",
]

T = TypeVar("T")

_QUOTED = 80
_BITS = 1 << 10
#: Marks around an option in a message and before its value; quoted text contains none of them.
_BEGIN, _VALUE, _END = "\x0e", "\x1f", "\x0f"


def keyword(name: str, *value: Any) -> str:
    """Return an option of the called function for a message, in the spelling of the interface.

    ``keyword('device', 'cpu')`` is ``device='cpu'`` in Python and ``--device cpu`` in a shell; the
    value ``...`` stands for any.
    """
    shown = "".join(_VALUE + ("..." if one is ... else repr(one)) for one in value)
    return f"{_BEGIN}{name}{shown}{_END}"


def _in_python(name: str, value: str | None) -> str:
    return name if value is None else f"{name}={value}"


def quoted(token: Any) -> str:
    """Return the ``repr`` of input from a file or a caller on one line, cut at 80 characters."""
    if isinstance(token, int) and token.bit_length() > _BITS:  # Python refuses to print large ones
        return f"an integer of {token.bit_length()} bits"
    with contextlib.suppress(Exception):  # of a foreign class
        if token.shape == ():
            token = token.item()  # of NumPy, whose repr names the type too
    if isinstance(token, (str, bytes)):
        shown = repr(token[:_QUOTED])
        return shown + "..." if len(token) > _QUOTED else shown
    try:
        shown = " ".join(repr(token).split())
    except Exception:  # the ``repr`` of a foreign class may raise anything
        shown = f"<{type(token).__name__}>"
    return shown[:_QUOTED] + "..." if len(shown) > _QUOTED else shown


def listed(names: Iterable[object], most: int = 20) -> str:
    """Join the first names and cut long ones: ``"a, b, c"`` or ``"a, b and 7 more"``."""
    texts = [text if (text := str(name)).isprintable() else repr(text) for name in names]
    shown = ", ".join(t if len(t) <= _QUOTED else t[:_QUOTED] + "..." for t in texts[:most])
    return shown + (f" and {len(texts) - most} more" if len(texts) > most else "")


def size_text(size: int) -> str:
    """Format a number of bytes: ``"1.46 GiB"``, ``"9.9 MiB"`` or ``"800 bytes"``."""
    if size < 2**20 // 10:
        return f"{size:,} bytes"
    return f"{size / 2**30:,.2f} GiB" if size >= 2**30 // 100 else f"{size / 2**20:.1f} MiB"


def did_you_mean(given: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Return the end of a message that suggests similar names: ``"; did you mean 'delta'?"``."""
    import difflib

    near = difflib.get_close_matches(given[:_QUOTED], list(known), most, cutoff)
    return f"; did you mean {' or '.join(map(quoted, near))}?" if near else ""


def by_name(known: Mapping[str, T], name: str, what: str) -> T:
    """Return the entry of a name, or raise an error that suggests similar names."""
    if not isinstance(name, str) or name not in known:
        hint = did_you_mean(str(name), known) or f": there are {', '.join(known)}"
        raise OptionError(f"no {what} {quoted(name)}{hint}")
    return known[name]


class NearfarError(Exception):
    """Base class of the errors that nearfar raises.

    Errors are pickled with their message and attributes, so that errors raised in a process pool
    reach the caller intact. A subclass that builds its message from other arguments stores each of
    them as an attribute of the same name.

    Attributes
    ----------
    option : str or None
        Keyword that the message rejects, if any.
    choices : dict
        Alternative keywords and values in the message, as Python text: ``{"device":
        "'cpu'"}``.
    """

    def __init__(self, *args: Any) -> None:
        #: Alternating parts of the message: text, then an option and its value or None.
        self._parts: list[Any] = []
        if args and isinstance(args[0], str) and _BEGIN in args[0]:
            text, *marked = args[0].split(_BEGIN)
            self._parts.append(text)
            for part in marked:
                inner, _, text = part.partition(_END)
                name, has_value, value = inner.partition(_VALUE)
                self._parts += [(name, value if has_value else None), text]
            args = (self.worded(_in_python), *args[1:])
        super().__init__(*args)

    @property
    def option(self) -> str | None:
        """Keyword that the message rejects, if any."""
        return next((name for name, value in self._parts[1::2] if value is None), None)

    @property
    def choices(self) -> dict[str, str]:
        """Alternative keywords and values in the message, as Python text."""
        return {name: value for name, value in self._parts[1::2] if value is not None}

    def worded(self, word: Callable[[str, str | None], str]) -> str:
        """Return the message with its options spelled as in another interface.

        Parameters
        ----------
        word : callable
            Function that returns the spelling of an option, given its name and the Python text of
            its value, or None if the message shows no value.

        Returns
        -------
        str
        """
        if not self._parts:
            return str(self)
        return "".join(part if isinstance(part, str) else word(*part) for part in self._parts)

    def __reduce__(self) -> tuple[Any, ...]:
        init = type(self).__init__
        if init is NearfarError.__init__:  # its only argument is the message
            return cast("tuple[Any, ...]", super().__reduce__())
        names = init.__code__.co_varnames[1 : init.__code__.co_argcount]
        return type(self), tuple(getattr(self, name) for name in names), self.__dict__


class GraphError(NearfarError, ValueError):
    """Error for arrays that do not describe a graph: lengths, order, range, invalid weights."""


class VertexError(NearfarError, IndexError):
    """Error for a source or target that is not a vertex of the graph, or a place far from it.

    Attributes
    ----------
    row : int or None
        Index of the rejected place, if places were given.
    """

    row: int | None = None


class OptionError(NearfarError, ValueError):
    """Error for an unknown option, or a value that it does not accept."""


class GraphFormatError(NearfarError, ValueError):
    """Error for a file that does not follow its format.

    Parameters
    ----------
    message : str
        Description of the fault in one sentence.
    path : str or None
        Path of the file.
    line : int or None
        1-based line number, if the format has lines.
    """

    def __init__(self, message: str, path: object = None, line: int | None = None) -> None:
        self.path = None if path is None else str(path)
        self.line = line
        place = "" if path is None else f"{path}: " if line is None else f"{path}, line {line}: "
        super().__init__(place + message)
        self.message = str(self)[len(place) :]


class NegativeWeightError(NearfarError, ValueError):
    """Error for a negative weight in a method that needs non-negative ones.

    Parameters
    ----------
    edge : int
        Position of the first negative edge in the CSR arrays.
    count : int
        Number of negative edges.
    accepted_by : iterable of str
        Ids of the variants that accept negative weights.
    ends : tuple
        Names of its source and target, or empty.
    """

    def __init__(
        self, edge: int, count: int, accepted_by: Iterable[str] = (), ends: Sequence[Any] = ()
    ) -> None:
        self.edge, self.count, self.accepted_by = int(edge), int(count), tuple(accepted_by)
        self.ends = tuple(ends)
        which = " from {} to {}".format(*map(quoted, self.ends)) if self.ends else ""
        advice = f"; use one of: {', '.join(self.accepted_by)}" if self.accepted_by else ""
        plural = "weight" if self.count == 1 else "weights"
        super().__init__(
            f"{self.count} negative {plural}, the first on edge {self.edge}{which}: this method "
            f"needs non-negative weights{advice}"
        )


def _around(cycle: Sequence[Any]) -> str:
    """Format a cycle back to its first vertex, leaving out the middle of a long one."""
    names = [str(vertex)[:_QUOTED] for vertex in (*cycle[:8], *cycle[:1])]
    if len(cycle) > 8:
        names.insert(8, "...")
    return " -> ".join(names)


class NegativeCycleError(NearfarError, ValueError):
    """Error for a negative cycle that the source reaches, so that no shortest path exists.

    Parameters
    ----------
    cycle : sequence
        External names of its vertices in order; the edge from the last to the first closes it.
    total : int or float
        Sum of its weights.
    """

    def __init__(self, cycle: Sequence[Any], total: float) -> None:
        self.cycle, self.total = list(cycle), total
        shown = _around(self.cycle)
        super().__init__(
            f"negative cycle of {len(self.cycle)} vertices and total weight {total}: {shown}"
        )


class ZeroCycleError(NearfarError, ValueError):
    """Error for a cycle of weight zero that a source reaches, so paths cannot be counted.

    Parameters
    ----------
    cycle : sequence
        External names of its vertices in order; the edge from the last to the first closes it.
    """

    def __init__(self, cycle: Sequence[Any]) -> None:
        self.cycle = list(cycle)
        shown = _around(self.cycle)
        super().__init__(
            f"cycle of {len(self.cycle)} vertices and weight zero: {shown}; shortest paths through "
            "it cannot be counted: give its edges positive weights"
        )


class OutOfMemoryError(NearfarError, MemoryError):
    """Error for a run that needs more than the free memory, raised before it allocates.

    Parameters
    ----------
    needed, free : int
        Bytes.
    advice : str
        Option that makes the run fit.
    """

    def __init__(self, needed: int, free: int, advice: str = "") -> None:
        self.needed, self.free, self.advice = int(needed), int(free), advice
        text = f"{size_text(self.needed)} needed, {size_text(self.free)} free"
        super().__init__(text + (f": {advice}" if advice else ""))
        self.advice = str(self).partition(": ")[2]


class DistanceOverflowError(NearfarError, OverflowError):
    """Error for a distance that does not fit 64 bits, or floats of 32 where those were given."""


def does_not_fit(dtype: Any, what: str = "a distance") -> DistanceOverflowError:
    """Return the error for a sum that does not fit the widest dtype."""
    return DistanceOverflowError(f"{what} does not fit {dtype}: scale the weights down")


class UnreachableError(NearfarError, ValueError):
    """Error for a path to a vertex that the source does not reach."""


def not_reached(source: Any, target: Any, limit: float | None = None) -> UnreachableError:
    """Return the error for a pair of vertices by name, and a limit if there is one."""
    beyond = "" if limit is None else f" within the limit {limit}"
    return UnreachableError(f"vertex {quoted(target)} is not reached from {quoted(source)}{beyond}")


class ProofError(NearfarError, ArithmeticError):
    """Error for an answer that fails its proof; it names the first wrong vertex or edge."""


class VariantUnavailable(NearfarError, RuntimeError):
    """Error for a method that cannot run on this machine or graph, with the reason."""


class MissingDependencyError(NearfarError, ImportError):
    """Error for a missing optional package, with the command that installs it."""


class KernelCompileError(NearfarError, RuntimeError):
    """Error for a CUDA kernel that does not compile, with its options and first error line."""


class SolverError(NearfarError, RuntimeError):
    """Error for a solver that stops without an answer, for example at its bound on steps."""


def wrong_device(what: str) -> SolverError:
    """Return the error for an outcome that only a faulty device explains."""
    return SolverError(f"{what}: check the device with `nearfar doctor`")


class ClusterError(NearfarError, RuntimeError):
    """Error for a cluster that does not respond, or whose workers cannot run the work."""


class CacheError(NearfarError, OSError):
    """Error for a cache folder that cannot be used."""
