"""What the two laws of all rounds have in common at most: how much an attack surely tells.

Statement
    For every t in (0, 1) the minimum of 1 and y is at most y^t, so that with the sum S of all losses

        1 - δ(ε) = E_P[min(1, e^{ε-S})] <= e^{tε} E_P[e^{-tS}],

    an infinite loss adding nothing, and E_P[e^{-tS}] is the product of all rounds' ``∫ p^{1-t} q^t``,
    none above 1: what a round lacks of 1 a further round never gives back. Of many rounds that each
    tell a little next to nothing is left. Of a pair of densities the law after forgetting where in a
    cell the outcome was serves, by data processing; of sampled Gaussian noise also, by
    ``(a + b)^t <= a^t + b^t``, sums over which parts of the mixtures meet.
Source
    Chernoff 1952.
Rounding
    Every logarithm is enlarged by what its sums may be off by; orders are a choice.
"""

from __future__ import annotations

import math

import numpy as np

from dpcalc.accounting.composition.loss_sum import LossSum
from dpcalc.accounting.losses import (
    DiscreteLoss,
    GaussianLoss,
    LaplaceLoss,
    RandomisedResponseLoss,
)
from dpcalc.accounting.losses.density_pair import DensityPair, PrivacyLoss
from dpcalc.accounting.losses.discretisation import plan_cells, upper_and_lower
from dpcalc.accounting.losses.distribution import UNIT_ROUNDOFF, Reals
from dpcalc.accounting.losses.subsampled_gaussian import PoissonAdd, PoissonRemove, PoissonReplace
from dpcalc.errors import NumericalFailure
from dpcalc.numerics.kept import kept_within

_CELLS, _TAIL = 200.0, 1e-30
"""Of a pair of densities, and what lies left of its window."""

_FARTHEST, _ORDERS = 14.0, 56
"""ln(t/(1-t)) is up to the first in size; an even number of orders leaves out 1/2, where the formula
for Laplace noise is another."""

_ROOM = 128 * UNIT_ROUNDOFF
_TINY, _LARGEST = 1e-300, 1.7e308
"""More than what underflows, and a number below which what overflows is taken to be."""


def least_delta(total: LossSum, epsilon: float, *, cells: bool = True) -> float:
    """At most δ(ε).

    Args:
        total: the losses.
        epsilon: 0 or above.
        cells: whether pairs of densities may be cut into cells, which takes milliseconds for each.
    """
    exponents = log_overlaps(total, cells) + _orders() * epsilon * (1 + _ROOM)
    common = min(float(exponents.min()), 0.0)
    told = -math.expm1(common) * (1 - _ROOM) if common > -1 else 1 - math.exp(common) * (1 + _ROOM)
    return max(0.0, math.nextafter(told - _left_out(total), 0.0))


def least_epsilon(total: LossSum, delta: float) -> float:
    """At most ε(δ)."""
    spare = delta * (1 + _ROOM) + _left_out(total)
    if spare >= 1:
        return 0.0
    with np.errstate(over="ignore"):
        most = (math.log1p(-spare) * (1 + _ROOM) - log_overlaps(total, True)) / _orders()
    return max(0.0, min(float(most.max()), _LARGEST) * (1 - _ROOM))


@kept_within(2**20)
def log_overlaps(total: LossSum, cells: bool) -> Reals:
    """Ln E_P[e^{-tS}] at most, at every t."""
    t = _orders()
    found = np.zeros_like(t)
    with np.errstate(over="ignore", under="ignore"):
        for loss, count in total.parts:
            found += count * np.minimum(_log_overlap(loss, t, cells), 0.0)
        return np.maximum(found * (1 - _ROOM), -_LARGEST)


def _orders() -> Reals:
    """t, in growing order."""
    return np.asarray(1 / (1 + np.exp(-np.linspace(-_FARTHEST, _FARTHEST, _ORDERS))))


def _left_out(total: LossSum) -> float:
    """Mass that is nowhere: left of the windows of densities, or missing in laws."""
    each = [
        n * (max(_TAIL, loss.outside) if isinstance(loss, DensityPair) else _missing(loss))
        for loss, n in total.parts
    ]
    return math.fsum(each) * (1 + _ROOM)


def _missing(loss: PrivacyLoss) -> float:
    return max(loss.missing, 0.0) if isinstance(loss, DiscreteLoss) else 0.0


