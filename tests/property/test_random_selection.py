"""Random selection on finite runs, where the law of the best is a sum: no divergence above the bound.

Oracle: the generating functions themselves, ln(1 - (1-γ)x)/ln γ and γx/(1 - (1-γ)x), differenced over
outcomes in the order of their scores; nothing of the implementation is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcalc.errors import InvalidInput
from dpcalc.guarantees import GDP, RDP, Guarantee, PureDP
from dpcalc.guarantees.selection import RandomSelection, stop_for
from dpcalc.numerics import search

LAWS = ("logarithmic", "geometric")


@dataclass(frozen=True, slots=True)
class Finite(Guarantee):
    """The exact profile of two laws on the same outcomes, in both directions."""

    notion: ClassVar[str] = "finite"
    p: tuple[float, ...]
    q: tuple[float, ...]

    def delta(self, epsilon):
        k = math.exp(epsilon)
        p, q = np.array(self.p), np.array(self.q)
        return float(max(np.maximum(p - k * q, 0).sum(), np.maximum(q - k * p, 0).sum()))

    def epsilon(self, delta):
        raise NotImplementedError

    def parameters(self):
        return {}


def best(p, gamma, law):
    """The law of the best run; outcomes in the order of their scores."""
    x = np.concatenate([[0.0], np.cumsum(p)])
    x[-1] = 1.0
    if law == "logarithmic":
        f = np.log1p(-(1 - gamma) * x) / math.log(gamma)
    else:
        f = gamma * x / (1 - (1 - gamma) * x)
    return np.diff(f)


weights = st.lists(st.floats(1e-4, 1.0), min_size=2, max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    weights,
    st.randoms(use_true_random=False),
    st.floats(0.003, 0.9),
    st.sampled_from(LAWS),
    st.floats(0, 3),
)
def test_no_divergence_exceeds_the_bound(first, rng, gamma, law, epsilon):
    second = [w * math.exp(rng.uniform(-1, 1)) for w in first]
    p, q = np.array(first) / sum(first), np.array(second) / sum(second)
    chosen = RandomSelection(Finite(tuple(p), tuple(q)), gamma, law)
    exact = Finite(tuple(best(p, gamma, law)), tuple(best(q, gamma, law)))
    assert exact.delta(epsilon) <= chosen.delta(epsilon) + 1e-12  # doubles of the oracle


@pytest.mark.parametrize("law", LAWS)
def test_the_shift_is_needed(law):
    """One law favours the second best outcome, the other the best: ln 2 a run, but more for the best."""
    p, q, gamma = (0.97, 0.02, 0.01), (0.97, 0.01, 0.02), 0.01
    base = Finite(p, q)
    exact = Finite(tuple(best(np.array(p), gamma, law)), tuple(best(np.array(q), gamma, law)))
    chosen = RandomSelection(base, gamma, law)
    broken = [
        e
        for e in np.linspace(0, 2, 400)
        if exact.delta(e) > min(1.0, chosen.expected_runs * base.delta(e)) + 1e-9
    ]
    assert broken
    assert all(exact.delta(e) <= chosen.delta(e) for e in broken)


@pytest.mark.parametrize("law", LAWS)
def test_means_and_pure_runs(law):
    """E[K] by its series; ε₀-DP runs make (1 + s)ε₀-DP at most."""
    gamma, k = 0.05, np.arange(1, 3000)
    p = 0.95**k / (k * math.log(20)) if law == "logarithmic" else 0.05 * 0.95 ** (k - 1)
    assert p.sum() == pytest.approx(1)
    chosen = RandomSelection(PureDP(0.3), gamma, law)
    assert chosen.expected_runs == pytest.approx((k * p).sum())
    power = LAWS.index(law) + 1
    assert chosen.epsilon(0.0) <= (1 + power) * 0.3 * (1 + 1e-12)
    assert RandomSelection(PureDP(0.3), 1e-9, law).epsilon(0.0) == pytest.approx((1 + power) * 0.3)
    assert stop_for((k * p).sum(), law) == pytest.approx(gamma, rel=1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_profiles_give_less_than_renyi_divergences(law):
    """Theorem 2 of Papernot and Steinke 2022, by a plain grid over its free order."""
    gamma, mu, alpha = 0.1, 0.4, 7.0
    chosen, power = RandomSelection(GDP(mu), gamma, law), LAWS.index(law) + 1
    beta = np.exp(np.linspace(1e-3, 12, 20_000))
    free = (1 - 1 / beta) * beta * mu**2 / 2 + math.log(1 / gamma) / beta
    mean = (1 / gamma - 1) / math.log(1 / gamma) if power == 1 else 1 / gamma
    by_hand = alpha * mu**2 / 2 + power * free.min() + math.log(mean) / (alpha - 1)
    assert chosen.renyi(alpha) == pytest.approx(by_hand, rel=1e-6)
    assert chosen.epsilon(1e-6) < RDP(chosen.renyi).epsilon(1e-6)
    assert chosen.delta(chosen.epsilon(1e-6)) == pytest.approx(1e-6, rel=1e-6)


def test_what_it_is_not():
    for stop, law in ((0.0, "geometric"), (1.0, "geometric"), (0.5, "poisson")):
        with pytest.raises(InvalidInput):
            RandomSelection(GDP(1.0), stop, law)
    with pytest.raises(InvalidInput):
        stop_for(1.0)
    assert RandomSelection(GDP(1.0), 0.1).epsilon(0.0) == math.inf
    assert RandomSelection(GDP(1.0), 0.1).delta(0.0) == 1.0
    assert RandomSelection(GDP(0.0), 0.1).epsilon(0.0) == 0.0


def test_the_best_order_of_one_run_is_looked_for_once(monkeypatch):
    """It is the same at every order of the answer; other runs, and another law's γ, have their own."""
    from dpcalc.guarantees import selection

    searched = []

    def minimise(function, low, high):
        searched.append((low, high))
        return search.minimise(function, low, high)

    monkeypatch.setattr(selection, "minimise", minimise)
    selection._best_order.cache_clear()
    chosen = RandomSelection(base=GDP(0.7), stop=0.3)
    answers = [chosen.renyi(order) for order in (1.5, 2.0, 40.0)]
    assert len(searched) == 1
    RandomSelection(base=GDP(0.8), stop=0.3).renyi(2.0)
    RandomSelection(base=GDP(0.7), stop=0.2).renyi(2.0)
    assert len(searched) == 3
    for order, answer in zip((1.5, 2.0, 40.0), answers, strict=True):
        selection._best_order.cache_clear()
        assert chosen.renyi(order) == answer
