"""Rényi divergences of privacy losses: rigorous upper bounds at any order.

The divergence of order α is ``ln E_P[e^{(α-1)L}]/(α-1)``. For a pair of densities the upper law of
`dpcalc.accounting.losses.discretisation` bounds what lies within a window, because e^{sL} is a
convex function of e^{-L} for s > 0; the pair itself bounds what lies outside. Where that is much, as
it is where the moments of a normal density move it beyond what doubles hold, and wherever it is
smaller, a formula (`dpcalc.accounting.losses.many_moments`) serves instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from dpcalc.accounting.losses import DiscreteLoss, LossDistribution
from dpcalc.accounting.losses.deferred import DeferredLaw
from dpcalc.accounting.losses.density_pair import DensityPair, PrivacyLoss
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF
from dpcalc.accounting.losses.many_moments import (
    moments_of_pair,
    moments_of_round,
    one_moment,
    order_above,
)
from dpcalc.errors import NumericalFailure

_CELLS = 2000
_MOST_CELLS = 100_000
_SHARPEST = 1e4
_SAFE_EXPONENT = 600.0
_TINY = 5e-324


def renyi_divergence(losses: Iterable[tuple[PrivacyLoss, int]], order: float) -> float:
    """An upper bound of the divergence of an order above 1; infinite if a loss may be infinite."""
    parts = list(losses)
    if failure(parts) > 0:
        return math.inf
    return renyi_given_finite(parts, order)


def renyi_given_finite(losses: Iterable[tuple[PrivacyLoss, int]], order: float) -> float:
    """The divergence from Q of P given that the loss is finite.

    Infinite where no loss is finite.
    """
    total = 0.0
    for loss, count in losses:
        infinite = loss.infinite_mass if isinstance(loss, LossDistribution) else 0.0
        if infinite >= 1:
            return math.inf
        given = _given_finite(loss) if isinstance(loss, DiscreteLoss) and infinite else loss
        largest = given.supremum * (1 + 1e-12)
        each = min(_log_moment_of_round(given, order - 1) / (order - 1) * (1 + 1e-14), largest)
        total += count * (each or (_TINY if largest > 0 else 0.0))
    return total * (1 + 1e-14)


@lru_cache(maxsize=256)
def _given_finite(law: DiscreteLoss) -> DiscreteLoss:
    """The loss L - ln(1-f) of p/(1-f) against Q, f the probability that L is infinite.

    Its moments are at least 1, so that nothing cancels. What lies at L = 0 becomes an atom, which a
    mass that is too large for its error may have been taken from; sums L - ln(1-f) are off by what
    their terms are.
    """
    held, shift = 1 - law.infinite_mass, -math.log1p(-law.infinite_mass)
    masses = law.masses / held
    error = law.mass_error + 8 * UNIT_ROUNDOFF
    rest = max(1 - math.fsum(masses), 0.0) + 2 * error
    blur = (law.blur + law.masses * (np.abs(law.losses) + shift)) / held
    return DiscreteLoss(
        np.append(law.losses, 0.0) + shift,
        np.append(masses, rest),
        mass_error=error,
        blur=np.append(blur, rest * shift),
    )


def failure(losses: Iterable[tuple[PrivacyLoss, int]]) -> float:
    """The probability, rounded up, of an infinite loss."""
    exponent = 0.0
    for loss, count in losses:
        infinite = loss.infinite_mass if isinstance(loss, LossDistribution) else 2 * loss.outside
        if infinite >= 1:
            return 1.0
        exponent += count * math.log1p(-infinite)
    return min(1.0, (0.0 - math.expm1(exponent)) * (1 + 1e-14))


@lru_cache(maxsize=4096)
def log_moment(loss: PrivacyLoss, exponent: float) -> float:
    """An upper bound of ln E_P[e^{sL}; L < ∞] for s = ``exponent`` above 0; infinite if unknown."""
    if isinstance(loss, DensityPair):
        formula = one_moment(moments_of_pair(loss, order_above(exponent)))
        coarse = min(loss.log_moment_bound(exponent), formula)
        # Next to no noise losses outgrow the doubles.
        if loss.signal_to_noise > _SHARPEST:
            return coarse
        return min(_of_pair(loss, exponent), coarse)
    return _of_law(loss, exponent)


def _log_moment_of_round(loss: PrivacyLoss, exponent: float) -> float:
    """The same for a mechanism, which may lose less at every order than one pair that dominates it."""
    known = log_moment(loss, exponent)
    if not isinstance(loss, DeferredLaw):
        return known
    return min(known, one_moment(moments_of_round(loss, order_above(exponent))))


def _of_law(law: LossDistribution, exponent: float) -> float:
    if isinstance(law, DiscreteLoss) and 0 < law.infinite_mass < 1:
        finite = (1 + exponent) * math.log1p(-law.infinite_mass) * (1 - 1e-14)
        return _of_law(_given_finite(law), exponent) + finite
    if isinstance(law, DiscreteLoss) and exponent * law.supremum > _SAFE_EXPONENT:
        return _of_far_atoms(law, exponent)
    with np.errstate(over="ignore", invalid="ignore"):
        tilted = law.tilted(exponent)
        value = (tilted.log_moment + tilted.rounding) * (1 + 1e-14)
    return value if value == value else math.inf


def _of_far_atoms(law: DiscreteLoss, exponent: float) -> float:
    """ln(1 + Σ p e^{sl}), for when the largest term is astronomic."""
    held = law.masses > 0
    with np.errstate(over="ignore"):
        exponents = np.log(law.masses[held]) + exponent * law.losses[held]
    top = float(exponents.max())
    if top == math.inf:
        return math.inf
    # A mass, its place between neighbouring atoms, and a loss may each be off by their errors.
    slack = (law.mass_error + 1e-14) * (2 + 4 * exponent * float(np.abs(law.losses).max()))
    size = float(np.exp(exponents - top).sum()) + math.exp(-max(top, 0.0))
    return max(top + math.log(size), 0.0) + slack


def _of_pair(pair: DensityPair, exponent: float) -> float:
    window, log_rest = pair.moment_interval(exponent)
    if log_rest == math.inf or not math.isfinite(window[1]):
        return math.inf
    plan = plan_cells(pair, window, exponent)
    if float(plan.floor.sum()) > _MOST_CELLS:
        return math.inf
    try:
        law = upper_and_lower(pair, plan.edges(_CELLS), 0.0)[0]
    except NumericalFailure:  # next to no noise
        return math.inf
    value = _of_law(law, exponent)
    if max(value, log_rest) > 1:
        return float(np.logaddexp(value, log_rest))
    return value + math.exp(log_rest)
