"""Random numbers that are equal on every machine, with every NumPy, in any order.

Value ``i`` of a stream is a hash of (key, i): output ``i`` of splitmix64 (Steele, Lea, Flood: "Fast
splittable pseudorandom number generators", OOPSLA 2014) started at the key. A value does not depend
on earlier values, so several threads fill an array with the same result, and an edge can look up
the number of another edge. ``numpy.random`` is not used because its streams may change between
versions; ``generators/fill.cpp`` uses only 64-bit integer arithmetic.

The key of a stream is a hash of the user's seed and the stream's name ("targets", "weights", ...),
so that changing the range of the weights does not change the edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearfar.errors import OptionError, keyword, quoted
from nearfar.system.threads import default_threads

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def threads() -> int:
    """Return the number of threads that fill arrays: the available cores, at most 16."""
    return min(default_threads(), 16)


class Stream:
    """Endless array of random 64-bit words, read by position.

    Parameters
    ----------
    seed : int
        The user's seed; any Python int, of which the low 64 bits count.
    name : str
        Purpose of the numbers. Streams of different names are independent.
    """

    def __init__(self, seed: int, name: str) -> None:
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise OptionError(f"{keyword('seed')} is {quoted(seed)}: give an integer")
        key = _mix((int(seed) + _GOLDEN) & _MASK)
        for byte in name.encode():
            key = _mix((key + byte + _GOLDEN) & _MASK)
        self.key = key  # 64-bit key, the only input of the C++ functions

    def bits(self, count: int, start: int = 0) -> NDArray[np.uint64]:
        """Return words ``start .. start + count - 1``, shape ``(count,)``, dtype uint64."""
        from nearfar import _cpu

        out = np.empty(count, np.uint64)
        _cpu.generator_fill_integers(out, self.key, start, 0, 0, threads())
        return out

    def integers(
        self, low: int, high: int, count: int, dtype: Any = np.int64, start: int = 0
    ) -> NDArray[Any]:
        """Return uniform integers in ``low .. high``, inclusive, dtype int32 or int64.

        The high half of (word times range): the bias is below range / 2**64.
        """
        from nearfar import _cpu

        out = np.empty(count, dtype)
        _cpu.generator_fill_integers(out, self.key, start, low, high - low + 1, threads())
        return out

    def unit(self, count: int, dtype: Any = np.float64) -> NDArray[Any]:
        """Return uniform multiples of 2**-53 (float64) or 2**-24 (float32) in [0, 1)."""
        from nearfar import _cpu

        out = np.empty(count, dtype)
        _cpu.generator_fill_unit(out, self.key, threads())
        return out

    def below(self, probability: float, count: int) -> NDArray[np.bool_]:
        """Draw True with the given probability, independently, shape ``(count,)``."""
        if probability >= 1.0:
            return np.ones(count, bool)
        limit, block = np.uint64(int(probability * 2**64)), 1 << 20
        out = np.empty(count, bool)
        for i in range(0, count, block):
            part = out[i : i + block]
            np.less(self.bits(len(part), i), limit, out=part)
        return out

    def distinct_others(self, rows: int, k: int, n: int, dtype: Any) -> NDArray[Any]:
        """Return for each row ``v`` k distinct vertices of ``0 .. n-1`` other than ``v``.

        Uniform over all such sets; shape ``(rows, k)``; the order in a row is not random.
        """
        from nearfar import _cpu

        out = np.empty((rows, k), dtype)
        _cpu.generator_fill_distinct(out, rows, k, n, self.key, threads())
        return out

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Draw a random order of ``0 .. n-1`` by sorting their words, O(n log n)."""
        order: NDArray[np.int64] = np.argsort(self.bits(n), kind="stable")
        return order
