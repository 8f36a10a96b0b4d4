"""E5, exact: the most that any mechanism under the claim lets one guess in one run.

Statement
    m canaries, each included by its own fair coin; r of them are guessed, V rightly. Let p_n be the
    chance that V = n. A mechanism whose hockey-stick divergence at e^ε is at most δ(ε) has
    Σ_n [(n+1)p_{n+1} - e^ε(r-n)p_n]₊ + [(r-n)p_n - e^ε(n+1)p_{n+1}]₊ <= m·δ(ε), n = 0 ... r-1.
    The largest P(V >= v) among all such p is the p-value, a linear program. Under (ε, δ) there is
    one such constraint, under a Gaussian curve one for each ε; a grid of them leaves more freedom,
    so the p-value only grows.
Proof
    Permute the canaries and flip each IN and OUT at random, of the input and the guesses alike. For
    every permutation and flip that is a mechanism under the claim, and so is their mixture, since
    divergences are jointly convex; V keeps its law. Now a vector of guesses with n right ones has
    the same chance π_n wherever they are, p_n = π_n·m!/(n!(r-n)!(m-r)!). Fix all coins but one: the
    guesses that say IN about this canary and are right about n others have chance (n+1)p_{n+1}/m if
    it is in and (r-n)p_n/m if it is out; for those that say OUT it is the other way round; those
    that abstain are equally likely. The sum of positive parts is the divergence. Conversely every p
    that obeys the constraints is that of such a mechanism: no smaller p-value of V is valid.
Source
    Derived here, for the game of Steinke, Nasr and Jagielski 2023. At δ = 0 it is their binomial
    bound. Their 2mδ form is larger wherever p is below one half, in 2,000 settings; near 1 it is
    too small. The recursion of Mahloujifar, Melis and Chaudhuri 2025 uses a part of the constraints.
Assumes
    As `one_run`, and the claim in both directions: canaries in for out and out for in.
Arithmetic
    The reported p-value is the dual bound at the solver's multipliers: whatever the solver did, it
    is at least the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpcalc import checks
from dpcalc.auditing.claim import Claim
from dpcalc.auditing.estimators import one_run, one_run_curve
from dpcalc.auditing.estimators.clopper_pearson import require_curve
from dpcalc.auditing.estimators.one_run import Guesses
from dpcalc.auditing.estimators.one_run_power import smallest_response
from dpcalc.auditing.evidence import Evidence
from dpcalc.auditing.gaussian import gaussian_pair

Array = NDArray[np.float64]

MOST = 2000
"""Guesses up to which a bound on ε takes seconds."""

MOST_FOR_CURVES = 300
"""Guesses up to which one on μ does."""

_GRID = 24  # constraints of a curve
_LARGEST = 40.0  # ε beyond which nothing is refuted
_DELTA_ERROR = 1e-14  # of δ of a Gaussian curve in double precision, a few roundings of e^ε


def p_value(guesses: Guesses, epsilon: float, delta: float) -> float:
    """The largest chance of this many right guesses under (ε, δ), in [0, 1]."""
    checks.delta(delta)
    if epsilon > _LARGEST:
        return 1.0
    return largest_tail(guesses, np.array([epsilon]), np.array([delta]))


def curve_p_value(guesses: Guesses, mu: float) -> float:
    """The largest chance of this many right guesses under the Gaussian curve of μ, in [0, 1]."""
    if mu == 0:
        return p_value(guesses, 0.0, 0.0)
    epsilons = np.linspace(0.0, mu * (4 + mu / 2), _GRID)
    if epsilons[-1] > _LARGEST:
        return 1.0
    return largest_tail(guesses, epsilons, gaussian_pair.delta_of(mu, epsilons) + _DELTA_ERROR)


def epsilon_lower(guesses: Guesses, *, delta: float, alpha: float) -> float:
    """The lower bound of ε at δ; the largest p-value increases with ε, so bisection is enough."""
    pure = one_run.epsilon_lower(guesses, delta=0.0, alpha=alpha)
    return _last_refuted(lambda e: p_value(guesses, e, delta), 0.0, pure + 1e-6, alpha)


def mu_lower(guesses: Guesses, *, alpha: float) -> float:
    """The lower bound of μ; at least that of the recursion."""
    low = one_run_curve.mu_lower(guesses, alpha=alpha)
    return _last_refuted(lambda mu: curve_p_value(guesses, mu), low, 1.2 * low + 0.1, alpha)


def detectable(guesses: Guesses, *, claimed: float, delta: float, alpha: float) -> float:
    """The ε that these guesses tell from the claimed one, 4 times in 5; see `one_run_power`."""
    return smallest_response(
        lambda right: p_value(replace(guesses, correct=right), claimed, delta) <= alpha,
        guesses.canaries,
        guesses.guessed,
        guesses.guessed_in,
        claimed=claimed,
    )


def evidence(guesses: Guesses, claim: Claim, *, alpha: float) -> Evidence:
    """The bound on ε at the claim's δ."""
    approximate = one_run.evidence(guesses, claim, alpha=alpha)
    return replace(
        approximate,
        method="one-run-exact",
        lower=epsilon_lower(guesses, delta=claim.delta, alpha=alpha),
        detectable=detectable(guesses, claimed=claim.epsilon, delta=claim.delta, alpha=alpha),
    )


