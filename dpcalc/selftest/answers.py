"""A few answers from end to end: is the truth between the ends of the enclosure?"""

from __future__ import annotations

from dpcalc.accounting.composition import bracket_delta, bracket_epsilon
from dpcalc.accounting.enclosure import Bracket
from dpcalc.accounting.losses import (
    UNIT_ROUNDOFF,
    GaussianLoss,
    GaussianMixtureLoss,
    RandomisedResponseLoss,
)
from dpcalc.numerics.precise import Real, context, mpf, normal_cdf
from dpcalc.selftest.measurement import Check, Measurement


def _outside(name: str, where: str, found: Bracket, truth: Real) -> Measurement:
    """How far the truth is outside an enclosure, relative to it: nothing is allowed."""
    beyond = max(truth - mpf(found.upper), mpf(found.lower) - truth, mpf(0)) / truth
    return Measurement(name=name, range=where, allowed=0.0, measured=float(beyond) / UNIT_ROUNDOFF)


def _profile(mu: Real, epsilon: Real) -> Real:
    """δ(ε) of the Gaussian mechanism; at these parameters it loses few of sixty digits."""
    ctx = context()
    first = normal_cdf(mu / 2 - epsilon / mu)
    return first - ctx.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def _gaussian_rounds() -> Measurement:
    found = bracket_delta([(GaussianLoss(0.02), 2500)], 1.0)
    mu = mpf(0.02) * 50
    return _outside("δ(1), Gaussian rounds", "2,500 rounds", found, _profile(mu, mpf(1)))


def _gaussian_mixture() -> Measurement:
    found = bracket_delta([(GaussianMixtureLoss((1.0, 2.0), (0.25, 0.5)), 1)], 0.5)
    truth = mpf(0.25) * _profile(mpf(1), mpf(0.5)) + mpf(0.5) * _profile(mpf(2), mpf(0.5))
    return _outside("δ(0.5), Gaussian drawn at random", "1 round", found, truth)


def _responses() -> Measurement:
    """The binomial sum over the outcomes of 40 rounds, in sixty digits."""
    ctx, rounds, each, at = context(), 40, mpf(0.3), mpf(2)
    found = bracket_delta([(RandomisedResponseLoss.of({0.3: 25, 0.30000000000000004: 15}), 1)], 2.0)
    wide = mpf(0.30000000000000004)
    odds, odds_wide = ctx.exp(each), ctx.exp(wide)
    truth = mpf(0)
    for j in range(26):
        for k in range(rounds - 25 + 1):
            loss = (2 * j - 25) * each + (2 * k - 15) * wide
            if loss <= at:
                continue
            chance = ctx.binomial(25, j) * odds**j / (1 + odds) ** 25
            chance *= ctx.binomial(15, k) * odds_wide**k / (1 + odds_wide) ** 15
            truth += chance * (1 - ctx.exp(at - loss))
    return _outside("δ(2), randomised responses", "40 rounds of two kinds", found, truth)


def _inverse() -> Measurement:
    """ε at the δ that a closed form gives at ε = 3 cannot be other than 3."""
    delta = float(_profile(mpf(1), mpf(3)))
    found = bracket_epsilon([(GaussianLoss(0.1), 100)], delta)
    slope = mpf(delta) * mpf(2) ** -52  # rounding δ moves ε by less than this over the slope
    room = slope / (context().exp(3) * normal_cdf(mpf(-3.5)))
    wider = Bracket(found.lower - float(2 * room), found.upper + float(2 * room), found.method)
    return _outside("ε(δ), Gaussian rounds", "100 rounds", wider, mpf(3))


ANSWERS: tuple[Check, ...] = (_gaussian_rounds, _gaussian_mixture, _responses, _inverse)
