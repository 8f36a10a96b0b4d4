"""E6: Rényi divergence, from error rates or from exact log-likelihood ratios.

Statement
    error rates  Any test maps P, Q to coins, so D_a(P‖Q) >= d_a(p, q), p = P(answer IN),
                 q = Q(answer IN). At the corner of the rectangle of exact limits (p from below, q
                 from above) d_a is smallest, so ``ρ >= max_a d_a/a`` with no correction over a.
    densities    D_a >= ln E_P[e^{(a-1)·min(L, c)}]/(a-1) for any c fixed before. The mean is of
                 numbers in [0, e^{(a-1)c}] and gets a lower limit at α over the number of orders.
Source
    Data processing: van Erven and Harremoës 2014. Limits of the mean: Waudby-Smith and Ramdas 2024.
Assumes
    error rates: a rule fixed before. densities: as `hockey_stick`. Without the cut at c the mean
    has no finite-sample bound at all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators import clopper_pearson
from dpcalc.auditing.estimators.binomial import POWER, quantile, smallest_noticed, upper_limit
from dpcalc.auditing.estimators.hockey_stick import require_exact
from dpcalc.auditing.estimators.reference_mechanisms import (
    RESPONSE,
    Outcomes,
    in_runs,
    reference,
)
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.sampling.observations import Counts, Observations
from dpcalc.errors import InvalidInput

Array = NDArray[np.float64]

ORDERS = 1 + np.geomspace(1e-3, 200.0, 240)
"""Orders among which the error rates' best is taken; any is valid."""

_SELDOM = 0.4  # share of runs that answer below which no power is stated of continuous answers

DENSITY_ORDERS = (1.25, 1.5, 2.0, 3.0)
"""Orders of the density bound; each costs its share of α."""

_BETS = 24


def coin_divergence(p: Array, q: Array, order: Array) -> Array:
    """d_a of two coins, 0 < p, q < 1 and a > 1, in log-space. Arguments broadcast."""
    heads = order * np.log(p) + (1 - order) * np.log(q)
    tails = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
    return np.asarray(np.logaddexp(heads, tails) / (order - 1))


def rho_lower(counts: Counts, *, alpha: float) -> Array:
    """The lower bound of sup_a D_a/a over both directions; shape of the counts."""
    a = upper_limit(counts.false_positives, counts.n_out, alpha / 2)
    b = upper_limit(counts.false_negatives, counts.n_in, alpha / 2)
    return _corner(a, b)


def rho_lower_density(
    log_ratios: Array, *, cut: float, alpha: float, orders: tuple[float, ...] = DENSITY_ORDERS
) -> Array:
    """The lower bound of sup_a D_a(P‖Q)/a from samples of P; shape (...) for (..., runs).

    Args:
        log_ratios: exact L of runs of P.
        cut: c, above 0, fixed before the runs.
        alpha: error probability, split over the orders.
        orders: above 1.
    """
    checks.positive("cut", cut)
    L = np.minimum(np.asarray(log_ratios, float), cut)
    best = np.zeros(L.shape[:-1])
    for order in orders:
        checks.above_one("order", order)
        mean = mean_lower(np.exp((order - 1) * (L - cut)), alpha=alpha / len(orders))
        with np.errstate(divide="ignore"):
            divergence = np.log(mean) / (order - 1) + cut
        best = np.maximum(best, divergence / order)
    return best


def mean_lower(values: Array, *, alpha: float) -> Array:
    """A lower limit of the mean of numbers in [0, 1], by a mixture of bets; shape (...).

    Wealth mean_j Π(1 + λ_j(v_i/m - 1)), λ_j in (0, 1), decreases in m; the largest rejected m.
    """
    v = np.asarray(values, float)
    if (v < 0).any() or (v > 1).any():
        raise InvalidInput("expected numbers in [0, 1] for a lower limit of their mean")
    stakes = np.geomspace(1e-3, 0.95, _BETS)
    low, high = np.full(v.shape[:-1], 1e-12), np.ones(v.shape[:-1])
    for _ in range(40):
        middle = np.sqrt(low * high)
        gain = v / middle[..., None] - 1
        wealth = np.stack([np.log1p(stake * gain).sum(axis=-1) for stake in stakes])
        total = np.logaddexp.reduce(wealth, axis=0) - math.log(len(stakes))
        rejected = total >= -math.log(alpha)
        low, high = np.where(rejected, middle, low), np.where(rejected, high, middle)
    return np.asarray(np.where(low > 1e-12, low, 0.0))


