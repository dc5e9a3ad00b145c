"""Travel times of links by flow: the function of the Bureau of Public Roads, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearfar.errors import OptionError, quoted

_DIFFERENCE = 1e-6  # relative change of a flow for numerical slopes
_LARGEST_PRODUCT = 8  # integer powers up to this are computed as products


def edge_numbers(values: Any, n_edges: int, what: str) -> NDArray[np.float64]:
    """Return one finite number of at least 0 per edge; a single number applies to all."""
    array = np.asarray(values)
    if array.shape not in ((), (n_edges,)) or array.dtype.kind not in "iuf":
        raise OptionError(
            f"{what} has shape {array.shape} and dtype {array.dtype}: give a number, or one per "
            f"edge, ({n_edges},)"
        )
    numbers = np.ascontiguousarray(np.broadcast_to(array, (n_edges,)), dtype=np.float64)
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers < np.inf)))
    if len(wrong):
        raise OptionError(
            f"{what} is {numbers[wrong[0]]} at edge {int(wrong[0])}: give finite numbers of at "
            "least 0"
        )
    return numbers


class LinkCosts:
    """Times of links as a function of their flows.

    Parameters
    ----------
    times : callable
        Function that takes the flows, a float64 array of shape (m,), and returns as many times.
        The time of a link depends only on its own flow and does not fall when that grows.
    slopes : callable or None
        Derivatives of the times, in the same form; None uses differences. They guide the search
        for the equilibrium; its gap is computed only from the times.
    """

    def __init__(
        self,
        times: Callable[[NDArray[np.float64]], ArrayLike],
        slopes: Callable[[NDArray[np.float64]], ArrayLike] | None = None,
    ) -> None:
        self._times, self._slopes = times, slopes

    def times(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the times of all links.

        Raises
        ------
        OptionError
            If the function returns anything but a finite number of at least 0 per link.
        """
        return edge_numbers(self._times(flows.copy()), len(flows), "the time of a link")

    def slopes(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives of the times of all links.

        Raises
        ------
        OptionError
            If a derivative is negative or not finite.
        """
        if self._slopes is not None:
            return edge_numbers(self._slopes(flows.copy()), len(flows), "the slope of a link")
        ahead = flows + _DIFFERENCE * np.maximum(flows, 1.0)
        change = self.times(ahead) - self.times(flows)
        falling = np.flatnonzero(change < -1e-9 * self.times(flows))
        if len(falling):
            raise OptionError(
                f"the time of edge {int(falling[0])} falls as its flow grows: give times that "
                "do not"
            )
        return np.maximum(change, 0) / (ahead - flows)


class Bpr(LinkCosts):
    """Travel times by the function of the Bureau of Public Roads.

    ``free_flow_time * (1 + b * (flow / capacity) ** power)``

    Parameters
    ----------
    free_flow_time, capacity : float or array, shape (m,)
        Numbers of at least 0; the capacity is above 0 where ``b`` is.
    b, power : float or array, shape (m,)
        Numbers of at least 0.

    Raises
    ------
    OptionError
        If a number is negative or not finite, or the arrays have different lengths.

    Examples
    --------
    >>> import numpy as np
    >>> from nearfar.measures import Bpr
    >>> Bpr([10.0, 10.0], capacity=100.0, power=[4, 0]).times(np.array([100.0, 0.0]))
    array([11.5, 11.5])
    """

    def __init__(
        self,
        free_flow_time: ArrayLike,
        capacity: ArrayLike,
        b: ArrayLike = 0.15,
        power: ArrayLike = 4.0,
    ) -> None:
        given = {"free_flow_time": free_flow_time, "capacity": capacity, "b": b, "power": power}
        m = max(np.size(values) for values in given.values())
        free, room, b_, self.power = (edge_numbers(v, m, name) for name, v in given.items())
        shut = np.flatnonzero((room == 0) & (b_ > 0) & (free > 0) & (self.power > 0))
        if len(shut):
            raise OptionError(
                f"capacity is 0 at edge {int(shut[0])}: give a capacity above 0, or b=0 there"
            )
        self.free = free
        self.extra = free * b_
        self.per_unit = 1 / np.where(room > 0, room, 1.0)
        alike = self.power[0] if m and (self.power == self.power[0]).all() else None
        product = alike is not None and alike == int(alike) and 1 <= alike <= _LARGEST_PRODUCT
        self.product = int(alike) if product and alike is not None else 0

    def _raised(self, ratio: NDArray[np.float64], less: int) -> NDArray[np.float64]:
        """Return ``ratio ** (power - less)``; 0 for lower powers, whose factor is 0."""
        if not self.product:
            powers = self.power - less
            with np.errstate(divide="ignore"):
                raised = ratio**powers
            # At flow 0 a power between 0 and 1 has an infinite slope, which is replaced.
            return np.where(np.isfinite(raised) & (self.power > 0), raised, 0.0 if less else 1.0)
        raised = np.ones_like(ratio)
        for _ in range(self.product - less):
            raised *= ratio
        return raised

    def times(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the times of all links."""
        return self.free + self.extra * self._raised(flows * self.per_unit, 0)

    def slopes(self, flows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives of the times of all links."""
        raised = self._raised(flows * self.per_unit, 1)
        return self.extra * self.per_unit * self.power * raised


def link_costs(costs: Any, n_edges: int) -> LinkCosts:
    """Return the costs that a caller gives, for a graph with this number of edges."""
    if isinstance(costs, Bpr):
        if len(costs.free) not in (1, n_edges):
            raise OptionError(f"costs are of {len(costs.free)} edges: the graph has {n_edges}")
        return costs
    if isinstance(costs, LinkCosts):
        return costs
    if callable(costs):
        return LinkCosts(costs)
    raise OptionError(f"costs is {quoted(costs)}: give Bpr, LinkCosts, or a function of the flows")
