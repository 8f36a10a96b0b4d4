"""The exact one-run bound: against brute force over all mechanisms, exact laws and older bounds.

Statements about P(V >= v) are deterministic; only the last test draws, with a false-alarm rate
stated there.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from dpcalc.auditing import Claim
from dpcalc.auditing.estimators import one_run, one_run_curve, one_run_exact
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.gaussian import gaussian_pair
from dpcalc.auditing.recorded import audit_guesses
from dpcalc.errors import AssumptionViolated, InvalidInput
from dpcalc.guarantees import GDP

ALPHA = 0.05


def made(canaries: int, guessed: int, correct: int) -> Guesses:
    return Guesses(canaries=canaries, guessed=guessed, correct=correct)


# ---- the law against brute force


def best_of_all_mechanisms(m: int, r: int, v: int, limits: list[tuple[float, float]]) -> float:
    """max P(V >= v), a program over every channel from coins to guesses; nothing is symmetric.

    Args:
        m: canaries.
        r: guesses; every vector of guesses abstains m - r times.
        v: right guesses.
        limits: (ε, δ) that hold for every two vectors of coins that differ in one.
    """
    coins = list(itertools.product((0, 1), repeat=m))
    guesses = [t for t in itertools.product((0, 1, None), repeat=m) if t.count(None) == m - r]
    cells = {pair: i for i, pair in enumerate(itertools.product(coins, guesses))}
    near = [
        (s, t) for s in coins for t in coins if sum(a != b for a, b in zip(s, t, strict=True)) == 1
    ]
    size = len(cells) + len(near) * len(limits) * len(guesses)
    objective = np.zeros(size)
    for (s, y), i in cells.items():
        if sum(a == b for a, b in zip(s, y, strict=True)) >= v:
            objective[i] = -1 / len(coins)
    rows, bounds, extra = [], [], len(cells)
    for (s, t), (epsilon, delta) in itertools.product(near, limits):
        total = np.zeros(size)
        for y in guesses:
            row = np.zeros(size)
            row[cells[s, y]], row[cells[t, y]], row[extra] = 1, -np.exp(epsilon), -1
            total[extra] = 1
            extra += 1
            rows.append(row)
            bounds.append(0.0)
        rows.append(total)
        bounds.append(delta)
    sums = np.zeros((len(coins), size))
    for (s, _), i in cells.items():
        sums[coins.index(s), i] = 1
    solved = linprog(objective, rows, bounds, sums, np.ones(len(coins)), method="highs")
    return float(-solved.fun)


@pytest.mark.parametrize(
    ("m", "r", "v", "limits"),
    [
        (1, 1, 1, [(0.5, 0.1)]),
        (2, 2, 2, [(1.0, 0.05)]),
        (2, 2, 1, [(0.3, 0.01)]),
        (2, 1, 1, [(1.0, 0.2)]),
        (3, 3, 2, [(0.7, 0.02)]),
        (3, 3, 3, [(0.7, 0.2)]),
        (3, 2, 2, [(0.7, 0.1)]),
        (3, 2, 1, [(0.2, 0.0)]),
        (2, 2, 2, [(0.0, 0.3), (0.5, 0.15), (1.0, 0.1)]),
        (3, 3, 2, [(0.0, 0.3), (0.4, 0.1), (1.2, 0.01)]),
        (3, 2, 2, [(0.0, 0.3), (0.4, 0.1), (1.2, 0.01)]),
    ],
)
def test_no_mechanism_does_better_and_one_does_as_well(m, r, v, limits):
    """To the solver's tolerance of 1e-7, times the few constraints of so small a program."""
    epsilons, deltas = (np.array(column) for column in zip(*limits, strict=True))
    found = one_run_exact.largest_tail(made(m, r, v), epsilons, deltas)
    assert found == pytest.approx(best_of_all_mechanisms(m, r, v, limits), abs=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 3.0])
@pytest.mark.parametrize(("m", "r", "v"), [(100, 60, 45), (50, 50, 50), (500, 80, 41), (9, 9, 1)])
def test_without_delta_it_is_the_binomial_tail(m, r, v, epsilon):
    found = one_run_exact.p_value(made(m, r, v), epsilon, 0.0)
    expected = binom.sf(v - 1, r, 1 / (1 + np.exp(-epsilon)))
    assert found == pytest.approx(expected, abs=1e-5)
    assert found >= expected - 1e-12


