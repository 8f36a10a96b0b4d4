"""E3, importance sampling: the hockey-stick divergence from tilted runs, near-exact with few.

Statement
    Half the runs are drawn from P, half from P_a. With w = 2/(1 + dP_a/dP) the mixture's mean of
    wY, Y = (1 - e^{ε-L})_+, is H_ε(P‖Q). Runs are bet on in pairs, one of each half:
    Π(1 + λ((w_iY_i + w'_iY'_i)/2 - δ)) has mean at most 1 if H_ε <= δ, for λ in [0, 1/δ), and
    decreases in ε for fixed λ, so the mixture over λ inverts by bisection.
Tilt
    Where every noise is Gaussian and d_t its mean's distance between the worlds given the history,
    P_a moves every mean by a·d_t, away from Q. With V = Σ‖d_t‖²/σ_t²
    ln dP_a/dP = aL - (a + a²)V/2. The bound is best where L lies just above the ε to be found,
    a = ε/V - 1/2 + 1/(2√V) with the ε of a Gaussian mechanism with μ = √V. Any a is valid.
Source
    Derived here: deterministic-mixture weights (Owen and Zhou 2000) and bets (Waudby-Smith and
    Ramdas 2024).
Assumes
    That L is the exact log-likelihood ratio and the samples follow P and P_a; it may refute only
    behind a passed noise check.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.binomial import POWER, smallest_noticed
from dpcalc.auditing.estimators.hockey_stick import invert_wealth, positive_part
from dpcalc.auditing.estimators.reference_mechanisms import reference
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.targets.target import ImportanceSample, World
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]

_BETS = 24
_REPETITIONS = 100  # of the design, to estimate its power


def epsilon_lower(
    plain: ImportanceSample, moved: ImportanceSample, *, delta: float, alpha: float, largest: float
) -> Array:
    """The lower bound of ε at δ; shape (...) for arrays of shape (..., runs).

    Args:
        plain: runs of P itself, with the density ratio of P_a (at the tilt of ``moved``, not 0).
        moved: as many runs of P_a.
        delta: above 0.
        alpha: error probability.
        largest: about how large wY may become where it matters, fixed before: the bets' scale.
            See `largest_value`. Any positive number is valid.
    """
    checks.proper_delta(delta)
    checks.positive("largest", largest)
    L = np.stack([plain.log_ratio, moved.log_ratio])
    tilt = np.stack([plain.log_tilt, moved.log_tilt])
    if L.shape != tilt.shape or L.shape[-1] == 0:
        raise InvalidInput(f"expected pairs of runs; got shapes {L.shape!r}, {tilt.shape!r}")
    weight = 2 * _sigmoid(-tilt)

    def paired(epsilon: Array) -> Array:
        return np.asarray((weight * positive_part(L, epsilon)).mean(axis=0))

    stakes = _stakes(delta, largest)
    top = np.maximum(np.where(np.isfinite(L), L, 0.0).max(axis=(0, -1)), 0.0) + 1.0
    return invert_wealth(paired, stakes, delta=delta, alpha=alpha, top=np.asarray(top))


def chosen_tilt(spread: float, delta: float) -> tuple[float, float]:
    """The tilt that puts log-ratios just above the ε to be found, and that ε.

    Args:
        spread: V, from pilot runs or known; the ε is that of a Gaussian mechanism with μ = √V.
        delta: above 0.
    """
    if not spread > 0:
        return 0.0, 0.0
    mu = math.sqrt(spread)
    epsilon = float(gaussian_pair.epsilon_of(mu, delta))
    return max(epsilon / spread - 0.5 + 0.5 / mu, 0.05), epsilon


def largest_value(tilt: float, spread: float, epsilon: float) -> float:
    """What wY can reach on L > ε when V is ``spread``: 2/(1 + exp(aε - (a + a²)V/2))."""
    value = float(2 * _sigmoid(np.asarray((tilt + tilt**2) * spread / 2 - tilt * epsilon)))
    return max(value, 1e-300)


def detectable(*, runs: int, claim: Claim, alpha: float) -> float:
    """The ε that pairs of runs tell from the claimed one, 4 times in 5, for the Gaussian mechanism.

    By simulation with fixed seeds: ``runs`` tilted and untilted runs together.
    """
    return _detectable(runs, claim.epsilon, claim.delta, alpha)


@lru_cache(maxsize=64)  # both directions and the controls ask for the same
def _detectable(runs: int, claimed: float, delta: float, alpha: float) -> float:
    generator = np.random.default_rng(20)
    normal = generator.standard_normal((2, _REPETITIONS, max(runs // 2, 1)))

    def notices(epsilon: float) -> bool:
        mu = float(gaussian_pair.mu_of(epsilon, delta))
        tilt, aimed = chosen_tilt(mu**2, delta)
        L = mu * (normal + np.array([0.0, tilt])[:, None, None] * mu) + mu**2 / 2
        weight = 2 * _sigmoid((tilt + tilt**2) * mu**2 / 2 - tilt * L)
        y = (weight * positive_part(L, np.full(_REPETITIONS, claimed))).mean(axis=0) - delta
        stakes = _stakes(delta, largest_value(tilt, mu**2, aimed))
        wealth = np.stack([np.log1p(stake * y).sum(axis=-1) for stake in stakes])
        total = np.logaddexp.reduce(wealth, axis=0) - math.log(len(stakes))
        return bool((total >= -math.log(alpha)).mean() >= POWER)

    return smallest_noticed(notices, claimed)


def evidence(
    world: World,
    plain: ImportanceSample,
    moved: ImportanceSample,
    claim: Claim,
    *,
    tilt: float,
    spread: float,
    alpha: float,
    trusted: bool,
) -> Evidence:
    """The bound for P = ``world`` against the other.

    Args:
        world: P.
        plain: runs of P.
        moved: runs of P_a.
        claim: what is tested.
        tilt: a.
        spread: V from pilot runs, the bets' scale.
        alpha: error probability.
        trusted: whether the noise check passed; otherwise the bound is report-only.
    """
    largest = largest_value(tilt, spread, chosen_tilt(spread, claim.delta)[1])
    runs = 2 * plain.log_ratio.shape[-1]
    return Evidence(
        method="importance-sampling",
        quantity=Quantity.EPSILON,
        lower=float(epsilon_lower(plain, moved, delta=claim.delta, alpha=alpha, largest=largest)),
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.DENSITY,
        runs=runs,
        direction=f"{world} against {world.other}",
        gates=trusted,
        detectable=detectable(runs=runs, claim=claim, alpha=alpha),
        reference=reference(claim.delta),
        counted={"tilt": tilt, "spread": spread, "largest": largest},
        assumes=("exact densities", "noise as modelled"),
    )


def _stakes(delta: float, largest: float) -> Array:
    low = min(0.05 / largest, 0.45 / delta)
    return np.geomspace(low, 0.9 / delta, _BETS)


def _sigmoid(x: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(x))
