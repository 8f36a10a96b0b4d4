"""What recorded counts and guesses about one run would have noticed, and what would do."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from scipy import stats

from dpcalc.auditing import (
    Claim,
    Counts,
    Outcome,
    audit_canaries,
    audit_counts,
    audit_scores,
)
from dpcalc.auditing.claim import Quantity
from dpcalc.auditing.estimators import accuracy, one_run, one_run_exact, one_run_power
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.recorded import audit_guesses
from dpcalc.auditing.verdict import Verdict
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.vocabulary import Adjacency

ADD = Adjacency.ADD_REMOVE
DELTA = 1e-5
PURE = Claim.of(epsilon=1, adjacency=ADD)


def test_underpowered_names_fair_coins_where_they_tell_as_much():
    claim = Claim.of(epsilon=0.4, adjacency=ADD)
    short = audit_counts(claim, Counts.of(55, 45, 45, 55), alpha=0.05)
    assert short.outcome is Outcome.UNDERPOWERED
    assert "--fair-coins would do: 200 runs then notice ε = 0.7771" in short.reason
    tossed = audit_counts(claim, Counts.of(55, 45, 45, 55), fair_coins=True, alpha=0.05)
    assert tossed.outcome is Outcome.NOT_REFUTED
    assert tossed.detectable == pytest.approx(0.7771, abs=1e-4)
    assert (
        "fair" not in audit_counts(claim, Counts.of(6, 4, 4, 6), alpha=0.05).reason
    )  # would not do either


def test_counts_of_fair_coins_have_the_level_of_one_binomial():
    """Exact: 100 runs of randomised response with ε = 1, refuted by the right answers alone."""
    claim = Claim.of(epsilon=1, adjacency=ADD)
    right = [
        k
        for k in range(101)
        if audit_counts(
            claim,
            Counts.of(k // 2, 50 - k // 2, 50 - (k + 1) // 2, (k + 1) // 2),
            fair_coins=True,
            alpha=0.05,
        ).outcome
        is Outcome.REFUTED
    ]
    assert right == list(range(right[0], 101))
    assert 0.02 < stats.binom.sf(right[0] - 1, 100, math.e / (1 + math.e)) <= 0.05


def test_counts_that_no_fair_coin_made_are_refused():
    with pytest.raises(AssumptionViolated, match="150 of 200"):
        audit_counts(PURE, Counts.of(100, 50, 25, 25), fair_coins=True)


def test_nothing_is_advised_where_nothing_helps():
    vast = Claim.of(epsilon=1e308, delta=0.999, adjacency=ADD)
    assert "enough" not in audit_counts(vast, Counts.of(95, 5, 5, 95)).reason


def test_one_run_names_an_error_probability_at_which_its_guesses_tell():
    """60 guesses at δ = 1e-5: at an α below 60·δ nothing is left but failures that δ allows."""
    claim = Claim.of(epsilon=1, delta=DELTA, adjacency=ADD)
    guesses = Guesses(canaries=1000, guessed=60, correct=55)
    few = audit_guesses(claim, guesses)
    assert few.outcome is Outcome.UNDERPOWERED
    assert "60 guesses about canaries of one run" in few.reason
    told = audit_guesses(claim, Guesses(canaries=1000, guessed=60, correct=60), alpha=0.05).reason
    assert told.endswith("(one-run-exact, 60 guesses about canaries of one run)")
    assert "would have noticed no ε, however large" in few.reason
    assert "would be enough" not in few.reason  # 1,000 canaries at δ = 1e-5 leave nothing of α
    stated = float(few.reason.split("planned with --alpha 0.05, 60 guesses would notice ε = ")[1])
    terms = {"claimed": 1.0, "delta": DELTA, "alpha": 0.05}
    assert one_run_exact.detectable(guesses, **terms) == pytest.approx(stated, rel=1e-3)


@pytest.mark.parametrize(("delta", "canaries"), [(0.0, 10), (0.0, 1), (1e-9, 20)])
def test_one_run_names_the_guesses_that_would_be_enough(delta, canaries):
    claim = Claim.of(epsilon=1, delta=delta, adjacency=ADD)
    said = audit_guesses(claim, Guesses(canaries=canaries, guessed=canaries, correct=canaries))
    number = int(said.reason.split("noticed; ")[1].split(" guesses would be enough")[0])
    plain = one_run_exact if delta else one_run
    terms = {"claimed": 1.0, "delta": delta, "alpha": 1e-4}
    enough, short = (
        plain.detectable(Guesses(canaries=k, guessed=k, correct=0), **terms)
        for k in (number, 9 * number // 10)
    )
    assert enough <= 2 < short


def refuted_by(claim: Claim, terms: dict[str, int], alpha: float, runs: int) -> tuple[float, int]:
    """The stated value of a design of one run, and how many runs at that value refute the claim."""
    draw = np.random.default_rng(11)
    canaries = terms["canaries"]

    def one(epsilon: float, seed: int) -> Verdict:
        used = draw.random(canaries) < 0.5
        looks = used ^ (draw.random(canaries) < 1 / (1 + math.exp(epsilon)))
        guesses = {"guess_in": terms["guess_in"], "guess_out": terms["guess_out"], "seed": seed}
        return audit_canaries(
            claim, used, looks.astype(float), fair_coins=True, alpha=alpha, **guesses
        )

    stated = one(claim.epsilon, 0).evidence[0].detectable
    return stated, sum(one(stated, k).outcome is Outcome.REFUTED for k in range(1, runs + 1))


DESIGNS = [(100, 50, 50, 0.05), (1000, 500, 500, 1e-4), (1000, 40, 40, 1e-4)]
UNEVEN = (300, 200, 100, 0.01)


@pytest.mark.parametrize(("canaries", "guess_in", "guess_out", "alpha"), DESIGNS)
def test_one_run_notices_what_it_says(canaries, guess_in, guess_out, alpha):
    """Of 60 runs; a power of .8 gives fewer than 36 or all 60 of them once in 2,000.

    Where every canary is guessed, hardly ever do just half of them look used: some guesses are about
    canaries that look otherwise.
    """
    terms = {"canaries": canaries, "guess_in": guess_in, "guess_out": guess_out}
    assert 36 <= refuted_by(PURE, terms, alpha, 60)[1] < 60


@pytest.mark.campaign
@pytest.mark.parametrize("claim", [PURE, Claim.of(epsilon=1, delta=1e-7, adjacency=ADD)])
@pytest.mark.parametrize(("canaries", "guess_in", "guess_out", "alpha"), [*DESIGNS, UNEVEN])
def test_one_run_notices_what_it_says_in_the_long_run(canaries, guess_in, guess_out, alpha, claim):
    """Of 400 runs; powers of .75 and .95 give fewer than 272 or more than 393 once in 2,000."""
    terms = {"canaries": canaries, "guess_in": guess_in, "guess_out": guess_out}
    stated, found = refuted_by(claim, terms, alpha, 400)
    sys.stdout.write(f"\n| {claim.name} | {terms} | {alpha} | ε = {stated:.3f} | {found} of 400 |")
    assert 272 <= found <= 393


def test_guesses_about_canaries_that_look_otherwise_by_brute_force():
    """All 2^8 looks of 8 canaries and every number of right ones, of 4 guesses IN and 4 OUT."""
    q, m, needed = 0.8, 8, 6
    total = 0.0
    for used in range(m + 1):
        mistaken = abs(used - m // 2)
        law = np.convolve(
            stats.binom.pmf(np.arange(m - mistaken + 1), m - mistaken, q),
            stats.binom.pmf(np.arange(mistaken + 1), mistaken, 1 - q),
        )
        total += math.comb(m, used) / 2**m * law[needed:].sum()
    values = np.repeat([abs(k - 4) for k in range(9)], [math.comb(8, k) for k in range(9)])
    found = one_run_power.power(needed, m, values, math.log(q / (1 - q)))
    assert found == pytest.approx(total, rel=1e-12)
    guesses = Guesses(canaries=m, guessed=m, correct=0, guessed_in=m)
    assert one_run.detectable(guesses, claimed=1.0, delta=0.0, alpha=0.05) == math.inf


def test_guesses_that_say_in_are_guesses():
    with pytest.raises(InvalidInput, match="guessed_in=11, guessed=10"):
        Guesses(canaries=10, guessed=10, correct=5, guessed_in=11)


def test_uneven_counts_are_told_to_be_evened():
    verdict = audit_counts(PURE, Counts.of(12, 8, 400, 600))
    assert verdict.outcome is Outcome.UNDERPOWERED
    said = verdict.reason.split("noticed; ")[1]
    runs = int(said.split(" runs, half of them with the record, would be enough")[0])
    assert runs < 1000
    assert accuracy.detectable(runs=runs, claim=PURE, alpha=1e-4, quantity=Quantity.EPSILON) <= 2
    assert "scores say more than counts" in said
    assert "--fair-coins" not in said  # no coins made twenty of a thousand


@pytest.mark.parametrize("runs", [40, 60])
def test_few_runs_of_fair_coins_notice_what_they_say(runs):
    """Of 120 data sets of randomised response; a power of .8 gives fewer than 78 or 114 once in 2,000.

    What repeats in the data is not taken for noise that does not, however small the pilot is.
    """
    draw = np.random.default_rng(8)

    def one(epsilon: float, seed: int) -> Verdict:
        worlds = np.zeros(0, bool)
        while not 10 <= worlds.sum() <= runs - 10:
            worlds = draw.random(runs) < 0.5
        looks = (worlds ^ (draw.random(runs) < 1 / (1 + math.exp(epsilon)))).astype(float)
        scores = looks[worlds], looks[~worlds]
        return audit_scores(PURE, *scores, fair_coins=True, alpha=0.05, seed=seed)

    (best,) = one(1.0, 3).evidence
    assert best.reference == "randomised response in every run"
    found = sum(one(best.detectable, k).outcome is Outcome.REFUTED for k in range(120))
    assert 78 <= found < 114
