"""A Gaussian mechanism chosen at random from several, the choice revealed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcalc import checks
from dpcalc.accounting.gaussian import gaussian_delta_bounds
from dpcalc.guarantees.profile import ProfileGuarantee
from dpcalc.numerals import at_most
from dpcalc.numerics.products import product
from dpcalc.numerics.rounding import sum_up

if TYPE_CHECKING:
    from dpcalc.accounting.enclosure import Bracket
    from dpcalc.guarantees.base import Directions


@dataclass(frozen=True, slots=True)
class GaussianMixture(ProfileGuarantee):
    """μ_t-GDP with probability w_t, t drawn independently of the data and possibly revealed.

    Hockey-stick divergences are jointly convex, so ``δ(ε) = Σ w_t δ_{μ_t}(ε)``; whatever
    probability the weights leave is a release that does not touch the record.
    Rounding: every term is an upper bound, the sum is rounded up.

    Args:
        mus: μ_t, above 0 and finite.
        weights: w_t, with a sum of at most 1 up to rounding.
    """

    mus: tuple[float, ...]
    weights: tuple[float, ...]

    def delta(self, epsilon: float) -> float:
        """The mean of the components' profiles."""
        epsilon = at_most(checks.non_negative_or_infinite("epsilon", epsilon))
        if epsilon == math.inf:
            return 0.0
        terms = gaussian_delta_bounds(np.array(self.mus), epsilon) * np.array(self.weights)
        return min(1.0, sum_up(terms.tolist()) * (1 + 4e-16))

    def parameters(self) -> Mapping[str, float]:
        """The extremes of μ_t."""
        return {"largest mu": max(self.mus), "smallest mu": min(self.mus)}

    def renyi(self, order: float) -> float:
        """ln[Σ w_t e^{(α-1)αμ_t²/2}]/(α-1)."""
        checks.above_one("order", order)
        exponents = (order - 1) * order * np.square(self.mus) / 2
        top, weights = float(exponents.max()), np.array(self.weights)
        rest = max(0.0, 1 - math.fsum(self.weights))
        over = max(0.0, math.fsum(self.weights) - 1)
        if top < 600:  # ln(1 + a sum of positive terms)
            log_moment = math.log1p(float(product(weights, np.expm1(exponents))) + over)
        else:
            total = float(product(weights, np.exp(exponents - top))) + rest * math.exp(-top)
            log_moment = (top * (1 + 1e-14) + math.log(total)) * (1 + 1e-13)
        return log_moment / (order - 1) * (1 + 1e-12)

    def tradeoff_brackets(self, false_positive_rates: Sequence[float]) -> tuple[Bracket, ...]:
        """Enclosures of the mixture's curve; see `Composition`."""
        from dpcalc.guarantees.composition import Composition

        return Composition(((self, 1),)).tradeoff_brackets(false_positive_rates)

    def losses(self) -> Directions:
        """The mixture of the components' normal laws."""
        from dpcalc.accounting.losses import GaussianMixtureLoss

        return (((GaussianMixtureLoss(self.mus, self.weights), 1),),)
