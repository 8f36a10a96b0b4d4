"""The loss of one objective-perturbed update with normal noise.

For b ~ N(0, σ²I) and a gradient of norm at most g the loss of the noise moved by g,

    A = (|b + gu|² - |b|²)/2σ² ~ N(μ²/2, μ²),  μ = g/σ,

is that of the Gaussian mechanism, in every dimension. The density is isotropic and log-concave, which
is all that `dpcalc.accounting.losses.objective_perturbation` asks of it; A is unbounded, so that
every cut leaves a tail of infinite loss.

Proof: docs/theorems/objective-perturbation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dpcalc.accounting.losses.density_pair import DensityPair
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.distribution import Reals
from dpcalc.accounting.losses.falling_shift import Scales
from dpcalc.accounting.losses.objective_perturbation import Losses, Moved

LARGEST_MU = 6.0
"""Above it what is cut off is no longer negligible for a replacement."""

_REACH, _UNDERFLOW = 20.0, 35.0
"""Where the tail of N(0, 1) is cut: its mass is below 1e-87; and where it is no longer a number."""

_LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, slots=True)
class MovedGaussian(DensityPair):
    """N(μ/2, 1) against N(-μ/2, 1): the loss is μx."""

    mu: float

    def truncation_interval(self, tail: float) -> tuple[float, float]:
        """As far as P(N(0, 1) > z) <= e^{-z²/2}/2."""
        reach = math.sqrt(max(2 * math.log(0.5 / tail), 0.0)) * (1 + 1e-12)
        return self.mu / 2 - reach, self.mu / 2 + reach

    def log_q(self, x: Reals) -> Reals:
        """N(-μ/2, 1)."""
        return np.asarray(-((x + self.mu / 2) ** 2) / 2 - _LOG_ROOT_2_PI)

    def loss(self, x: Reals) -> Reals:
        """Of N(μ/2, 1) against N(-μ/2, 1)."""
        return np.asarray(self.mu * x)

    def max_cell_width(self, x: Reals) -> Reals:
        """A fraction of one that shrinks in the tails, where derivatives grow like powers of x."""
        return np.asarray(0.6 / (1 + np.abs(x) + self.mu / 2))


@dataclass(frozen=True, slots=True)
class GaussianUpdate:
    """One update with normal noise, as far as its privacy loss goes.

    Attributes:
        mu: the largest norm of one record's gradient over the noise's standard deviation per
            coordinate; positive, at most `LARGEST_MU`.
        curvature, tied, cells: as in `dpcalc.accounting.losses.exponential_update.Update`.
    """

    mu: float
    curvature: float
    tied: bool
    cells: int = 1000

    def at_least(self, mu: float) -> GaussianUpdate:
        """With a larger μ, which loses more."""
        return self if self.mu >= mu else replace(self, mu=mu)

    def scales(self) -> Scales:
        """One."""
        return ((1.0, self.mu),)

    def moved(self) -> Moved:
        """A from 0 up, cut where the mass under Q of a replacement would underflow."""
        pair = MovedGaussian(self.mu)
        reach = min(_REACH, _UNDERFLOW - 2 * self.mu)
        tail = 0.5 * math.exp(-(reach**2) / 2)
        window = (0.0, pair.truncation_interval(tail)[1])
        law = upper_and_lower(pair, plan_cells(pair, window, 0.0).edges(self.cells), tail)[0]
        return Moved(Losses(law.losses, law.masses), law.mass_error, law.infinite_mass)