def test_it_is_never_below_an_exact_law_with_a_rare_catastrophe():
    """Randomised response that shows all canaries with probability δ: (ε, δ), V's law is known."""
    for m, r, epsilon, delta in [(40, 40, 1.0, 0.01), (200, 50, 0.5, 1e-3), (60, 20, 2.0, 0.05)]:
        q = 1 / (1 + np.exp(-epsilon))
        for v in range(r // 2, r + 1, 5):
            truth = (1 - delta) * binom.sf(v - 1, r, q) + delta
            assert one_run_exact.p_value(made(m, r, v), epsilon, delta) >= truth - 1e-12


def test_nothing_right_and_nothing_bounded():
    assert one_run_exact.p_value(made(10, 5, 0), 0.0, 0.0) == 1
    assert one_run_exact.p_value(made(10, 5, 5), 50.0, 1e-5) == 1
    assert one_run_exact.curve_p_value(made(10, 5, 5), 50.0) == 1
    assert one_run_exact.epsilon_lower(made(10, 5, 1), delta=1e-5, alpha=ALPHA) == 0
    assert one_run_exact.mu_lower(made(10, 5, 1), alpha=ALPHA) == 0


def test_a_solver_that_fails_refutes_nothing(monkeypatch):
    import scipy.optimize

    def stopped(*program, **options):
        return linprog(*program, **options, options={"maxiter": 0})

    monkeypatch.setattr(scipy.optimize, "linprog", stopped)
    assert one_run_exact.p_value(made(100, 100, 100), 0.1, 1e-5) == 1


def test_a_poor_solver_makes_the_p_value_larger_never_smaller(monkeypatch):
    """Multipliers are scaled or noisy: by weak duality any of them bounds the optimum."""
    import scipy.optimize

    guesses, limit = made(60, 40, 32), (0.7, 1e-3)
    best = one_run_exact.p_value(guesses, *limit)
    rng = np.random.default_rng(5)
    for factor in (0.0, 0.5, 0.99, 1.01, 2.0, None):

        def poor(*program, factor=factor, **options):
            solved = linprog(*program, **options)
            exact = solved.ineqlin.marginals
            noise = rng.uniform(0.5, 1.5, len(exact)) if factor is None else factor
            solved.ineqlin.marginals = exact * noise
            return solved

        monkeypatch.setattr(scipy.optimize, "linprog", poor)
        assert one_run_exact.p_value(guesses, *limit) >= best - 1e-9


# ---- beside the older bounds

ROWS = [
    # m, r, v, δ, the 2mδ form, exact
    (1000, 100, 100, 1e-4, 3.20230, 3.48648),
    (1000, 100, 80, 1e-3, 0.0, 0.87674),
    (10_000, 192, 180, 1e-5, 2.16516, 2.20215),
    (100_000, 200, 190, 1e-5, 1.40799, 2.36838),
]


@pytest.mark.parametrize(("m", "r", "v", "delta", "before", "exact"), ROWS)
def test_larger_bounds_of_epsilon(m, r, v, delta, before, exact):
    guesses = made(m, r, v)
    found = one_run_exact.epsilon_lower(guesses, delta=delta, alpha=ALPHA)
    assert one_run.epsilon_lower(guesses, delta=delta, alpha=ALPHA) == pytest.approx(
        before, abs=1e-4
    )
    assert found == pytest.approx(exact, abs=1e-4)
    assert one_run_exact.p_value(guesses, found, delta) <= ALPHA
    assert one_run_exact.p_value(guesses, found + 1e-3, delta) > ALPHA


@pytest.mark.parametrize(
    ("m", "r", "v", "before", "exact"),
    [(1000, 100, 80, 0.36433, 0.37558), (400, 60, 50, 0.40963, 0.42234)],
)
def test_larger_bounds_of_mu(m, r, v, before, exact):
    """Grids of one kind: other grids move the third digit."""
    guesses = made(m, r, v)
    found = one_run_exact.mu_lower(guesses, alpha=ALPHA)
    assert one_run_curve.mu_lower(guesses, alpha=ALPHA) == pytest.approx(before, abs=1e-4)
    assert found == pytest.approx(exact, abs=1e-4)
    assert one_run_exact.curve_p_value(guesses, found) <= ALPHA


@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_no_larger_p_value_than_the_form_with_2_m_delta_up_to_one_half(delta):
    for m, r, v in itertools.product((50, 2000), (20, 50), (12, 20)):
        guesses = made(m, r, v)
        older = one_run.p_value(guesses, np.array([0.0, 0.5, 2.0]), delta)
        exact = np.array([one_run_exact.p_value(guesses, e, delta) for e in (0.0, 0.5, 2.0)])
        assert (exact <= older + 1e-6)[older <= 0.5].all()


def test_the_form_with_2_m_delta_is_too_small_near_one():
    """Two canaries, both guessed: P(V = 0) can be (1 - (2 + e^ε)δ)/(1 + e^ε)², worked out by hand."""
    epsilon, delta = 2.0, 0.01
    grown = np.exp(epsilon)
    none = (1 - (2 + grown) * delta) / (1 + grown) ** 2
    one, both = grown * none + delta, grown * (grown * none + delta)
    assert none + 2 * one + both == pytest.approx(1)  # both ways of one right guess
    assert one - grown * none == pytest.approx(delta)  # and it is (ε, δ)-private
    assert both - grown * one == pytest.approx(0)
    assert float(one_run.p_value(made(2, 2, 1), np.array(epsilon), delta)) < 1 - none
    assert one_run_exact.p_value(made(2, 2, 1), epsilon, delta) == pytest.approx(1 - none, abs=1e-6)
    with pytest.raises(InvalidInput, match="one half"):
        one_run.epsilon_lower(made(2, 2, 1), delta=delta, alpha=0.987)


def test_what_so_many_guesses_notice_is_what_they_refute():
    guesses = made(1000, 100, 0)
    noticed = one_run_exact.detectable(guesses, claimed=1.0, delta=1e-3, alpha=ALPHA)
    right = int(binom.ppf(0.2, 100, 1 / (1 + np.exp(-noticed))))
    assert one_run_exact.p_value(made(1000, 100, right), 1.0, 1e-3) <= ALPHA
    assert one_run_exact.p_value(made(1000, 100, right - 2), 1.0, 1e-3) > ALPHA


# ---- verdicts


def test_verdicts_use_the_exact_bound_where_it_is_quick():
    plain = Claim.of(epsilon=1, delta=1e-4, adjacency="add-remove")
    pure = Claim.of(epsilon=1, adjacency="add-remove")
    curve = Claim(guarantee=GDP(0.3), delta=1e-4, adjacency="add-remove")
    methods = [
        (plain, made(1000, 100, 90), ["one-run-exact"]),
        (plain, made(5000, 3000, 2000), ["one-run"]),
        (pure, made(1000, 100, 90), ["one-run"]),
        (curve, made(1000, 100, 80), ["one-run-exact", "one-run-exact-curve"]),
        (curve, made(1000, 400, 280), ["one-run-exact", "one-run-curve"]),
    ]
    for claim, guesses, expected in methods:
        verdict = audit_guesses(claim, guesses, alpha=ALPHA)
        assert sorted(e.method for e in verdict.evidence) == sorted(expected)
        assert all(e.alpha == ALPHA for e in verdict.evidence)
    with pytest.raises(AssumptionViolated, match="Gaussian"):
        one_run_exact.curve_evidence(made(100, 50, 40), plain, alpha=ALPHA)


# ---- false alarms


def first_refuted(m: int, r: int, refutes) -> int:
    """The smallest count that refutes, r + 1 if none does."""
    return next((v for v in range(r // 2, r + 1) if refutes(made(m, r, v))), r + 1)


@pytest.mark.parametrize("delta", [0.0, 0.002, 0.03])
def test_exact_level_on_responses_with_a_catastrophe(delta):
    """No draws: V is Bin(r, q), or r with probability δ."""
    m = r = 60
    q = 1 / (1 + np.exp(-1))
    count = first_refuted(m, r, lambda g: one_run_exact.p_value(g, 1.0, delta) <= ALPHA)
    alarms = (1 - delta) * binom.sf(count - 1, r, q) + delta * (count <= r)
    assert alarms <= ALPHA
    if delta == 0:
        assert alarms > ALPHA / 3  # and it is tight


@pytest.mark.parametrize("curve", [True, False])
def test_level_on_gaussian_canaries(curve):
    """2,000 runs; a test of level .05 has more than 6.5 per cent of alarms once in 740 seeds."""
    rng = np.random.default_rng(7)
    S, m, r, mu, delta = 2000, 200, 40, 0.8, 1e-3
    epsilon = float(gaussian_pair.epsilon_of(mu, delta))

    def refutes(g: Guesses) -> bool:
        p = (
            one_run_exact.curve_p_value(g, mu)
            if curve
            else one_run_exact.p_value(g, epsilon, delta)
        )
        return p <= ALPHA

    count = first_refuted(m, r, refutes)
    coins = rng.random((S, m)) < 0.5
    order = np.argsort(rng.standard_normal((S, m)) + mu * coins, axis=1)
    told = np.take_along_axis(coins, order, axis=1)
    right = (~told[:, : r // 2]).sum(axis=1) + told[:, -(r // 2) :].sum(axis=1)
    assert count <= r
    assert (right >= count).mean() <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / S)
