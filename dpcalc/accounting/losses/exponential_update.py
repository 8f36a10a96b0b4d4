"""The loss of one objective-perturbed update whose noise has density ∝ e^{-η|b|} in dimension d.

Proof: docs/theorems/objective-perturbation.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.exponential_norm import ExponentialNorm
from dpcalc.accounting.losses.falling_shift import Scales, exponential_scales
from dpcalc.accounting.losses.objective_perturbation import Losses, Moved
from dpcalc.accounting.losses.quadrature import MASS_ERROR

_TAIL = 1e-60


@dataclass(frozen=True, slots=True)
class Update:
    """One update with noise of density ∝ e^{-η|b|}, as far as its privacy loss goes.

    Attributes:
        bound: a, the noise rate times the largest gradient of one record; positive.
        curvature: κ, the largest second derivative of one record's term over the curvature of the
            rest; for a tied loss that of a record whose derivative s has s(1-s) for 1.
        dimension: coordinates that carry noise.
        tied: whether the record's derivative s and second derivative s(1-s) go together.
        cells: how finely the noise's loss is cut.
    """

    bound: float
    curvature: float
    dimension: int
    tied: bool
    cells: int = 1000

    def at_least(self, bound: float) -> Update:
        """With a larger a, which loses more."""
        return self if self.bound >= bound else replace(self, bound=bound)

    def scales(self) -> Scales:
        """Normal noise whose variance has a χ² law; see `falling_shift`."""
        return exponential_scales(self.bound, self.dimension)

    def moved(self) -> Moved:
        """A, at most a; beyond the cells a tail at a itself."""
        if self.dimension == 1:
            return Moved(_moved_laplace(self.bound, self.cells), MASS_ERROR)
        pair = ExponentialNorm(self.bound, self.dimension)
        window = (0.0, pair.window_end(_TAIL))
        law = upper_and_lower(pair, plan_cells(pair, window, 0.0).edges(self.cells), _TAIL)[0]
        losses = Losses(np.append(law.losses, self.bound), np.append(law.masses, _TAIL))
        return Moved(losses, law.mass_error)


def _moved_laplace(bound: float, cells: int) -> Losses:
    """The same in one dimension, where P has density ``e^{-(a-l)/2}/4`` in l and half its mass at a.

    A cell of width w from l has P-mass minus e^l times Q-mass ``2 e^{-(a-l)/2} sinh²(w/4)``.
    """
    edges = np.linspace(0.0, bound, cells + 1)
    width = np.diff(edges)
    scale = np.exp(-(bound - edges[:-1]) / 2)
    mass = scale * np.expm1(width / 2) / 2
    right = np.minimum(2 * scale * np.sinh(width / 4) ** 2 / -np.expm1(-width), mass)
    masses = np.append(mass - right, 0.5)
    masses[1:] += right
    return Losses(edges, masses)
