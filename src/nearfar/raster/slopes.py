"""Effect of a slope on the cost of a step, as a table that the engines interpolate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["SlopeTable", "hiking"]

_MOST = 1 << 20  # maximum number of factors


class SlopeTable:
    """Factor of the cost of a step, as a function of its slope.

    Between equally spaced slopes the engines interpolate linearly; beyond the first and the last
    the end value is used. An infinite value makes steps of that slope impassable.

    Parameters
    ----------
    low, high : float
        First and last slope, as rise over run: 0.1 is a rise of 10 in 100, negative is downhill.
    values : array
        At least 2 factors, none negative or NaN, at equally spaced slopes.

    Raises
    ------
    OptionError
        For a range that is empty or not finite, or factors that are negative or NaN.
    """

    def __init__(self, low: float, high: float, values: ArrayLike) -> None:
        self.low, self.high = float(low), float(high)
        self.values: NDArray[np.float64] = np.asarray(values, dtype=np.float64).reshape(-1)
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise OptionError(f"slopes from {low} to {high}: give a finite range, least first")
        if not 2 <= len(self.values) <= _MOST:
            raise OptionError(f"{len(self.values)} factors: give 2 to {_MOST:,}")
        if not (self.values >= 0).all():
            at = int(np.argmin(self.values >= 0))
            raise OptionError(f"factor {at} of the slopes is {self.values[at]}: give at least 0")

    @classmethod
    def from_any(cls, given: Any) -> SlopeTable:
        """Make a table from a table, a function or a pair of arrays.

        Parameters
        ----------
        given : SlopeTable, callable or pair of arrays
            A function of an array of slopes is sampled from -2 to 2 in steps of 0.0025; a pair
            (slopes, factors) with ascending slopes is interpolated at 4,096 equal steps.

        Returns
        -------
        SlopeTable

        Raises
        ------
        OptionError
            If it is none of these.
        """
        if isinstance(given, cls):
            return given
        if callable(given):
            return cls.from_function(given)
        try:
            slopes, factors = (np.asarray(part, dtype=np.float64).reshape(-1) for part in given)
        except (TypeError, ValueError):
            raise OptionError(
                "slope is neither a SlopeTable, a function nor a pair (slopes, factors)"
            ) from None
        if len(slopes) != len(factors) or len(slopes) < 2 or not (np.diff(slopes) > 0).all():
            raise OptionError("slope: give as many ascending slopes as factors, at least 2")
        at = np.linspace(slopes[0], slopes[-1], 4097)
        return cls(slopes[0], slopes[-1], np.interp(at, slopes, factors))

    @classmethod
    def from_function(
        cls, function: Callable[[Any], Any], low: float = -2.0, high: float = 2.0, steps: int = 1600
    ) -> SlopeTable:
        """Sample a function.

        Parameters
        ----------
        function : callable
            Function of an array of slopes that returns the factors.
        low, high : float
            Range of slopes.
        steps : int
            Number of intervals.

        Returns
        -------
        SlopeTable
        """
        return cls(low, high, function(np.linspace(low, high, steps + 1)))

    def in_dtype(self, dtype: np.dtype[Any]) -> tuple[NDArray[Any], Any, Any]:
        """Return (values, the last one twice; low; intervals per unit of slope) for an engine."""
        values = np.append(self.values, self.values[-1]).astype(dtype)
        scale = (len(self.values) - 1) / (self.high - self.low)
        return values, dtype.type(self.low), dtype.type(scale)


def hiking(*, off_path: bool = False) -> SlopeTable:
    """Return Tobler's hiking function: the seconds per metre on foot, by slope.

    The speed is 6 exp(-3.5 |slope + 0.05|) km/h, greatest slightly downhill.

    Parameters
    ----------
    off_path : bool
        Multiply the speed by 0.6, as Tobler proposes away from paths.

    Returns
    -------
    SlopeTable
        With a cost of 1 per cell and cells in metres, distances are seconds.

    References
    ----------
    W. Tobler, Three presentations on geographical analysis and modeling, NCGIA technical report
    93-1, 1993.
    """

    def seconds(slope: Any) -> Any:
        speed = 6.0 * np.exp(-3.5 * np.abs(slope + 0.05)) * (0.6 if off_path else 1.0)
        return 3.6 / speed

    return SlopeTable.from_function(seconds)