def curve_evidence(guesses: Guesses, claim: Claim, *, alpha: float) -> Evidence:
    """The bound on μ for a claim that is a Gaussian curve; power is that of the recursion, or more."""
    require_curve(claim)
    return replace(
        one_run_curve.evidence(guesses, claim, alpha=alpha),
        method="one-run-exact-curve",
        lower=mu_lower(guesses, alpha=alpha),
    )


def _last_refuted(p: Callable[[float], float], low: float, high: float, alpha: float) -> float:
    """A value with p <= α, nearly the largest; ``low`` if nothing above it is found."""
    from scipy.optimize import brentq

    if p(low) > alpha:
        return low
    while p(high) <= alpha:
        low, high = high, 1.5 * high
    root = float(brentq(lambda x: p(x) - alpha, low, high, xtol=1e-8, maxiter=200))
    tried = (root - step for step in (0.0, 1e-8, 1e-6, 1e-4))
    return next((x for x in tried if x > low and p(x) <= alpha), low)


def largest_tail(guesses: Guesses, epsilons: Array, deltas: Array) -> float:
    """An upper bound of max P(V >= v) under hockey-stick divergences, tight if solved.

    Args:
        guesses: m, r and v.
        epsilons: where the divergence is bounded, at least 0; shape (constraints,).
        deltas: its bounds, in [0, 1]; shape (constraints,).

    Positive parts of the second kind are left out for n < v, where they do not bind.
    """
    from scipy.optimize import linprog

    r, v, size = guesses.guessed, guesses.correct, len(epsilons)
    if v == 0:
        return 1.0
    n, above = np.arange(r), np.arange(v, r)
    up, down = np.concatenate([n + 1, above]), np.concatenate([n, above + 1])
    gain = np.concatenate([n + 1.0, r - above])
    cost = np.exp(epsilons)[:, None] * np.concatenate([r - n, above + 1.0])
    budget = guesses.canaries * deltas
    wanted = (np.arange(r + 1) >= v).astype(float)
    solved = linprog(
        np.concatenate([-wanted, np.zeros(size * len(up))]),
        A_ub=_matrix(up, down, gain, cost, r + 1),
        b_ub=np.concatenate([np.zeros(size * len(up)), budget]),
        A_eq=np.concatenate([np.ones(r + 1), np.zeros(size * len(up))])[None, :],
        b_eq=[1.0],
        method="highs",
    )
    if solved.status != 0:
        return 1.0
    multipliers = np.maximum(-solved.ineqlin.marginals, 0.0)
    prices = multipliers[size * len(up) :]
    parts = np.minimum(multipliers[: size * len(up)].reshape(size, -1), prices[:, None])
    gained, paid = np.zeros(r + 1), np.zeros(r + 1)
    np.add.at(gained, up, parts.sum(axis=0) * gain)
    np.add.at(paid, down, (parts * cost).sum(axis=0))
    rounding = 2.0**-50 * (len(up) + size) * float(1 + prices @ budget + gained.max() + paid.max())
    bound = float(prices @ budget + (wanted - gained + paid).max()) + rounding
    return min(bound, 1.0)


def _matrix(
    up: NDArray[np.int64], down: NDArray[np.int64], gain: Array, cost: Array, chances: int
) -> object:
    """Rows: every positive part is at least its inside; their sum, for every ε, is within budget.

    Args:
        up: number of right guesses whose chance is gained; shape (terms,).
        down: the number whose chance is paid; shape (terms,).
        gain: factor of the one; shape (terms,).
        cost: factor of the other, with e^ε; shape (constraints, terms).
        chances: r + 1.
    """
    from scipy.sparse import csr_array

    size, terms = cost.shape
    row = np.arange(size * terms)
    one = np.ones(size * terms)
    rows = (row, row, row, size * terms + np.repeat(np.arange(size), terms))
    columns = (np.tile(up, size), np.tile(down, size), chances + row, chances + row)
    values = (np.tile(gain, size), -cost.ravel(), -one, one)
    shape = (size * terms + size, chances + size * terms)
    return csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape
    )