def detectable(
    *,
    n_in: int,
    n_out: int,
    claimed: float,
    alpha: float,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
) -> float:
    """The ρ that a rectangle tells from the claimed one, 4 times in 5, for a Gaussian mechanism.

    In a share of the runs the ρ of that mechanism is the same, in the limit of large orders, and the
    threshold lies in its middle, among answers that tell little; if what it answers there repeats it
    is randomised response.
    """
    from scipy.special import ndtr

    each = math.sqrt(POWER)

    def notices(false_positive: Array, missed: Array) -> bool:
        fp = quantile(each, n_out, share * false_positive)
        fn = quantile(each, n_in, 1 - share * (1 - missed))
        a, b = upper_limit(fp, n_out, alpha / 2), upper_limit(fn, n_in, alpha / 2)
        return bool((_corner(a, b) > claimed).any())

    def of_gaussian(rho: float) -> bool:
        mu = math.sqrt(2 * rho)
        t = np.linspace(-2.0, mu + 3.0, 101) if share == 1 else np.array([mu / 2])
        return notices(ndtr(-t), ndtr(t - mu))

    def of_response(epsilon: float) -> bool:
        wrong = np.array([1 / (1 + math.exp(epsilon))])
        return notices(wrong, wrong)

    if reference(0.0, outcomes, curve=True, share=share) == RESPONSE:
        return rho_of_response(smallest_noticed(of_response, 0.0), share)
    if share < _SELDOM:
        return math.inf
    return smallest_noticed(of_gaussian, claimed, most=1e3)


def rho_of_response(epsilon: float, share: float) -> float:
    """sup_a D_a/a of randomised response in a share of the runs; in the others nothing is said."""
    if not math.isfinite(epsilon):
        return math.inf
    right = np.asarray(1 / (1 + math.exp(-epsilon)))
    whole = (ORDERS - 1) * coin_divergence(right, 1 - right, ORDERS)
    rest = math.log1p(-share) if share < 1 else -math.inf
    partly = np.logaddexp(rest, math.log(share) + whole)
    return float((partly / (ORDERS - 1) / ORDERS).max())


def evidence(
    counts: Counts,
    claim: Claim,
    *,
    alpha: float,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
) -> Evidence:
    """The bound on ρ from error rates.

    Args:
        counts: answers of a rule fixed before.
        claim: what is tested.
        alpha: error probability.
        outcomes: how often they repeat; see `reference_mechanisms`.
        share: of the runs in which the mechanism answers; see `answering`.
    """
    n_in, n_out = int(counts.n_in), int(counts.n_out)
    claimed, runs = claim.bound(Quantity.RHO), int(counts.runs)
    named = reference(0.0, outcomes, curve=True, share=share)
    terms: dict[str, Any] = {"outcomes": outcomes, "share": share}
    return Evidence(
        method="renyi",
        quantity=Quantity.RHO,
        lower=float(rho_lower(counts, alpha=alpha)),
        epsilon=float(clopper_pearson.epsilon_lower(counts, delta=claim.delta, alpha=alpha)),
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.RUNS,
        runs=runs,
        detectable=detectable(n_in=n_in, n_out=n_out, claimed=claimed, alpha=alpha, **terms),
        reference=in_runs(named, round(share * runs), runs),
        counted=counts.record(),
        assumes=("the decision rule was fixed before these runs",),
    )


def density_evidence(
    observations: Observations, claim: Claim, *, alpha: float, trusted: bool
) -> tuple[Evidence, ...]:
    """The bound on ρ from exact log-likelihood ratios, each direction at half of ``alpha``."""
    require_exact(observations)
    rho = claim.bound(Quantity.RHO)
    cut = max(rho + 3 * math.sqrt(2 * rho), 1e-6)
    found = []
    for direction, seen in (
        ("in against out", observations),
        ("out against in", observations.swapped()),
    ):
        ratios = seen.scores_of(is_in=True)
        lower = float(rho_lower_density(ratios, cut=cut, alpha=alpha / 2))
        found.append(
            Evidence(
                method="renyi-density",
                quantity=Quantity.RHO,
                lower=lower,
                alpha=alpha / 2,
                delta=claim.delta,
                access=AdversaryAccess.DENSITY,
                runs=len(ratios),
                direction=direction,
                gates=trusted,
                counted={"cut": cut, "orders": list(DENSITY_ORDERS)},
                assumes=("exact densities", "noise as modelled"),
            )
        )
    return tuple(found)


def _corner(a: Array, b: Array) -> Array:
    """Max over orders and directions of d_a/a at (p, q) = (1 - b, a); 0 if the limits cross."""
    apart = (1 - b > a) & (a < 1) & (b < 1)
    p = np.where(apart, 1 - b, 0.5)[..., None]
    q = np.where(apart, a, 0.5)[..., None]
    forward = (coin_divergence(p, q, ORDERS) / ORDERS).max(axis=-1)
    backward = (coin_divergence(q, p, ORDERS) / ORDERS).max(axis=-1)
    return np.asarray(np.where(apart, np.maximum(np.maximum(forward, backward), 0.0), 0.0))