def _log_overlap(loss: PrivacyLoss, t: Reals, cells: bool) -> Reals:
    """Ln ∫ p^{1-t} q^t of one round at most; 0 where nothing is known."""
    match loss:
        case GaussianLoss(mu=mu):
            return -t * (1 - t) * mu * mu / 2
        case LaplaceLoss(epsilon=epsilon):
            return _laplace(epsilon, t)
        case RandomisedResponseLoss():
            each = [n * _response(e, t) for e, n in zip(loss.epsilons, loss.counts, strict=True)]
            return np.asarray(np.sum(each, axis=0))
        case DiscreteLoss():
            return _atoms(loss, t)
        case DensityPair():
            known = _mixtures(loss, t)
            return np.minimum(known, _cells(loss, t)) if cells else known
    return np.zeros_like(t)


def _response(epsilon: float, t: Reals) -> Reals:
    """The logarithm of 1 less (1 - e^{-tε})(1 - e^{-(1-t)ε})/(1 + e^{-ε}).

    Both forms are right to 60 roundings of themselves: what is lost is at most a half, or the logarithm
    is below -ln 2.
    """
    lost = np.expm1(-t * epsilon) * np.expm1(-(1 - t) * epsilon) / (1 + math.exp(-epsilon))
    w = np.minimum(t, 1 - t)
    far = np.log1p(np.exp(-(1 - 2 * w) * epsilon)) - math.log1p(math.exp(-epsilon)) - w * epsilon
    return np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.5)), far)


def _laplace(epsilon: float, t: Reals) -> Reals:
    """Ln of e^{-wε}(1 + w(1 - e^{-(1-2w)ε})/(1 - 2w)), w = min(t, 1-t), less what rounding may do."""
    w = np.minimum(t, 1 - t)
    rest = w * -np.expm1(-(1 - 2 * w) * epsilon) / (1 - 2 * w)
    error = _ROOM * (w * epsilon + rest)
    return np.log1p(rest) - w * epsilon + error


def _atoms(law: DiscreteLoss, t: Reals) -> Reals:
    """Ln of a sum over atoms; errors as those of moments (`DiscreteLoss.tilted`)."""
    growth = np.expm1(np.minimum(-np.multiply.outer(t, law.losses), 690.0))
    excess = growth @ law.masses - law.infinite_mass - min(law.missing, 0.0)
    moved = np.maximum(growth + 1, 1.0) @ (law.masses * np.abs(law.losses) + law.blur)
    size = np.abs(growth) @ law.masses + law.infinite_mass + abs(law.missing)
    error = 1.25 * t * moved * (law.mass_error + 64 * UNIT_ROUNDOFF)
    error += (law.losses.size + 16) * UNIT_ROUNDOFF * size
    far = -t * float(law.losses.min(initial=0.0)) > 690.0
    return np.where(far, 0.0, np.log1p(np.maximum(excess + error, -1 + 1e-300)))


def _cells(pair: DensityPair, t: Reals) -> Reals:
    """That of the law after forgetting where in a cell the outcome was."""
    try:
        LossSum(((pair, 1),)).require_tractable()
        plan = plan_cells(pair, pair.truncation_interval(_TAIL), 0.0)
        law = upper_and_lower(pair, plan.edges(_CELLS), _TAIL)[1]
    except NumericalFailure:
        return np.zeros_like(t)
    return _atoms(law, t)


def _mixtures(pair: DensityPair, t: Reals) -> Reals:
    """Sampled Gaussian noise by its parts: N(u) and N(v) have e^{-t(1-t)(u-v)²/2σ²} in common.

    The sum of what meets is 1, less what sampling takes apart, plus what noise brings together.
    """
    if not isinstance(pair, PoissonRemove | PoissonAdd | PoissonReplace) or pair.rate >= 1:
        return np.zeros_like(t)
    q, s = pair.rate, 1 - t
    near = np.exp(-t * s / pair.sigma / pair.sigma / 2 * (1 - _ROOM))
    match pair:
        case PoissonRemove():
            met, parted = q**s * near, -np.expm1(s * math.log1p(-q))
        case PoissonAdd():
            met, parted = q**t * near, -np.expm1(t * math.log1p(-q))
        case _:
            crossed = (1 - q) ** s * q**t + (1 - q) ** t * q**s
            met, parted = crossed * near + q * near**4, np.full_like(t, q)
    return np.log1p(met - parted + _ROOM * (met + parted) + _TINY)
