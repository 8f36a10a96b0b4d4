"""E1: both error rates of a fixed decision rule, each with an exact upper limit.

Statement
    With probability at least 1 - α both error rates lie below their upper limits a (false
    positives) and b (false negatives) at α/2 each. (ε, δ)-DP needs 1 - FNR <= e^ε·FPR + δ and
    1 - FPR <= e^ε·FNR + δ, so ``ε >= max(0, ln((1-b-δ)/a), ln((1-a-δ)/b))``: both directions from
    one rectangle. In the same way μ-GDP needs ``μ >= Φ⁻¹(1-a) - Φ⁻¹(b)``.
    A rule that is wrong more often than chance says as much once its answers are exchanged. The two
    worlds' runs are independent, so the rectangle fails with probability at most
    1 - (1-α/2)² = α - α²/4; the α²/4 that is left pays for the rectangle of the exchanged answers.
Source
    Jagielski, Ullman and Oprea 2020; Nasr et al. 2021 and, for μ, 2023.
Assumes
    Independent runs; a rule fixed before they were made. Nothing about the mechanism.
Limits
    With no false positive in n runs a is about ln(2/α)/n, so ε above ln(n/3.7) can never be
    reported at 95 %, whatever leaks. A bound on μ says nothing about ε unless the claim is the
    Gaussian curve.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim, Quantity
from dpcalc.auditing.estimators.binomial import (
    POWER,
    SOUGHT_OF_LAPLACE,
    quantile,
    smallest_noticed,
    upper_limit,
)
from dpcalc.auditing.estimators.reference_mechanisms import (
    GAUSSIAN,
    LAPLACE,
    Outcomes,
    error_rates,
    in_runs,
    reference,
)
from dpcalc.auditing.estimators.rules import cuts, tail_ranks
from dpcalc.auditing.evidence import AdversaryAccess, Evidence
from dpcalc.auditing.sampling.observations import Counts, Observations
from dpcalc.errors import AssumptionViolated, InvalidInput

Array = NDArray[np.float64]

_CANDIDATES = 97  # thresholds among which the pilot chooses


def epsilon_lower(counts: Counts, *, delta: float, alpha: float) -> Array:
    """The lower bound of ε at δ; shape of the counts."""
    checks.delta(delta)
    return np.maximum(*(_epsilon(a, b, delta) for a, b in _rectangles(counts, alpha)))


def mu_lower(counts: Counts, *, alpha: float) -> Array:
    """The lower bound of the smallest μ for which μ-GDP holds; shape of the counts.

    It turns into ε only if the claim itself is a Gaussian curve: for randomised response with
    ε = 1 the translated bound is wrong with certainty.
    """
    return np.maximum(*(_mu(a, b) for a, b in _rectangles(counts, alpha)))


def choose_threshold(
    pilot: Observations, *, delta: float, alpha: float, counted: int, curve: bool = False
) -> Array:
    """A good threshold for ``counted`` later runs, chosen on runs that will not be counted.

    Both tails are tried, between different scores only. Any choice is valid; the search only
    affects strength.

    Args:
        pilot: the runs to choose on.
        delta: at which ε is to be large.
        alpha: error probability of the later bound.
        counted: later runs.
        curve: look for the largest μ instead, which lies nearer to the middle than to the tails.

    Returns:
        One threshold per repetition of the pilot.
    """
    checks.count("pilot runs", pilot.runs, minimum=4)
    found = cuts(pilot, tail_ranks(pilot.runs, _CANDIDATES)[1:-1])
    n_in, below = found.n_in, found.place
    scale = counted / pilot.runs
    fn, n1 = found.below_in * scale, n_in * scale
    fp, n0 = (pilot.runs - n_in - (below - found.below_in)) * scale, (pilot.runs - n_in) * scale
    # A rate seen in a small pilot as zero is not zero: half an event is added on both sides.
    a = upper_limit(fp + 0.5 * scale, np.maximum(n0, 1) + scale, alpha / 2)
    b = upper_limit(fn + 0.5 * scale, np.maximum(n1, 1) + scale, alpha / 2)
    best = (_mu(a, b) if curve else _epsilon(a, b, delta)).argmax(axis=-1)
    return np.asarray(np.take_along_axis(found.threshold, best[..., None], axis=-1)[..., 0])


def oriented(
    observations: Observations, pilot: int, *, delta: float, alpha: float, curve: bool
) -> Observations:
    """These runs, or with small scores for large ones if the first few promise more in that way."""
    turned = observations.with_score(-observations.score)
    promised = []
    for seen in (observations, turned):
        trial = seen.between(0, pilot)
        threshold = choose_threshold(
            trial, delta=delta, alpha=alpha, counted=seen.runs - pilot, curve=curve
        )
        counts = trial.counts(threshold)
        promised.append(
            float(
                mu_lower(counts, alpha=alpha)
                if curve
                else epsilon_lower(counts, delta=delta, alpha=alpha)
            )
        )
    return turned if promised[1] > promised[0] else observations


def held_out(
    observations: Observations,
    *,
    delta: float,
    alpha: float,
    pilot_share: float = 0.5,
    curve: bool = False,
) -> tuple[Counts, Array]:
    """Counts of the later runs under a threshold chosen on the earlier ones, and the threshold."""
    if not 0 < pilot_share < 1:
        raise InvalidInput(f"pilot_share needs a number in (0, 1); got pilot_share={pilot_share!r}")
    cut = round(observations.runs * pilot_share)
    if not 0 < cut < observations.runs:
        raise InvalidInput(
            f"expected runs on both sides of the split; got runs={observations.runs}, "
            f"pilot_share={pilot_share!r}; make more runs"
        )
    rest = observations.between(cut, observations.runs)
    threshold = choose_threshold(
        observations.between(0, cut), delta=delta, alpha=alpha, counted=rest.runs, curve=curve
    )
    return rest.counts(threshold), threshold


def detectable(
    *,
    n_in: int,
    n_out: int,
    claimed: float,
    delta: float,
    alpha: float,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
) -> float:
    """The ε that this many runs tell from the claimed one, at the best threshold, 4 times in 5."""

    def notices(epsilon: float) -> bool:
        rates = error_rates(epsilon, delta, outcomes, share)
        a, b = _usual_rectangle(*rates, n_in=n_in, n_out=n_out, alpha=alpha, power=power)
        return bool((_epsilon(a, b, delta) > claimed).any())

    power = SOUGHT_OF_LAPLACE if reference(delta, outcomes) == LAPLACE else POWER
    return smallest_noticed(notices, claimed)


def detectable_mu(*, n_in: int, n_out: int, claimed: float, alpha: float) -> float:
    """The μ that this many runs tell from the claimed one, at the best threshold, 4 times in 5."""
    from scipy.special import ndtr

    def notices(mu: float) -> bool:
        thresholds = np.linspace(-2.0, mu + 2.0, 101)
        rates = ndtr(-thresholds), ndtr(thresholds - mu)
        return bool(
            (_mu(*_usual_rectangle(*rates, n_in=n_in, n_out=n_out, alpha=alpha)) > claimed).any()
        )

    return smallest_noticed(notices, claimed)


def evidence(
    counts: Counts,
    claim: Claim,
    *,
    alpha: float,
    power: bool = True,
    outcomes: Outcomes = Outcomes.DISCRETE,
    share: float = 1.0,
) -> Evidence:
    """The bound on ε at the claim's δ from one experiment.

    Args:
        counts: answers of a rule fixed before.
        claim: what is tested.
        alpha: error probability.
        power: whether to say what would have been noticed.
        outcomes: how often they repeat; see `reference_mechanisms`.
        share: of the runs in which the mechanism answers; see `answering`.
    """
    n_in, n_out = int(counts.n_in), int(counts.n_out)
    found = math.inf
    if power and math.isfinite(claim.epsilon):
        found = detectable(
            n_in=n_in,
            n_out=n_out,
            claimed=claim.epsilon,
            delta=claim.delta,
            alpha=alpha,
            outcomes=outcomes,
            share=share,
        )
    runs = int(counts.runs)
    return Evidence(
        method="clopper-pearson",
        quantity=Quantity.EPSILON,
        lower=float(epsilon_lower(counts, delta=claim.delta, alpha=alpha)),
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.RUNS,
        runs=runs,
        detectable=found if power else None,
        reference=in_runs(reference(claim.delta, outcomes), round(share * runs), runs),
        counted=counts.record(),
        assumes=("the decision rule was fixed before these runs",),
    )


def curve_evidence(counts: Counts, claim: Claim, *, alpha: float) -> Evidence:
    """The bound on μ, for a claim that is a Gaussian curve.

    Raises:
        AssumptionViolated: for any other claim, where it would refute true statements.
    """
    require_curve(claim)
    n_in, n_out = int(counts.n_in), int(counts.n_out)
    claimed = claim.bound(Quantity.MU)
    return Evidence(
        method="clopper-pearson",
        quantity=Quantity.MU,
        lower=float(mu_lower(counts, alpha=alpha)),
        epsilon=float(epsilon_lower(counts, delta=claim.delta, alpha=alpha)),  # same rectangle
        alpha=alpha,
        delta=claim.delta,
        access=AdversaryAccess.RUNS,
        runs=int(counts.runs),
        detectable=detectable_mu(n_in=n_in, n_out=n_out, claimed=claimed, alpha=alpha),
        reference=GAUSSIAN,
        counted=counts.record(),
        assumes=("the decision rule was fixed before these runs",),
    )


def require_curve(claim: Claim) -> None:
    """Refuse to read a bound on μ as one on ε."""
    if not claim.is_curve:
        raise AssumptionViolated(
            "expected a claim of Gaussian differential privacy to use a bound on mu; got "
            f"a {claim.guarantee.notion} claim, for which it refutes true statements; "
            "claim GDP(mu), or bound epsilon"
        )


def _usual_rectangle(
    fpr: Array, fnr: Array, *, n_in: int, n_out: int, alpha: float, power: float = POWER
) -> tuple[Array, Array]:
    """Limits of the error rates that are not exceeded jointly in ``power`` of all experiments."""
    each = math.sqrt(power)
    fp, fn = quantile(each, n_out, fpr), quantile(each, n_in, fnr)
    return upper_limit(fp, n_out, alpha / 2), upper_limit(fn, n_in, alpha / 2)


def _rectangles(counts: Counts, alpha: float) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Limits of both error rates, of the rule and of the rule with exchanged answers."""
    n_in, n_out, second = counts.n_in, counts.n_out, alpha**2 / 4
    return (
        (
            upper_limit(counts.false_positives, n_out, alpha / 2),
            upper_limit(counts.false_negatives, n_in, alpha / 2),
        ),
        (
            upper_limit(counts.true_negatives, n_out, second / 2),
            upper_limit(counts.true_positives, n_in, second / 2),
        ),
    )


def _epsilon(a: Array, b: Array, delta: float) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.log(np.maximum(1 - b - delta, 0.0) / a)
        two = np.log(np.maximum(1 - a - delta, 0.0) / b)
    return np.asarray(np.maximum(np.fmax(one, two), 0.0))


def _mu(a: Array, b: Array) -> Array:
    from scipy.special import ndtri

    hopeless = (a >= 1) | (b >= 1)
    mu = -ndtri(np.where(hopeless, 0.5, a)) - ndtri(np.where(hopeless, 0.5, b))
    return np.asarray(np.where(hopeless, 0.0, np.maximum(mu, 0.0)))
