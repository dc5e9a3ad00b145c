"""Synthetic landscapes: hills from noise of all wavelengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nearfar.errors import OptionError, quoted
from nearfar.options import is_integer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["landscape"]


def landscape(
    rows: int, columns: int, *, seed: int = 0, height: float = 1000.0, roughness: float = 0.45
) -> NDArray[Any]:
    """Generate an elevation model of a synthetic landscape.

    Parameters
    ----------
    rows, columns : int
        At least 2 each.
    seed : int
    height : float
        Height of the highest cell; the lowest is 0.
    roughness : float
        0 is smooth, 1 is rugged.

    Returns
    -------
    float32 array, shape (rows, columns)

    Raises
    ------
    OptionError
        For fewer rows or columns.

    Notes
    -----
    Spectral synthesis: random phases, amplitudes that fall as a power of the frequency. O(n log n).
    """
    if not all(is_integer(count) and count >= 2 for count in (rows, columns)):
        raise OptionError(
            f"a landscape of {quoted(rows)} x {quoted(columns)} cells: give integers of at least 2"
        )
    rng = np.random.default_rng(seed)
    waves = np.hypot(np.fft.fftfreq(rows)[:, None] * rows, np.fft.rfftfreq(columns) * columns)
    waves[0, 0] = np.inf
    amplitude = waves ** -(2.6 - roughness)
    phases = rng.random(waves.shape) * (2j * np.pi)
    heights = np.fft.irfft2(amplitude * np.exp(phases), s=(rows, columns))
    heights -= heights.min()
    made: NDArray[Any] = (heights * (height / heights.max())).astype(np.float32)
    return made
