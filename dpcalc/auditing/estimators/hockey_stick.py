"""E3: the hockey-stick divergence from exact log-likelihood ratios.

Statement
    H_ε = E_P[(1 - e^{ε-L})_+] with L = ln(p/q) and samples from P alone. The claim H_ε <= δ is
    tested for every ε; the sample's plug-in Y_i(ε) = (1 - e^{ε-L_i})_+ lies in [0, 1] and decreases
    in ε, so all of these are exact inversions:
    Chernoff   reject if n·kl(mean Y, δ) >= ln(1/α) and mean Y > δ
    thinning   count the i with L_i + ln(1-U_i) > ε, U_i uniform: Bin(n, H_ε); exact level
    betting    wealth mean_j Π_i(1 + λ_j(Y_i - δ)) >= 1/α; holds whenever one stops
Source
    Derived here from Maurer and Pontil 2009 and Waudby-Smith and Ramdas 2024.
Assumes
    That L is the exact log-likelihood ratio and that the samples follow P. With noise drawn at half
    its modelled scale these bounds see nothing, so they may refute only behind a passed noise check.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.binomial import critical_count, smallest_noticed
from dpcalc.auditing.estimators.reference_mechanisms import reference
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.sampling.observations import Observations
from dpcalc.errors import AssumptionViolated, InvalidInput

Array = NDArray[np.float64]

_POWER_QUANTILE = 0.8416212335729143  # Φ⁻¹(0.8)


def chernoff(log_ratios: Array, *, delta: float, alpha: float) -> Array:
    """The lower bound of ε at δ from samples of P; shape (...) for ratios of shape (..., runs).

    mean Y(ε) = max_k (k - e^ε·S_k)/n, S_k the sum of the k smallest e^{-L}; so mean Y(ε) reaches
    the critical mean m exactly up to ε = max_k ln((k - n·m)/S_k).
    """
    L = _checked(log_ratios)
    n = L.shape[-1]
    needed = n * critical_mean(n, delta=delta, alpha=alpha)
    smallest = np.sort(-L, axis=-1)
    with np.errstate(invalid="ignore"):
        log_sums = np.logaddexp.accumulate(smallest, axis=-1)
    k = np.arange(1, n + 1)
    with np.errstate(divide="ignore"):
        gain = np.log(np.maximum(k - needed, 0.0))
    return np.asarray(np.maximum(_difference(gain, log_sums).max(axis=-1), 0.0))


def thinning(
    log_ratios: Array, *, delta: float, alpha: float, generator: np.random.Generator
) -> Array:
    """The lower bound of ε by the exact binomial test; shapes as for `chernoff`.

    Randomised: the generator must not be chosen for its outcome. Needs δ > 0 to have an exact level.
    """
    L = _checked(log_ratios)
    k = critical_count(L.shape[-1], checks.delta(delta), alpha)
    if k > L.shape[-1]:
        return np.zeros(L.shape[:-1])
    thinned = L + np.log1p(-generator.random(L.shape))
    place = L.shape[-1] - max(k, 1)
    return np.asarray(np.maximum(np.partition(thinned, place, axis=-1)[..., place], 0.0))


def betting(log_ratios: Array, *, delta: float, alpha: float, bets: int = 24) -> Array:
    """The lower bound of ε by a mixture of bets; shapes as for `chernoff`. Needs δ > 0."""
    L = _checked(log_ratios)
    checks.proper_delta(delta)
    stakes = np.geomspace(0.5, 0.5 / delta, bets)
    return invert_wealth(
        lambda epsilon: positive_part(L, epsilon), stakes, delta=delta, alpha=alpha, top=_top(L)
    )


def positive_part(log_ratios: Array, epsilon: Array) -> Array:
    """(1 - e^{ε-L})_+ for one ε per repetition."""
    return np.asarray(np.maximum(-np.expm1(np.minimum(epsilon[..., None] - log_ratios, 0.0)), 0.0))


def invert_wealth(
    values: object, stakes: Array, *, delta: float, alpha: float, top: Array
) -> Array:
    """The largest ε at which the wealth of a mixture of bets reaches 1/α, by bisection.

    Args:
        values: ε (one per repetition) -> non-negative values of shape (..., runs) that decrease in
            ε and have mean at most δ under the hypothesis.
        stakes: λ_j in (0, 1/δ); with fixed stakes the wealth decreases in ε.
        delta: the hypothesised mean.
        alpha: error probability.
        top: an ε per repetition at which all values vanish.
    """
    evaluate = values
    if not callable(evaluate):
        raise InvalidInput(f"expected a function of epsilon; got values={values!r}")

    def rejects(epsilon: Array) -> NDArray[np.bool_]:
        y = evaluate(epsilon) - delta
        wealth = np.stack([np.log1p(stake * y).sum(axis=-1) for stake in stakes])
        return np.asarray(
            np.logaddexp.reduce(wealth, axis=0) - math.log(len(stakes)) >= -math.log(alpha)
        )

    low, high = np.zeros_like(top), np.maximum(top, 0.0)
    alive = rejects(low)
    for _ in range(40):
        middle = (low + high) / 2
        above = rejects(middle)
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.where(alive, low, 0.0))


def critical_mean(n: int, *, delta: float, alpha: float) -> float:
    """The m above δ with n·kl(m, δ) = ln(1/α); above 1 if even n ones would not reject."""
    checks.delta(delta)
    target = -math.log(alpha) / n
    if delta == 0:
        return 0.0
    if -math.log(delta) < target:
        return math.inf
    low, high = delta, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if _divergence(middle, delta) < target:
            low = middle
        else:
            high = middle
    return high


@lru_cache(maxsize=256)
def detectable(*, runs: int, claimed: float, delta: float, alpha: float) -> float:
    """The ε that this many runs of one world tell from the claimed one, about 4 times in 5.

    For the Gaussian mechanism and δ > 0, with the mean of Y taken as normal.
    """
    from scipy.special import ndtr

    needed = critical_mean(runs, delta=delta, alpha=alpha)

    def notices(epsilon: float) -> bool:
        mu = float(gaussian_pair.mu_of(epsilon, delta))
        mean = float(gaussian_pair.delta_of(mu, claimed))
        inside, outside = ndtr(mu / 2 - claimed / mu), ndtr(-mu / 2 - claimed / mu)
        twice = math.exp(min(2 * claimed + mu**2, 700.0)) * ndtr(-1.5 * mu - claimed / mu)
        square = max(inside - 2 * math.exp(claimed) * outside + twice, 0.0)
        spread = math.sqrt(max(square - mean**2, 0.0) / runs)
        return bool(mean - _POWER_QUANTILE * spread >= needed)

    return smallest_noticed(notices, claimed)


def evidence(
    observations: Observations, claim: Claim, *, alpha: float, trusted: bool
) -> tuple[Evidence, Evidence]:
    """Chernoff's bound in both directions, each at half of ``alpha``.

    Args:
        observations: whose scores are exact log-likelihood ratios.
        claim: what is tested.
        alpha: error probability of both together.
        trusted: whether the noise check passed on these runs; otherwise the bounds are report-only.
    """
    require_exact(observations)
    return tuple(  # type: ignore[return-value] # two directions
        _one_direction(seen.scores_of(is_in=True), claim, alpha / 2, trusted, direction)
        for direction, seen in (
            ("in against out", observations),
            ("out against in", observations.swapped()),
        )
    )


def require_exact(observations: Observations) -> None:
    """Refuse scores that are not exact log-likelihood ratios."""
    if not observations.exact:
        raise AssumptionViolated(
            "expected exact log-likelihood ratios; got scores; use clopper-pearson or accuracy"
        )


def _one_direction(
    ratios: Array, claim: Claim, alpha: float, trusted: bool, direction: str
) -> Evidence:
    runs = len(ratios)
    return Evidence(
        method="hockey-stick",
        quantity=Quantity.EPSILON,
        lower=float(chernoff(ratios, delta=claim.delta, alpha=alpha)),
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.DENSITY,
        runs=runs,
        direction=direction,
        gates=trusted,
        detectable=_power(runs, claim, alpha),
        reference=reference(claim.delta),
        counted={"critical_mean": critical_mean(runs, delta=claim.delta, alpha=alpha)},
        assumes=("exact densities", "noise as modelled"),
    )


def _power(runs: int, claim: Claim, alpha: float) -> float | None:
    """`detectable`; unknown for pure claims, where the bound is the largest ratio that was seen."""
    if claim.delta == 0:
        return None
    return detectable(runs=runs, claimed=claim.epsilon, delta=claim.delta, alpha=alpha)


def _divergence(a: float, b: float) -> float:
    """Kl of two Bernoulli laws, 0 < b < 1, b <= a <= 1."""
    rest = (1 - a) * math.log((1 - a) / (1 - b)) if a < 1 else 0.0
    return a * math.log(a / b) + rest


def _checked(log_ratios: Array) -> Array:
    L = np.asarray(log_ratios, dtype=np.float64)
    if L.ndim == 0 or L.shape[-1] == 0 or np.isnan(L).any():
        raise InvalidInput(f"expected log-ratios, runs last; got shape={L.shape!r} or NaN")
    return L


def _difference(gain: Array, log_sums: Array) -> Array:
    """Gain - log_sums, where minus infinity less minus infinity is minus infinity."""
    gain = np.broadcast_to(gain, log_sums.shape)
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(gain), -np.inf, gain - log_sums)


def _top(L: Array) -> Array:
    """An ε above every finite ratio."""
    finite = np.where(np.isfinite(L), L, 0.0)
    return np.asarray(np.maximum(finite.max(axis=-1), 0.0) + 1.0)
