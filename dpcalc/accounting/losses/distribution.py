"""Laws of the privacy loss, each known through its moment function.

For a dominating pair (P, Q) the privacy loss is ``L = ln(p/q)`` under P. All that
`dpcalc.accounting.contour.contour_sum` needs of a law is ``M(z) = E_P[e^{zL}; L < ∞]`` on a vertical
line ``z = c + iy``, the probability of an infinite loss, and bounds on what rounding does to them.

The line is described by a `TiltedDistribution`, that of L weighted by ``e^{cL}``, whose
characteristic function is ``M(c+iy)/M(c)``. Differences from one are computed in forms that do not
cancel, because they are raised to powers as high as 1e9.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]

UNIT_ROUNDOFF = 2.0**-53

ELEMENTARY_ERROR = 8 * UNIT_ROUNDOFF
"""Assumed of numpy's elementary functions: a relative error of four units in the last place."""

LOG1P_ERROR = 40 * UNIT_ROUNDOFF
"""`log1p` is off by at most this times |ln(1 + z)|, times |1 + z| where that is above one."""


def log1p(z: Complexes) -> Complexes:
    """ln(1 + z) with an error of at most ``LOG1P_ERROR``·|ln(1 + z)|·max(1, |1 + z|).

    numpy's own takes the logarithm of |1 + z|, whose real part is off by a whole unit roundoff; used
    a billion times that is 1e-7.

    Rounding, with unit roundoff u and elementary functions right to 8u: for |x| + |y| < 1/2 the
    square is off by u(3|x|(2+x) + 2y²), so half its logarithm by that over 2|1+z|², and 8u of itself.
    Elsewhere the modulus is off by 9u and its logarithm by as much and 8u of itself. The angle is
    off by 9u of itself. Together that is at most 16u|ln(1+z)| and 35u|ln(1+z)|max(1, |1+z|).
    """
    x, y = z.real, z.imag
    near = np.abs(x) + np.abs(y) < 0.5
    square = np.where(near, x * (2 + x) + y * y, 0.0)
    with np.errstate(divide="ignore"):
        real = np.where(near, np.log1p(square) / 2, np.log(np.hypot(1 + x, y)))
    return np.asarray(real + 1j * np.arctan2(y, 1 + x), dtype=np.complex128)


_PIECES = 100
"""Intervals over which moduli are bounded together."""


class TiltedDistribution(ABC):
    """The law of L weighted by e^{cL}.

    Attributes:
        log_moment: ln M(c).
        mean: mean of the tilted law, the derivative of ln M at c; used for choices, not for bounds.
        variance: variance of the tilted law, the second derivative; used for choices.
        spread: an upper bound of the tilted law's standard deviation.
        rounding: a bound on the error of ``log_moment`` as computed.
        size: how many terms an evaluation sums.
        refinements: how many different bounds of its modulus there are.
    """

    log_moment: float
    mean: float
    variance: float
    spread: float
    rounding: float
    size: int = 1
    refinements: int = 1

    @abstractmethod
    def log_ratio(
        self, step: float, start: int, stop: int, uses: float = np.inf
    ) -> tuple[Complexes, Reals]:
        """ln(M(c+iy)/M(c)) at y = n·step for start <= n < stop.

        Args:
            step: distance of two nodes.
            start: number of the first node.
            stop: number after the last one.
            uses: how often the ratio is taken times itself; the more, the more accuracy it needs.

        Returns:
            The logarithms, and bounds on the relative errors of the ratios themselves.
        """

    def node_moduli(self, step: float, stop: int) -> Reals:
        """An upper bound of |M(c+iy)/M(c)| at y = n·step for 0 <= n < stop."""
        numbers = np.unique(np.geomspace(1, max(stop, 2), _PIECES).astype(np.int64))
        bounds = np.exp(self.log_modulus_bound(step * numbers.astype(np.float64), 0))
        return np.append(1.0, np.repeat(bounds, np.diff(numbers)))

    def log_modulus_bound(self, edges: Reals, level: int) -> Reals:
        """An upper bound of ln|M(c+iy)/M(c)| over each interval between increasing edges.

        Args:
            edges: increasing positive values of y, shape (k+1,).
            level: below ``refinements``; more of it may give sharper bounds and costs more.

        Returns:
            k bounds, each at most 0; zero is always valid.
        """
        del level
        return np.zeros(len(edges) - 1)


class LossDistribution(ABC):
    """One law of the privacy loss.

    Attributes:
        infinite_mass: P(L = ∞).
        supremum: the largest finite loss; infinite if unbounded.
        mass_at_supremum: at most the probability of the largest finite loss; zero if unknown.
    """

    infinite_mass: float
    supremum: float
    mass_at_supremum: float

    @property
    def total_variation_bound(self) -> float:
        """A bound of the total variation between P and Q."""
        return 1.0

    @abstractmethod
    def tilted(self, c: float) -> TiltedDistribution:
        """The law weighted by e^{cL}; ``c`` is a finite positive number."""

    @abstractmethod
    def cumulants(self, orders: Reals) -> Reals:
        """Ln M and its first two derivatives at each order, shape (3, k).

        The first row is accurate enough to bound with; the others only guide choices.
        """

    def delta(self, epsilon: float) -> tuple[float, float] | None:
        """Bounds on δ(ε) of one round, or None if there is no closed form."""
        del epsilon
        return None
