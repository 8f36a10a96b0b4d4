"""What the two laws of all rounds have in common at most: how much an attack surely tells.

Statement
    For every t in (0, 1) the minimum of 1 and y is at most y^t, so that with the sum S of all losses

        1 - δ(ε) = E_P[min(1, e^{ε-S})] <= e^{tε} E_P[e^{-tS}],

    an infinite loss adding nothing, and E_P[e^{-tS}] is the product of all rounds' ``∫ p^{1-t} q^t``,
    none above 1: what a round lacks of 1 a further round never gives back. Of many rounds that each
    tell a little next to nothing is left. Of a pair of densities the law after forgetting where in a
    cell the outcome was serves, by data processing; of sampled Gaussian noise also, by
    ``(a + b)^t <= a^t + b^t``, sums over which parts of the mixtures meet.

    An attack may also look at each round by itself, and say yes if any loss is above a threshold.
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

METHOD = "Chernoff bounds, two-sided"

_CELLS, _TAIL = 200.0, 1e-30
"""Of a pair of densities, and what lies left of its window."""

_FARTHEST, _ORDERS = 14.0, 56
"""ln(t/(1-t)) is up to the first in size; an even number of orders leaves out 1/2, where the formula
for Laplace noise is another."""

_THRESHOLDS, _LEVELS = 60, (1e-2, 1e3)
"""Above which losses count as large."""

_SURE, _FAR = 1 - 1e-9, 600.0
"""What a large loss is taken to be no likelier than under P; and an ε beyond which masses under Q that
underflow would count."""

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
    one = one_round_tells(total, epsilon) if cells else 0.0
    return max(0.0, math.nextafter(told - _left_out(total), 0.0), one)


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
    law = _in_cells(pair)
    return np.zeros_like(t) if law is None else _atoms(law, t)


@kept_within(2**20)
def _in_cells(pair: DensityPair) -> DiscreteLoss | None:
    """The law after forgetting where in a cell the outcome was; None where noise is too small."""
    try:
        LossSum(((pair, 1),)).require_tractable()
        plan = plan_cells(pair, pair.truncation_interval(_TAIL), 0.0)
        return upper_and_lower(pair, plan.edges(_CELLS), _TAIL)[1]
    except NumericalFailure:
        return None


def one_round_tells(total: LossSum, epsilon: float) -> float:
    """At most δ(ε): the probability that some round's loss is large, less e^ε times that under Q.

    Losses that are infinite, or outside the windows, are left out of the event.
    """
    if epsilon > _FAR:
        return 0.0
    never = np.zeros((2, _THRESHOLDS))
    for loss, count in total.parts:
        if isinstance(loss, DensityPair | DiscreteLoss):
            never += count * _kept_small(loss)
    under_p, under_q = -np.expm1(never)
    log_q = np.log(np.maximum(under_q, _TINY))
    grown = np.exp(np.minimum(log_q + epsilon + _ROOM * (1 + epsilon - log_q), 1.0))
    return max(0.0, float((under_p * (1 - _ROOM) - grown).max()))


@kept_within(2**20)
def _kept_small(loss: DensityPair | DiscreteLoss) -> Reals:
    """Ln P(L is small) at least and ln Q(L is small) at most, for every threshold; shape (2, n)."""
    law = _in_cells(loss) if isinstance(loss, DensityPair) else loss
    if law is None or not len(law.losses):
        return np.zeros((2, _THRESHOLDS))
    order = np.argsort(law.losses)
    losses, masses = law.losses[order], law.masses[order]
    above, below = masses, masses * np.exp(-np.maximum(losses, 0.0))
    error = law.mass_error + (64 + losses.size + 16 * float(np.abs(losses).max())) * UNIT_ROUNDOFF
    tails = [np.append(np.cumsum(part[::-1])[::-1], 0.0) for part in (above, below)]
    thresholds = np.geomspace(*_LEVELS, _THRESHOLDS)
    first = np.searchsorted(losses, thresholds)
    p, q = np.minimum(tails[0][first], _SURE), tails[1][first] + _TINY
    return np.stack([np.log1p(-p * (1 - error)), np.log1p(-q * (1 + error))])


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
