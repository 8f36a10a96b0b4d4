"""What is said to be noticed of a mechanism that answers in a share of the runs only, is noticed.

Every audit of a pair states its own value, of a mechanism that keeps its claim by far, so that no rule
is found on its pilot; the other attacks a mechanism of just that value. A power of .8 gives fewer than
36 or all 60 of them once in 2,000; in the campaign, powers of .75 and .95 give fewer than 272 or more
than 393 of 400 once in 2,000.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpcalc.auditing import (
    Claim,
    Outcome,
    Target,
    audit,
    audit_guesses,
    audit_scores,
    mechanism,
)
from dpcalc.auditing.claim import Quantity
from dpcalc.auditing.estimators import one_run_curve, partly, renyi
from dpcalc.auditing.estimators.answering import answering, noticeable
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.estimators.reference_mechanisms import Outcomes
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.sampling.observations import Observations
from dpcalc.guarantees import GDP, ZCDP
from dpcalc.vocabulary import Adjacency

ADD = Adjacency.ADD_REMOVE
DELTA = 1e-5
PURE = Claim.of(epsilon=1, adjacency=ADD)
APPROXIMATE = Claim.of(epsilon=1, delta=DELTA, adjacency=ADD)
CONCENTRATED = Claim(guarantee=ZCDP(0.5), delta=DELTA, adjacency=ADD)
CURVE = Claim(guarantee=GDP(1.0), delta=DELTA, adjacency=ADD)

Answers = Callable[[float, np.random.Generator, int], np.ndarray]
REST = {
    "constant": lambda g, n: np.full(n, 7.0),
    "coin": lambda g, n: g.integers(3, 5, n),
    "noise": lambda g, n: 20 + g.standard_normal(n),
}


def seldom(share: float, answers: Answers, rest: str = "constant") -> Target:
    """Answers in a share of the runs; in the others the same in both worlds."""
    return mechanism(
        lambda x, g, n: np.where(g.random(n) < share, answers(x, g, n), REST[rest](g, n)),
        1.0,
        0.0,
        adjacency=ADD,
    )


def response(right: float) -> Answers:
    return lambda x, g, n: np.where(g.random(n) < right, x, 1 - x)


def of_epsilon(epsilon: float, share: float) -> Answers:
    return response(1 / (1 + math.exp(-epsilon)))


def of_mu(mu: float, share: float) -> Answers:
    """The corner of its trade-off curve lies on that of μ."""
    corner = lambda q: norm.ppf(share * q) - norm.ppf(share * (1 - q)) - mu  # noqa: E731
    return response(brentq(corner, 0.5, 1 - 1e-12))


def laplace(epsilon: float, share: float) -> Answers:
    return lambda x, g, n: x + g.laplace(scale=1 / epsilon, size=n)


def gaussian(mu: float, share: float) -> Answers:
    return lambda x, g, n: mu * x + g.standard_normal(n)


def gaussian_at_delta(epsilon: float, share: float) -> Answers:
    return gaussian(float(gaussian_pair.mu_of(epsilon, DELTA / share)), share)


def gaussian_of_rho(rho: float, share: float) -> Answers:
    return gaussian(math.sqrt(2 * rho), share)


def noticed(claim: Claim, answers: Any, share: float, rest: str, pairs: int, **options: Any) -> int:
    """How many of the pairs refute."""
    terms = {"controls": False, **options}
    found = 0
    for seed in range(pairs):
        private = audit(seldom(share, response(0.501), rest), claim, seed=seed, **terms)
        if answers not in (of_epsilon, of_mu):
            private = audit(seldom(share, gaussian(0.01, share), rest), claim, seed=seed, **terms)
        (stated,) = (e.detectable for e in private.evidence if e.quantity is claim.quantity)
        attacked = seldom(share, answers(stated, share), rest)
        found += audit(attacked, claim, seed=10_000 + seed, **terms).outcome is Outcome.REFUTED
    return found


@pytest.mark.parametrize(
    ("claim", "answers", "share", "rest"),
    [
        (PURE, of_epsilon, 0.1, "constant"),
        (PURE, of_epsilon, 0.2, "noise"),
        (PURE, laplace, 0.2, "constant"),
        (APPROXIMATE, of_epsilon, 0.1, "constant"),
    ],
)
@pytest.mark.few(2)
def test_what_would_have_been_noticed_is(claim, answers, share, rest):
    assert 36 <= noticed(claim, answers, share, rest, 60) < 60


DESIGNS = [
    (PURE, of_epsilon, 0.5, "constant", {}),
    (PURE, of_epsilon, 0.2, "constant", {}),
    (PURE, of_epsilon, 0.1, "constant", {}),
    (PURE, of_epsilon, 0.1, "constant", {"early_stop": True, "methods": ["e-process"]}),
    (PURE, of_epsilon, 0.03, "constant", {"runs": 20_000}),
    (APPROXIMATE, of_epsilon, 0.1, "constant", {}),
    (CURVE, of_mu, 0.2, "constant", {}),
    (PURE, laplace, 0.1, "constant", {}),
    (APPROXIMATE, gaussian_at_delta, 0.5, "constant", {}),
    (CURVE, gaussian, 0.2, "constant", {}),
]


@pytest.mark.campaign
@pytest.mark.parametrize(("claim", "answers", "share", "rest", "options"), DESIGNS)
def test_what_would_have_been_noticed_is_in_every_design(claim, answers, share, rest, options):
    found = noticed(claim, answers, share, rest, 400, **options)
    sys.stdout.write(f"\n| {claim.name} | {answers.__name__} | {share} | {options} | {found} |")
    assert 272 <= found <= 393


def test_the_share_is_named_whether_a_rule_was_found_or_not():
    """Of 20 audits some find a rule; none states a value of randomised response in every run."""
    for seed in range(20):
        said = audit(seldom(0.1, of_epsilon(1, 0.1)), PURE, seed=seed, controls=False)
        assert "(randomised response in " in said.reason
        telling = said.evidence[0].counted["telling"]
        assert 80 < telling < 320
    all_of_them = audit(mechanism(of_epsilon(1, 1), 1.0, 0.0, adjacency=ADD), PURE, seed=1)
    assert "(randomised response in every run)" in all_of_them.reason


@pytest.mark.parametrize("claim", [CURVE, PURE, APPROXIMATE])
@pytest.mark.parametrize("answers", [response(0.501), gaussian(0.01, 0.1)])
def test_what_would_be_enough_accounts_for_the_share(claim, answers):
    """The number of runs that is named, made, notices twice the claim."""
    short = audit(seldom(0.1, answers), claim, seed=5, runs=1000, controls=False)
    assert short.outcome is Outcome.UNDERPOWERED
    runs = int(
        short.reason.split("noticed; ")[1].split(" runs would be enough")[0].replace(",", "")
    )
    assert runs > 2000
    if runs > 20_000:
        return
    again = audit(seldom(0.1, answers), claim, seed=6, runs=runs, controls=False)
    (evidence,) = again.evidence
    assert evidence.detectable <= 2.5 * claim.bound(claim.quantity)  # both pilots' shares vary


def shown(values: np.ndarray, is_in: np.ndarray, claim: Claim = PURE) -> tuple[Outcomes, float]:
    pilot = Observations(is_in=is_in, score=values, fair_coins=True)
    return answering(values, pilot, noticed=noticeable(2000, claim, 1e-4))


@pytest.mark.parametrize("claim", [PURE, APPROXIMATE, CURVE, CONCENTRATED])
def test_what_a_pilot_shows(claim):
    """500 runs: the shares are those drawn; without an outcome that says nothing they are all."""
    g = np.random.default_rng(4)
    is_in = g.random(500) < 0.5
    says = np.where(g.random(500) < 0.8, is_in, ~is_in).astype(float)
    often = g.random(500) < 0.3
    assert shown(says, is_in, claim) == (Outcomes.FEW, 1.0)
    some = shown(np.where(often, says, 7.0), is_in, claim)
    assert some == (Outcomes.FEW, often.mean())
    noisy = shown(np.where(often, says + g.laplace(size=500), 70.0), is_in, claim)
    assert noisy == (Outcomes.CONTINUOUS, often.mean())
    assert shown(np.where(often, says, 50 + g.random(500)), is_in, claim)[1] == often.mean()
    alike = (g.random(500) < 0.5).astype(float)
    assert shown(alike, is_in, claim)[1] == 1
    assert shown(np.where(often, alike, 7.0), is_in, claim)[1] == often.mean()
    noise = np.where(often, alike, 50 + g.random(500))
    assert shown(noise, is_in, claim)[1] == often.mean()
    assert shown(g.laplace(size=500), is_in, claim) == (Outcomes.CONTINUOUS, 1.0)
    assert shown(np.zeros(500), is_in, claim)[1] == 1


def test_recorded_scores_state_the_share():
    """1,000 scores of either kind, of which nine in ten are 0 and the others ±1 by a coin."""
    g = np.random.default_rng(6)
    first, second = (np.where(g.random(1000) < 0.1, g.choice([-1.0, 1.0], 1000), 0) for _ in "12")
    for terms in ({}, {"fair_coins": True}):
        (best, *_) = audit_scores(PURE, first, second, seed=1, **terms).evidence
        assert best.reference.startswith("randomised response in ")
        assert "every" not in best.reference
        assert best.detectable > 1.8
    concentrated = audit_scores(CONCENTRATED, first, second, seed=1)
    assert all(" of " in e.reference for e in concentrated.evidence if e.gates)
    curve = audit_scores(CURVE, first, second, seed=1)
    assert all(" of " in e.reference for e in curve.evidence if e.gates)


def test_losses_of_responses_that_are_seldom_given():
    """By the law of three outcomes: corners under the curve, and Rényi divergences by sums."""
    share, right = 0.3, 0.9
    p = np.array([share * right, share * (1 - right), 1 - share])
    q = p[[1, 0, 2]]
    mu = partly.mu_of_response(right, share)
    for ratio in np.exp(np.linspace(-6, 6, 121)):
        delta = np.maximum(p - ratio * q, 0).sum()
        assert delta <= float(gaussian_pair.delta_of(mu, math.log(ratio))) + 1e-12 or ratio < 1
    assert norm.cdf(mu + norm.ppf(q[0])) == pytest.approx(p[0], rel=1e-12)
    found = renyi.rho_of_response(math.log(right / (1 - right)), share)
    orders = renyi.ORDERS[:, None]
    divergences = np.log((p**orders * q ** (1 - orders)).sum(1)) / (renyi.ORDERS - 1)
    assert found == pytest.approx((divergences / renyi.ORDERS).max(), rel=1e-9)


@pytest.mark.parametrize(
    ("canaries", "guess_in", "guess_out", "alpha"),
    [(1000, 50, 50, 0.05), (200, 100, 100, 0.05), (1000, 500, 500, 0.05), (5000, 400, 100, 1e-4)],
)
def test_guesses_about_one_run_notice_the_curve_they_name(canaries, guess_in, guess_out, alpha):
    """Of 400 runs with Gaussian canaries; powers of .75 and .95 fail once in 2,000."""
    guesses = Guesses(
        canaries=canaries, guessed=guess_in + guess_out, correct=0, guessed_in=guess_in
    )
    best = audit_guesses(CURVE, guesses, alpha=alpha).evidence
    (stated,) = (e for e in best if e.quantity is Quantity.MU)
    assert stated.reference == "Gaussian mechanism of every canary"
    g, curve = np.random.default_rng(7), one_run_curve.gaussian_inverse_blow_up(1.0)
    found, known = 0, {}
    for _ in range(400):
        used = g.random(canaries) < 0.5
        order = np.argsort(stated.detectable * used + g.standard_normal(canaries))
        right = int(used[order[-guess_in:]].sum() + (~used[order[:guess_out]]).sum())
        if right not in known:
            seen = Guesses(canaries=canaries, guessed=guesses.guessed, correct=right)
            known[right] = bool(one_run_curve.refutes(seen, curve, alpha=alpha))
        found += known[right]
    assert 272 <= found <= 393
